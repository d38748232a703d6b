"""Whose word counts for a browser's address: nobody's, but for the proxies that are named."""

import re
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from app.database import migrate
from tests.app.web.visitor import Visitor
from tests.processes import RECOUNT, Process, clean_environment, free_port


@pytest.mark.parametrize(("proxies", "refused"), [("", True), ('["127.0.0.1"]', False)])
def test_made_up_addresses_do_not_get_around_the_limit(tmp_path: Path, proxies: str, refused: bool) -> None:
    """Each try claims to come from another address."""
    port = free_port()
    settings = {"RECOUNT_PORT": str(port), "RECOUNT_TRUSTED_PROXIES": proxies}
    environment = clean_environment(**{name: value for name, value in settings.items() if value})
    migrate(f"sqlite:///{tmp_path / 'data' / 'recount.db'}")
    with Process(*RECOUNT, "app", environment=environment, folder=tmp_path) as process:
        process.until(lambda: "first account" in process.output)
        url = f"http://127.0.0.1:{port}"
        visitor = Visitor(url)
        code = re.findall(r"/setup\?code=(\S+)", process.output)[0]
        with closing(visitor.client):
            visitor.open(f"/setup?code={code}")
            visitor.submit("/setup", name="mina", password="a long enough password")
        assert (429 in statuses_of_tries(url)) is refused


def statuses_of_tries(url: str) -> set[int]:
    guesser = Visitor(url)
    statuses = set()
    with closing(guesser.client):
        guesser.open("/sign-in")
        fields = {**guesser.form("/sign-in").fields, "name": "mina", "password": "wrong password"}
        for number in range(14):
            headers = {"x-forwarded-for": f"10.0.0.{number}"}
            response: httpx.Response = guesser.post("/sign-in", headers=headers, **fields)
            statuses.add(response.status_code)
    return statuses
