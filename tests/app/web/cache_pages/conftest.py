"""A site whose model server shows the tokens of its messages, and a conversation there."""

from collections.abc import Callable

import pytest

from app.settings import Backend
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site

OpenShowing = Callable[..., Site]


@pytest.fixture
def open_showing(open_site: OpenSite, backend_url: str) -> OpenShowing:
    def open_one(**changes: object) -> Site:
        backend = Backend(
            name="scripted", base_url=backend_url, early_message_start=True, prefill=True, inspection=True
        )
        return open_site(backends=(backend,), **changes)

    return open_one


@pytest.fixture
def showing(open_showing: OpenShowing) -> Site:
    return open_showing()
