"""``recount doctor`` at the console: lines or JSON, and the exit code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.database import migrate
from tests.live_server import LiveServer
from tests.scripted_backend import ScriptedBackend, answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doctor")
    migrate(f"sqlite:///{folder}/recount.db")
    return folder


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def url(backend: ScriptedBackend) -> Iterator[str]:
    with LiveServer(backend, lifespan=False) as server:
        yield server.url


def doctor(folder: Path, url: str, *arguments: str, **backend: object) -> Result:
    backends = json.dumps([{"name": "gpu", "base_url": url, "isolation": "none", **backend}])
    environment = {"RECOUNT_DATA_DIR": str(folder), "RECOUNT_BACKENDS": backends}
    return CliRunner().invoke(main, ["doctor", *arguments], env=environment)


def test_each_check_is_a_line_and_a_healthy_installation_exits_with_0(folder: Path, url: str) -> None:
    result = doctor(folder, url)
    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.output
    assert {line.split(maxsplit=1)[0] for line in lines[:-1]} <= {"ok", "warn"}
    assert "ok    gpu: cache: Turn 2 read" in result.stdout
    assert lines[-1].endswith(" 0 fail")


def test_a_second_turn_that_reads_too_little_is_red(folder: Path, url: str, backend: ScriptedBackend) -> None:
    for read in (0, 9):
        usage = {"input_tokens": 20 - read, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}
        backend.script(*answer("Words.", usage=usage, output_tokens=3))
    result = doctor(folder, url)
    assert result.exit_code == 1
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("fail")]
    assert line.startswith("fail  gpu: cache: Turn 2 read 9 tokens of 19 that turn 1 had left; the rule is token.")
    assert "Look whether its prefix cache is on" in line


def test_json_has_the_same_checks(folder: Path, url: str) -> None:
    result = doctor(folder, url, "--json", model="elsewhere")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["failed"] is True
    (failed,) = [check for check in report["checks"] if check["state"] == "fail"]
    assert (failed["subject"], failed["check"]) == ("gpu", "models")
    assert failed["values"] == {"model": "elsewhere", "listed": "scripted"}


def test_the_kept_key_of_the_bundled_server_is_used(folder: Path, url: str, backend: ScriptedBackend) -> None:
    (folder / "inference.key").write_text("kept-key")
    port = url.rsplit(":", 1)[1]
    environment = {"RECOUNT_DATA_DIR": str(folder), "RECOUNT_INFERENCE_PORT": port}
    CliRunner().invoke(main, ["doctor"], env=environment)
    assert backend.questions[0].headers["x-api-key"] == "kept-key"


def test_a_wrong_setting_is_one_line(folder: Path) -> None:
    result = CliRunner().invoke(main, ["doctor"], env={"RECOUNT_DATA_DIR": str(folder), "RECOUNT_PORT": "http"})
    assert result.exit_code == 1
    assert result.stderr.startswith("recount: RECOUNT_PORT")
