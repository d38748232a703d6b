"""Drives servers of the Messages API through the same conversations, in turn, and prints medians and ratios.

python -m benchmarks.conversation --server recount=http://127.0.0.1:8100 --server other=http://127.0.0.1:8080
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
import click

from benchmarks.machine import describe_machine
from benchmarks.results import Results
from benchmarks.servers import opened
from benchmarks.tables import render
from benchmarks.workloads import Repetition, chats_at_once, growing_conversation, long_histories
from inference_client import InferenceError

WORKLOADS = ("growing", "chats", "histories")
_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Plan:
    """What is run, and how often. `seed` makes the texts: servers that live on have to get new ones every time."""

    repetitions: int
    turns: int
    chats: tuple[int, ...]
    histories: tuple[int, ...]
    workloads: tuple[str, ...]
    seed: str


def plan_options(command: _Command) -> _Command:
    """The options that a plan is made of; the command gets them as keywords."""
    options = [
        click.option("--repetitions", default=3, type=click.IntRange(1), help="How often everything is run."),
        click.option("--turns", default=8, type=click.IntRange(1), help="Turns of a growing conversation."),
        click.option("--chats", default=(4, 16), type=int, multiple=True, help="How many chats at once."),
        click.option("--histories", default=(1100, 2000, 7500), type=int, multiple=True, help="Tokens of histories."),
        click.option("--workloads", default=WORKLOADS, type=click.Choice(WORKLOADS), multiple=True, help="Which."),
        click.option("--seed", default=lambda: secrets.token_hex(3), help="Of the texts; a new one for every run."),
        click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write all samples to this file."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command(context_settings={"show_default": True})
@click.option("--server", "servers", required=True, multiple=True, metavar="NAME=URL", help="The first is compared to.")
@plan_options
def main(servers: tuple[str, ...], json_path: Path | None, **plan: Any) -> None:
    """Measure servers side by side by the conversations of chat users."""
    try:
        compare(_parsed(servers), Plan(**plan), json_path)
    except InferenceError as error:
        raise click.ClickException(str(error)) from error


def compare(urls: Mapping[str, str], plan: Plan, json_path: Path | None, notes: Sequence[str] = ()) -> None:
    """Run the plan and report it. Raises InferenceError when a server does not even list its models."""
    results = anyio.run(run_plan, urls, plan)
    lines = [f"machine: {describe_machine()}", f"texts: seed {plan.seed}, {plan.repetitions} repetitions", *notes]
    click.echo("\n".join(lines) + "\n")
    click.echo(render(results))
    if json_path is not None:
        report = {"notes": lines, "plan": asdict(plan), **results.as_json()}
        json_path.write_text(json.dumps(report, indent=1))


async def run_plan(urls: Mapping[str, str], plan: Plan) -> Results:
    results = Results(tuple(urls))
    async with opened(urls) as servers:
        for number in range(plan.repetitions):
            repetition = Repetition(plan.seed, number)
            click.echo(f"repetition {number + 1} of {plan.repetitions}", err=True)
            if "growing" in plan.workloads:
                await growing_conversation(servers, repetition, plan.turns, results)
            if "chats" in plan.workloads:
                for count in plan.chats:
                    await chats_at_once(servers, repetition, count, plan.turns, results)
            if "histories" in plan.workloads:
                await long_histories(servers, repetition, plan.histories, results)
    return results


def _parsed(servers: Sequence[str]) -> dict[str, str]:
    urls: dict[str, str] = {}
    for server in servers:
        name, equals, url = server.partition("=")
        if not (name and equals and url) or name in urls:
            raise click.BadParameter(f"{server!r} is not NAME=URL with a name of its own", param_hint="--server")
        urls[name] = url
    return urls


if __name__ == "__main__":
    main()
