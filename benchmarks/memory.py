"""How long a fresh process of the bundled server takes to its first token, and the memory that it needs then and later.

python -m benchmarks.memory
"""

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import anyio
import click
import httpx
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.bundled_server import READY_S, start_bundled_server
from benchmarks.chat import Chat
from benchmarks.machine import describe_machine
from benchmarks.processes import ServerProcess, leave_on_sigterm
from benchmarks.prompts import question
from benchmarks.servers import opened
from benchmarks.tables import columns

PROMPT_TOKENS = 2000
MOST_PROMPTS = 200
"""More would mean that the pool does not fill: it is far larger than the default one."""
_SLOTS, _EVICTED = "recount_inference_kv_slots", "recount_inference_evicted_tokens_total"


@click.command(context_settings={"show_default": True})
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures to this file.")
def main(json_path: Path | None) -> None:
    """Measure start and memory of the bundled server."""
    leave_on_sigterm()
    with tempfile.TemporaryDirectory() as folder, start_bundled_server(Path(folder) / "server.log") as server:
        server.wait_until_ready(READY_S)
        figures = anyio.run(_measured, server)
    rows = [["memory", ""], *([name, f"{value:.1f}"] for name, value in figures.items())]
    click.echo(f"machine: {describe_machine()}\n\n{columns(rows)}\n")
    if json_path is not None:
        json_path.write_text(json.dumps({"machine": describe_machine(), **figures}, indent=1))


async def _measured(server: ServerProcess) -> dict[str, float]:
    async with opened({"recount": server.url}) as (target,):
        await _asked(Chat(target, "first"), 16)
        figures = {
            "start to first token, s": time.perf_counter() - server.started,
            "at start, MiB": server.resident_bytes / 2**20,
        }
        for number in range(MOST_PROMPTS):
            counts = await _metrics(server.url)
            if counts["free"] == 0 or counts["evicted"] > 0:
                break
            await _asked(Chat(target, f"filling {number}"), PROMPT_TOKENS)
        else:
            raise click.ClickException(f"{MOST_PROMPTS} prompts have not filled the KV pool")
    return {**figures, "with the pool full, MiB": server.resident_bytes / 2**20, "prompts that filled it": number}


async def _asked(chat: Chat, tokens: int) -> None:
    """One token is enough of an answer. Raises ClickException for a refusal."""
    await chat.ask(question(chat.seed, tokens), 1)
    if chat.refusal is not None:
        raise click.ClickException(f"the server refused {chat.refusal}")


async def _metrics(url: str) -> Mapping[str, float]:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        text = (await client.get(f"{url}/metrics")).raise_for_status().text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    free = sum(sample.value for sample in samples if sample.name == _SLOTS and sample.labels["state"] == "free")
    return {"free": free, "evicted": sum(sample.value for sample in samples if sample.name == _EVICTED)}


if __name__ == "__main__":
    main()
