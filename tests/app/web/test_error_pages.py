"""What happens when nobody foresaw it, and what an error tells."""

import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.errors import ConfigurationError, TooMany
from app.web.crash_page import CrashPageMiddleware
from app.web.error_pages import headers_of, status_of
from app.web.request_id import RequestIdMiddleware
from tests.app.web.site import PASSWORD, Site
from tests.app.web.visitor import Visitor


def test_unknown_path_has_our_page_with_the_request_id(site: Site, mina: Visitor) -> None:
    response = mina.open("/nowhere")
    assert response.status_code == 404
    assert f"Request {response.headers['x-request-id']}" in response.text
    assert "There is nothing here" in response.text


def test_error_pages_speak_the_readers_language(site: Site, mina: Visitor) -> None:
    assert "여기에 아무것도 없거나" in site.visitor("ko").open("/nowhere").text


def test_json_is_given_to_those_who_ask_for_it(site: Site, mina: Visitor) -> None:
    assert mina.open("/nowhere", accept="application/json").json()["error"]["status"] == 404


@contextmanager
def table_away(site: Site, table: str) -> Iterator[None]:
    """As if the database could not be reached for what needs this table."""
    for old, new in ((table, "away"), ("away", table)):
        with sqlite3.connect(site.database_file) as connection:
            connection.execute(f"ALTER TABLE {old} RENAME TO {new}")
        connection.close()
        if old == table:
            yield


@pytest.mark.parametrize("table", ["turns", "sessions"])
def test_send_that_crashes_gives_the_text_back(site: Site, mina: Visitor, table: str) -> None:
    mina.open("/")
    with table_away(site, table):
        response = mina.submit("/conversations", text="  Precious\nwords <b>", system_prompt="Be terse.")
        assert response.status_code == 500
        assert "Your text is kept here." in response.text
        assert "Something went wrong on our side." in response.text
        assert mina.form("/conversations").fields["text"] == "  Precious\nwords <b>"
    sent = mina.submit("/conversations")
    assert sent.status_code == 303
    site.wait_idle(mina)
    assert "Precious\nwords &lt;b&gt;</div>" in mina.page.text
    assert site.backend.questions[-1].json()["system"] == "Be terse."


@pytest.mark.parametrize("table", ["turns", "sessions"])
def test_script_gets_a_crash_as_a_fragment(site: Site, mina: Visitor, table: str) -> None:
    mina.open("/")
    with table_away(site, table):
        response = mina.send_as_script("/conversations", "Precious", "key-1")
    assert response.status_code == 500
    assert response.text.startswith('<p class="problem" role="alert">')


def test_signed_out_writer_gets_the_text_back_until_it_is_sent(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    mina.client.cookies.clear()
    assert mina.submit(f"{path}/messages", text="Precious").status_code == 403
    assert mina.submit(f"{path}/messages").status_code == 401
    assert re.search(r'href="/sign-in"\s+target="_blank"', mina.page.text)
    kept = mina.page
    mina.open("/sign-in")
    mina.submit("/sign-in", name="mina", password=PASSWORD)
    mina.page = kept
    assert mina.submit(f"{path}/messages").status_code == 403  # The form is of the time before.
    assert mina.submit(f"{path}/messages").status_code == 303
    assert ">Precious</div>" in mina.page.text


def test_text_that_another_site_sent_does_not_come_back(site: Site, mina: Visitor) -> None:
    fields = {"form_token": mina.form_token, "submission_key": "k", "text": "Not mine"}
    response = mina.post("/conversations", {"origin": "https://evil.example"}, **fields)
    assert response.status_code == 403
    assert "Not mine" not in response.text
    with table_away(site, "sessions"):
        response = mina.post("/conversations", {"origin": "https://evil.example"}, **fields)
    assert response.status_code == 500
    assert "Not mine" not in response.text


def test_page_that_crashes_while_the_database_is_away_is_our_own(site: Site, mina: Visitor) -> None:
    with table_away(site, "sessions"):
        response = mina.open("/")
    assert response.status_code == 500
    assert "<h1>Error 500</h1>" in response.text


def test_statuses_of_our_errors() -> None:
    assert status_of(ConfigurationError("x")) == 500
    assert headers_of(TooMany("x", 7)) == {"retry-after": "7"}


async def crash(request: Request) -> Response:
    raise RuntimeError("secret detail")


async def crash_half_way(request: Request) -> Response:
    async def body() -> AsyncIterator[bytes]:
        yield b"begun"
        raise RuntimeError("secret detail")

    return StreamingResponse(body())


def client_of(endpoint: object) -> TestClient:
    route = Route("/", endpoint)  # type: ignore[arg-type]
    return TestClient(RequestIdMiddleware(CrashPageMiddleware(route)))


def test_crash_becomes_a_plain_answer_and_a_logged_fact() -> None:
    with structlog.testing.capture_logs() as logs:
        response = client_of(crash).get("/?code=secret")
    assert response.status_code == 500
    assert response.text == f"Error 500. Request {response.headers['x-request-id']}."
    assert [log["event"] for log in logs] == ["crash", "request"]
    assert logs[1]["status"] == 500
    assert "secret" not in str(logs[1])


def test_crash_after_the_response_began_cuts_it() -> None:
    with pytest.raises(RuntimeError):
        client_of(crash_half_way).get("/")
