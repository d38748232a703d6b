"""What holds for every test: logging as in production, and one test at a time that runs the bundled model."""

import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from filelock import FileLock

from app.logs import configure_logging


@pytest.fixture(scope="session", autouse=True)
def _production_logging() -> None:
    """structlog's own default renders tracebacks for seconds."""
    configure_logging()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """The model's threads wait for each other without sleeping: two such tests on two cores take ten times as long."""
    if item.get_closest_marker("model") is None:
        return (yield)
    run = getattr(item.config, "workerinput", {}).get("testrunuid", "alone")
    with FileLock(Path(tempfile.gettempdir()) / f"recount-model-{run}.lock"):
        return (yield)
