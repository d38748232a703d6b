"""Installs and starts other servers, each in the fastest way that runs here, and compares the bundled one with them.

python -m benchmarks.peers
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import click
import psutil

from benchmarks import llama_cpp, vllm_cpu
from benchmarks.bundled_server import READY_S, start_bundled_server
from benchmarks.chat import Chat
from benchmarks.conversation import Plan, compare, plan_options
from benchmarks.peer import Candidate, PeerUnavailable
from benchmarks.processes import ServerDied, leave_on_sigterm
from benchmarks.prompts import question
from benchmarks.servers import opened
from benchmarks.workloads import ANSWER_TOKENS, QUESTION_TOKENS
from inference_client import InferenceError
from inference_server.bundled_model import bundled_model

TRIAL_TURNS = 2
TRIAL_CHATS = 4
_Ways = Sequence[Callable[[Path, Path, int], Sequence[Candidate]]]
PEERS: Mapping[str, _Ways] = MappingProxyType(
    {
        "llama.cpp": (llama_cpp.prebuilt, llama_cpp.native),
        "vllm": (vllm_cpu.candidates,),
    }
)


@click.command(context_settings={"show_default": True})
@click.option("--cache", default=Path(".bench"), type=click.Path(path_type=Path), help="Where peers are installed.")
@click.option("--peer", "names", default=tuple(PEERS), type=click.Choice(tuple(PEERS)), multiple=True, help="Which.")
@click.option("--alone", is_flag=True, help="Measure the bundled server without peers.")
@plan_options
def main(cache: Path, names: tuple[str, ...], alone: bool, json_path: Path | None, **options: Any) -> None:
    """Measure the bundled server beside its peers, on the same model and the same cores."""
    leave_on_sigterm()
    cache, plan = cache.resolve(), Plan(**options)
    logs = cache / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    notes: list[str] = []
    chosen = {
        name: _fastest(name, _candidates(name, cache, notes), logs, plan.seed, notes)
        for name in (() if alone else names)
    }
    with ExitStack() as stack:
        bundled = stack.enter_context(start_bundled_server(logs / "recount.log"))
        bundled.wait_until_ready(READY_S)
        urls = {"recount": bundled.url}
        for name, candidate in chosen.items():
            if candidate is not None:
                process = stack.enter_context(candidate.start(logs / f"{name}.log"))
                process.wait_until_ready(candidate.ready_s)
                urls[name] = process.url
        compare(urls, plan, json_path, notes)


def _candidates(name: str, cache: Path, notes: list[str]) -> list[Candidate]:
    model, threads = bundled_model(), psutil.cpu_count(logical=False) or 1
    candidates: list[Candidate] = []
    for way in PEERS[name]:
        click.echo(f"{name}: installing what is missing", err=True)
        try:
            candidates += way(cache, model, threads)
        except PeerUnavailable as error:
            notes.append(f"{name}: cannot be installed on this machine: {error}")
    return candidates


def _fastest(name: str, candidates: Sequence[Candidate], logs: Path, seed: str, notes: list[str]) -> Candidate | None:
    """The one that a short trial is fastest with; None when none runs. Notes what was tried and what came of it."""
    trials: list[tuple[float, Candidate]] = []
    for number, candidate in enumerate(candidates):
        click.echo(f"{name}: trying {candidate.how}", err=True)
        try:
            with candidate.start(logs / f"{name}-trial-{number}.log") as process:
                process.wait_until_ready(candidate.ready_s)
                trials.append((anyio.run(_trial, process.url, seed), candidate))
        except (ServerDied, InferenceError) as error:
            notes.append(f"{name}: does not run on this machine: {candidate.how}: {error}")
    trials.sort(key=lambda trial: trial[0])
    for place, (seconds, candidate) in enumerate(trials):
        word = "slower" if place else "chosen"
        notes.append(f"{name}: {word}: {candidate.how} ({seconds:.1f} s in a trial)")
    return trials[0][1] if trials else None


async def _trial(url: str, seed: str) -> float:
    """Seconds of a short conversation and some at once, the first turn left out. Raises InferenceError."""
    async with opened({"peer": url}) as (server,):
        first, *others = [Chat(server, f"trial {seed} {number}") for number in range(1 + TRIAL_CHATS)]
        await _converse(first, 1)
        began = time.perf_counter()
        await _converse(first, TRIAL_TURNS)
        async with anyio.create_task_group() as group:
            for chat in others:
                group.start_soon(_converse, chat, TRIAL_TURNS)
        seconds = time.perf_counter() - began
    for chat in (first, *others):
        if chat.refusal is not None:
            raise InferenceError(chat.refusal)
    return seconds


async def _converse(chat: Chat, turns: int) -> None:
    for turn in range(turns):
        await chat.ask(question(f"{chat.seed} {len(chat.exchanges)} {turn}", QUESTION_TOKENS), ANSWER_TOKENS)


if __name__ == "__main__":
    main()
