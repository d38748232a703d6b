"""A site whose model server shows the tokens of its messages, and a conversation there."""

from collections.abc import Callable

import pytest

from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site

OpenShowing = Callable[..., Site]


@pytest.fixture
def open_showing(open_site: OpenSite) -> OpenShowing:
    def open_one(**changes: object) -> Site:
        return open_site(inspection=True, **changes)

    return open_one


@pytest.fixture
def showing(open_showing: OpenShowing) -> Site:
    return open_showing()
