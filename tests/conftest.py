"""Logging as in production. structlog's own default renders tracebacks for seconds."""

import pytest

from app.logs import configure_logging


@pytest.fixture(scope="session", autouse=True)
def _production_logging() -> None:
    configure_logging()
