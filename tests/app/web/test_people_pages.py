"""What operators do about people, and what those notice at once."""

import json
import re
import sqlite3

from app.turns.rhythm import Rhythm
from tests.app.web.conftest import OpenSite
from tests.app.web.site import PASSWORD, Site
from tests.app.web.test_turn_routes import events_of
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, answer, delta, ending, message_start


def person_path(operator: Visitor, name: str) -> str:
    found = re.search(rf'href="(/operator/people/[0-9a-f-]{{36}})">{name}<', operator.open("/operator/people").text)
    assert found
    return found[1]


def act(operator: Visitor, name: str, what: str, **fields: str) -> None:
    path = person_path(operator, name)
    operator.open(path)
    response = operator.submit(f"{path}/{what}", **fields)
    assert response.status_code in (200, 303), response.text


def test_people_are_listed_with_role_and_turns(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    site.ask(jun, "Private words")
    page = mina.open("/operator/people").text
    rows = re.findall(r"<tr>(.*?)</tr>", page.split("<tbody>")[1], re.DOTALL)
    cells = [re.findall(r"<td[^>]*>([^<]*)<", row) for row in rows]
    assert sorted(row[:3] for row in cells) == [["operator", "active", "0"], ["user", "active", "1"]]
    assert "Private" not in page
    assert mina.open("/operator/people?after=nonsense").status_code == 200
    last = max(re.findall(r"/operator/people/([0-9a-f-]{36})", page))
    assert "Nobody else." in mina.open(f"/operator/people?after={last}").text


def test_disabled_person_is_out_at_once_and_comes_back_when_enabled(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    act(mina, "jun", "disable")
    assert jun.open("/").headers["location"] == "/sign-in"
    jun.open("/sign-in")
    refused = jun.submit("/sign-in", name="jun", password=PASSWORD)
    assert (refused.status_code, "The name or the password is wrong." in refused.text) == (400, True)
    act(mina, "jun", "enable")
    assert jun.open("/").headers["location"] == "/sign-in"  # The old session stays ended.
    jun.open("/sign-in")
    assert jun.submit("/sign-in", name="jun", password=PASSWORD).status_code == 303


def test_disabling_ends_the_open_stream_of_an_answer(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    gate = Gate()
    site.backend.script(message_start(), delta("first"), gate, *ending(output_tokens=2))
    jun.open("/")
    jun.submit("/conversations", text="Go")
    with jun.client.stream("GET", f"/turns/{jun.turn_id}/events") as response:
        events = events_of(response)
        next(event for event in events if event.event == "delta")
        act(mina, "jun", "disable")
        last = list(events)[-1]
    assert (last.event, json.loads(last.data)["status"]) == ("end", "stopped")
    assert site.backend.disconnects == 1
    gate.open()


def test_signing_out_elsewhere_ends_an_open_stream_within_a_ping(open_site: OpenSite) -> None:
    """The answer goes on: only this browser may follow it no longer."""
    site = open_site(rhythm=Rhythm(ping=0.1))
    mina = site.set_up()
    gate = Gate()
    site.backend.script(message_start(), delta("first"), gate, *answer(" second")[1:])
    mina.open("/")
    mina.submit("/conversations", text="Go")
    path, turn_id = mina.page.request.url.path, mina.turn_id
    elsewhere = site.visitor()
    elsewhere.open("/sign-in")
    elsewhere.submit("/sign-in", name="mina", password=PASSWORD)
    with mina.client.stream("GET", f"/turns/{turn_id}/events") as response:
        events = events_of(response)
        next(event for event in events if event.event == "delta")
        page = elsewhere.open("/account").text
        elsewhere.submit(re.findall(r'action="(/account/sessions/[0-9a-f-]{36}/end)"', page)[0])
        assert [event.event for event in events if event.event == "end"] == []
    assert mina.open(path).status_code == 303
    gate.open()
    elsewhere.open(path)
    site.wait_idle(elsewhere)
    assert "first second" in elsewhere.page.text


def test_demoted_operator_loses_access_at_once(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    act(mina, "jun", "role", role="operator", password=PASSWORD)
    assert jun.open("/").headers["location"] == "/sign-in"  # A new role takes a new session.
    jun.open("/sign-in")
    jun.submit("/sign-in", name="jun", password=PASSWORD)
    page = jun.open("/operator/people")
    assert page.status_code == 200
    open_form = jun.form_token
    act(mina, "jun", "role", role="user", password=PASSWORD)
    assert jun.open("/operator/people").headers["location"].startswith("/sign-in")
    stale = jun.post(f"{person_path(mina, 'mina')}/disable", form_token=open_form)
    assert stale.status_code in (303, 403)
    assert mina.open("/operator/people").status_code == 200


def test_role_takes_the_operators_password(site: Site, mina: Visitor) -> None:
    site.user("jun")
    path = person_path(mina, "jun")
    mina.open(path)
    refused = mina.submit(f"{path}/role", role="operator", password="wrong")
    assert (refused.status_code, "Your password is wrong." in refused.text) == (400, True)
    mina.open(path)
    assert mina.submit(f"{path}/role", role="root", password=PASSWORD).status_code == 400
    assert "Role: user" in mina.open(path).text


def test_deleted_person_is_gone_with_every_word_and_the_name_is_free(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    gate = Gate()
    site.ask(jun, "Private words")
    site.backend.script(message_start(), delta("More"), gate, *ending(output_tokens=2))
    jun.submit(f"{jun.page.request.url.path}/messages", text="Go on")
    gate.wait_arrived()
    act(mina, "jun", "disable")
    path = person_path(mina, "jun")
    mina.open(path)
    assert "Your password is wrong." in mina.submit(f"{path}/delete", password="wrong").text
    assert mina.open(path).status_code == 200
    act(mina, "jun", "delete", password=PASSWORD)
    assert mina.open(path).status_code == 404
    assert "jun" not in mina.open("/operator/people").text
    assert jun.open("/").headers["location"] == "/sign-in"
    with sqlite3.connect(site.database_file) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM turns").fetchone() == (2,)
    connection.close()
    site.user("jun")


def test_operator_cannot_delete_the_last_one(mina: Visitor) -> None:
    path = person_path(mina, "mina")
    mina.open(path)
    assert "This is the last operator; make another one first." in mina.submit(f"{path}/delete", password=PASSWORD).text
    assert mina.open("/operator/people").status_code == 200


def test_last_operator_is_told_why_it_stays(mina: Visitor) -> None:
    path = person_path(mina, "mina")
    for what, fields in (("disable", {}), ("role", {"role": "user", "password": PASSWORD})):
        mina.open(path)
        refused = mina.submit(f"{path}/{what}", **fields)
        assert refused.status_code == 409
        assert "This is the last operator; make another one first." in refused.text


def test_reset_password_is_shown_once_and_works(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    path = person_path(mina, "jun")
    mina.open(path)
    assert mina.submit(f"{path}/password", password="wrong").status_code == 400
    mina.open(path)
    page = mina.submit(f"{path}/password", password=PASSWORD)
    assert page.headers["cache-control"] == "no-store"
    made = re.findall(r"data-secret>([^<]*)<", page.text)[0]
    assert made not in mina.open(path).text
    assert jun.open("/").headers["location"] == "/sign-in"
    jun.open("/sign-in")
    assert jun.submit("/sign-in", name="jun", password=made).status_code == 303


def test_audit_log_tells_what_was_done_and_no_typed_name(site: Site, mina: Visitor) -> None:
    site.user("jun")
    guest = site.visitor()
    guest.open("/sign-in")
    guest.submit("/sign-in", name="hunter2 typed by mistake", password="wrong password")
    act(mina, "jun", "disable")
    page = mina.open("/operator/audit").text
    rows = [
        dict(re.findall(r'data-cell="(\w+)"[^>]*>([^<]*)<', row)) for row in page.split("<tbody>")[1].split("</tr>")
    ]
    assert rows[0] == {"action": "account disabled", "actor": "mina", "subject": "jun", "remote": "127.0.0.1"}
    assert rows[1] == {"action": "sign-in failed", "actor": "–", "subject": "–", "remote": "127.0.0.1"}
    assert [row["action"] for row in rows if row][2:] == ["signed in", "first account made"]
    assert "hunter2" not in page
    assert mina.open("/operator/audit?before=nonsense").status_code == 200
    assert "There is nothing older." in mina.open(f"/operator/audit?before={'0' * 32}").text
