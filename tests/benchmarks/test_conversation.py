"""The whole driver against scripted servers: who is asked what, and what the table says. No time is asserted."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from benchmarks.conversation import main
from tests.scripted_backend import RecordedRequest, ScriptedBackend, Step, error_reply

QUICK = ("--repetitions", "1", "--turns", "3", "--chats", "2", "--histories", "300", "--seed", "fixed")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*QUICK, *arguments], catch_exceptions=False)


def line(result: Result, label: str) -> str:
    """The first line of the output that begins so."""
    return next(line for line in result.stdout.splitlines() if line.startswith(label))


def test_driver_asks_every_server_the_same(
    url: str, other_url: str, backend: ScriptedBackend, other_backend: ScriptedBackend
) -> None:
    result = run("--server", f"one={url}", "--server", f"two={other_url}", "--workloads", "growing")
    assert result.exit_code == 0
    assert [question.body for question in backend.questions] == [question.body for question in other_backend.questions]
    assert len(backend.questions) == 3


def test_driver_counts_exact_reads_of_every_workload(url: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    result = run("--server", f"one={url}", "--json", str(report))
    assert line(result, "exact reads").split()[-3:] == ["2", "of", "2"]
    reads = json.loads(report.read_text())["exact_reads"]
    assert {name: tuple(counts["one"]) for name, counts in reads.items()} == {
        "growing conversation, 3 turns": (2, 2),
        "2 chats at once, 3 turns": (4, 4),
        "history of 150 tokens": (3, 3),
        "history of 300 tokens": (3, 3),
    }


def test_driver_reports_ratios_to_the_first_server(url: str, other_url: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    result = run("--server", f"one={url}", "--server", f"two={other_url}", "--json", str(report))
    assert result.exit_code == 0
    figures = json.loads(report.read_text())["figures"]
    assert all(figure["ratios"]["one"] == 1 for figure in figures)
    assert all(figure["ratios"]["two"] == figure["medians"]["two"] / figure["medians"]["one"] for figure in figures)
    labels = [(figure["workload"], figure["label"]) for figure in figures]
    assert ("growing conversation, 3 turns", "first token, turn 3") in labels
    assert ("2 chats at once, 3 turns", "all output / wall time") in labels
    assert ("history of 300 tokens", "warm / cold") in labels


def test_server_that_refuses_does_not_stop_the_run(url: str, other_url: str, other_backend: ScriptedBackend) -> None:
    def refuse(_request: RecordedRequest) -> list[Step]:
        return [error_reply(400, "invalid_request_error", "The context is too small.")]

    other_backend.default = refuse
    result = run("--server", f"one={url}", "--server", f"two={other_url}")
    assert result.exit_code == 0
    assert line(result, "all output / wall time").split()[-1] == "refused"
    assert line(result, "first token, turn 3").split()[-1] == "refused"
    assert "two refused turn 1: InvalidRequest: invalid_request_error (400): The context is too small." in result.stdout


def test_server_that_is_not_there_is_named_before_anything_runs() -> None:
    result = run("--server", "one=http://127.0.0.1:9")
    assert result.exit_code == 1


def test_server_needs_a_name_of_its_own(url: str) -> None:
    assert "is not NAME=URL" in run("--server", url).stderr
    assert "a name of its own" in run("--server", f"one={url}", "--server", f"one={url}").stderr
