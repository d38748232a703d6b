"""What happens when nobody foresaw it, and what an error tells."""

from collections.abc import AsyncIterator

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
from tests.app.web.site import Site
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
