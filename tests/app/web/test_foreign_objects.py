"""Every route that names an object answers 404 to everybody but its owner.

The route table is walked, so a new route fails here until it has a case.
"""

import sqlite3
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.routing import Route

from app.web.application import PAGE_ROUTES
from app.web.operator.exports import TABLES
from app.web.table_files import FORMATS
from tests.app.web.site import PASSWORD, Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, delta, ending, message_start

GUARDED = [
    (method, route.path)
    for route in PAGE_ROUTES
    if isinstance(route, Route) and "{" in route.path
    for method in sorted(route.methods or ())
]
WITHOUT_OBJECT = {"/", "/setup", "/sign-in", "/sign-out", "/conversations", "/operator/conversations"} | {
    "/system-prompt/check",
    "/search",
    "/backend",
    "/help",
    "/sidebar",
    "/account/data",
    "/import",
    "/invite",
    "/account",
    "/account/profile",
    "/account/password",
    "/account/sessions/end",
    "/account/usage",
    "/account/delete",
    "/operator/people",
    "/operator/invites",
    "/operator/audit",
    "/operator/backends",
    "/operator/backends/doctor",
    "/operator/settings",
    "/operator/storage",
}
WITHOUT_OBJECT |= {"/operator", "/operator/turns"}
WITHOUT_OBJECT |= {f"/operator/export/{table}.{kind}" for table in TABLES for kind in FORMATS}
OPERATORS_ONLY = [
    (method, route.path)
    for route in PAGE_ROUTES
    if isinstance(route, Route) and route.path.startswith("/operator")
    for method in sorted(route.methods or ())
]


def filled(template: str, ids: dict[str, str]) -> str:
    for parameter, value in ids.items():
        template = template.replace(parameter, value)
    return template


def request(visitor: Visitor, method: str, path: str) -> httpx.Response:
    visitor.open("/")
    fields = {
        "form_token": visitor.form_token,
        "submission_key": "key",
        "text": "mine now",
        "title": "mine now",
        "system_prompt": "mine now",
        "password": PASSWORD,
        "role": "operator",
        "days": "7",
    }
    return visitor.client.request(method, path, data=fields if method == "POST" else None)


def test_every_route_has_a_case() -> None:
    paths = {route.path for route in PAGE_ROUTES if isinstance(route, Route)}
    assert {path for path in paths if "{" not in path} == WITHOUT_OBJECT
    parameters = {part for _, path in GUARDED for part in path.split("/") if part.startswith("{")}
    assert parameters == {"{conversation_id:uuid}", "{message_id:uuid}", "{turn_id:uuid}"} | {
        "{session_id:uuid}",
        "{user_id:uuid}",
        "{invite_id:uuid}",
    }


@pytest.fixture
def private(site: Site, mina: Visitor) -> tuple[dict[str, str], Gate]:
    """The ids of a conversation of mina's whose answer is just being written."""
    gate = Gate()
    site.backend.script(message_start(usage={"input_tokens": 5}), delta("Secret"), gate, *ending(output_tokens=2))
    mina.open("/")
    mina.submit("/conversations", text="Private words")
    gate.wait_arrived()
    page = mina.open(mina.page.request.url.path).text
    turn_id, conversation_id = mina.turn_id, mina.page.request.url.path.rsplit("/", 1)[1]
    with sqlite3.connect(site.database_file) as connection:
        session_id, user_id = (
            UUID(found) for found in connection.execute("SELECT id, user_id FROM sessions").fetchone()
        )
    connection.close()
    mina.open("/operator/invites")
    made = mina.submit("/operator/invites", role="user").text
    ids = {
        "{session_id:uuid}": str(session_id),
        "{user_id:uuid}": str(user_id),
        "{invite_id:uuid}": made.split("/revoke")[0].rsplit("/", 1)[1],
        "{conversation_id:uuid}": conversation_id,
        "{turn_id:uuid}": turn_id,
        "{message_id:uuid}": page.split('id="message-')[1].split('"')[0],
    }
    return ids, gate


def test_second_user_gets_404(site: Site, mina: Visitor, private: tuple[dict[str, str], Gate]) -> None:
    ids, gate = private
    jun = site.user("jun")
    for method, template in GUARDED:
        foreign = request(jun, method, filled(template, ids))
        missing = request(jun, method, filled(template, dict.fromkeys(ids, str(uuid4()))))
        assert (foreign.status_code, missing.status_code) == (404, 404), (method, template)
        assert "Private" not in foreign.text
        assert "Secret" not in foreign.text
    page = mina.open(f"/conversations/{ids['{conversation_id:uuid}']}").text
    assert "Private words" in page
    assert "mine now" not in page
    assert 'data-turn="' in page  # Nobody stopped it.
    gate.open()


def test_signed_out_visitor_is_sent_to_sign_in(site: Site, private: tuple[dict[str, str], Gate]) -> None:
    ids, gate = private
    visitor = site.visitor()
    visitor.open("/sign-in")
    fields = {"form_token": visitor.form_token}
    for method, template in GUARDED:
        path, data = filled(template, ids), fields if method == "POST" else None
        response = visitor.client.request(method, path, data=data)
        assert response.status_code == 303, (method, template)
        assert response.headers["location"].startswith("/sign-in")
        script = visitor.client.request(method, path, data=data, headers={"recount-fragment": "1"})
        assert script.status_code == 401, (method, template)
    gate.open()


def test_operator_pages_do_not_exist_for_users(site: Site, mina: Visitor, private: tuple[dict[str, str], Gate]) -> None:
    """The role matrix: whatever a route of operators does, with and without an object of its own."""
    ids, gate = private
    gate.open()
    jun = site.user("jun")
    for method, template in OPERATORS_ONLY:
        assert request(jun, method, filled(template, ids)).status_code == 404, (method, template)
    people = mina.open("/operator/people").text
    assert people.count(">operator<") == 1
    assert ">disabled<" not in people
    assert "open" in mina.open("/operator/invites").text
    assert "/operator" not in jun.open("/").text
