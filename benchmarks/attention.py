"""How long the bundled server takes to show where a position of a long prompt looks.

python -m benchmarks.attention
"""

import statistics
import tempfile
import time
from pathlib import Path

import click
import httpx

from benchmarks.bundled_server import READY_S, start_bundled_server
from benchmarks.machine import describe_machine
from benchmarks.processes import leave_on_sigterm
from benchmarks.prompts import question
from benchmarks.tables import columns

PROMPT_TOKENS = 4000
KEY = "benchmark"
TRIES = 5


@click.command()
def main() -> None:
    """Measure the attention view at both ends and in the middle of a prompt and of the layers."""
    leave_on_sigterm()
    with tempfile.TemporaryDirectory() as folder, start_bundled_server(Path(folder) / "server.log", key=KEY) as server:
        server.wait_until_ready(READY_S)
        with httpx.Client(base_url=server.url, headers={"x-api-key": KEY}, timeout=120, trust_env=False) as client:
            rows = _measured(client)
    click.echo(f"machine: {describe_machine()}\n\n{columns([['ms, median', 'layer', 'time'], *rows])}\n")


def _measured(client: httpx.Client) -> list[list[str]]:
    model = client.get("/v1/models").raise_for_status().json()["data"][0]["id"]
    messages = [{"role": "user", "content": question("attention", PROMPT_TOKENS)}]
    body = {"model": model, "max_tokens": 1, "messages": messages}
    message = client.post("/v1/messages", json=body).raise_for_status().json()
    url = f"/v1/messages/{message['id']}"
    shown = client.get(f"{url}/tokens").raise_for_status().json()
    layers = client.post(f"{url}/attention", json={"position": 0, "layer": 0}).raise_for_status().json()["layers"]
    positions, rows = shown["kv_tokens"], []
    for position in (0, positions // 2, positions - 1):
        for layer in (0, layers - 1):
            asked = {"position": position, "layer": layer}
            rows.append([f"position {position} of {positions}", str(layer), f"{_time_ms(client, url, asked):.0f}"])
    began = time.perf_counter()
    client.get(f"{url}/tokens").raise_for_status()
    return [*rows, ["all tokens", "", f"{(time.perf_counter() - began) * 1000:.0f}"]]


def _time_ms(client: httpx.Client, url: str, asked: dict[str, int]) -> float:
    times = []
    for _ in range(TRIES):
        began = time.perf_counter()
        client.post(f"{url}/attention", json=asked).raise_for_status()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
