"""The page that explains the outcomes: its commands, run as they stand, bring about what it says."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from inference_server.reasons import Outcome
from tests.processes import RECOUNT, Process, clean_environment, free_port

PAGE = (Path(__file__).parents[2] / "docs" / "prefix-cache.md").read_text()
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PRELUDE = BLOCKS[0][1]


def examples() -> Iterator[tuple[str, list[str]]]:
    """(console commands, the Python examples behind them)."""
    for kind, text in BLOCKS[1:]:
        if kind == "console":
            started: list[str] = []
            yield text, started
        else:
            started.append(text)


def said_last(example: str) -> tuple[str, str, str]:
    """(the lines in front, the expression of the last line, the outcome that it promises)."""
    *before, last = example.rstrip().splitlines()
    expression, promised = last.rsplit("  # ", 1)
    return "\n".join(before), expression, promised


def test_the_page_forces_every_outcome() -> None:
    promised = [said_last(example)[2] for _, started in list(examples()) for example in started]
    assert sorted(promised) == sorted(outcome.value for outcome in Outcome)
    assert all(f"| `{outcome.value}` |" in PAGE for outcome in Outcome)


@pytest.mark.model
@pytest.mark.parametrize(("commands", "started"), list(examples()), ids=lambda value: str(value)[-30:].strip())
def test_the_commands_bring_about_what_the_page_says(tmp_path: Path, commands: str, started: list[str]) -> None:
    *preparations, start = commands.strip().rsplit("\n", 1)
    for command in preparations:
        subprocess.run(command, shell=True, cwd=tmp_path, check=True)  # noqa: S602 - as the page has it
    port = free_port()
    assert start.startswith("recount infer ")
    flags = start.removeprefix("recount infer ").split()
    environment = clean_environment(RECOUNT_INFERENCE_PORT=str(port))
    with Process(*RECOUNT, "infer", *flags, environment=environment, folder=tmp_path) as process:
        process.until_answers(f"http://127.0.0.1:{port}/health")
        names: dict[str, object] = {}
        exec(PRELUDE.replace("8100", str(port)), names)  # noqa: S102 - as the page has it
        try:
            for example in started:
                before, expression, promised = said_last(example)
                exec(before, names)  # noqa: S102 - as the page has it
                assert eval(expression, names) == promised  # noqa: S307 - as the page has it
        finally:
            client = names["server"]
            assert isinstance(client, httpx.Client)
            client.close()
