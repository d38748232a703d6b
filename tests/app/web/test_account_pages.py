"""A person's own account in the browser."""

import re
import sqlite3

import pytest

from tests.app.web.site import PASSWORD, Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, answer, delta, message_start

NEW_PASSWORD = "another long one"


def test_changed_password_keeps_this_browser_and_ends_the_others(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    stolen = dict(jun.client.cookies)
    jun.open("/account")
    response = jun.submit("/account/password", current_password=PASSWORD, new_password=NEW_PASSWORD)
    assert response.headers["location"] == "/account?done=password"
    assert "Your password is changed." in jun.page.text
    assert jun.client.cookies["recount-session"] != stolen["recount-session"]
    thief = site.visitor()
    thief.client.cookies.update(stolen)
    assert thief.open("/account").headers["location"] == "/sign-in?next=/account"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"current_password": "not my password", "new_password": NEW_PASSWORD}, "Your password is wrong."),
        ({"current_password": PASSWORD, "new_password": "short"}, "A password has 8 to 1,024 characters."),
        ({"current_password": PASSWORD, "new_password": "password1"}, "among the first that others would try"),
    ],
)
def test_refused_password_is_explained_and_not_shown(
    site: Site, mina: Visitor, typed: dict[str, str], words: str
) -> None:
    jun = site.user("jun")
    jun.open("/account")
    response = jun.submit("/account/password", **typed)
    assert response.status_code == 400
    assert words in response.text
    assert not [value for value in typed.values() if value in response.text]


def test_profile_changes_language_zone_and_system_prompt(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    jun.open("/account")
    assert "Not set: UTC" in jun.page.text
    jun.submit("/account/profile", locale="ko", time_zone="Asia/Seoul", default_system_prompt="\nBe terse.")
    assert '<html lang="ko">' in jun.page.text
    assert '<option value="Asia/Seoul" selected>' in jun.page.text
    assert "저장했습니다." in jun.page.text
    assert "KST" in jun.page.text
    assert jun.form("/account/profile").fields["default_system_prompt"] == "\nBe terse."


def test_notes_switched_off_are_neither_sent_nor_shown_from_then_on(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    mina.open("/account")
    mina.submit("/account/profile", context_notes="")
    assert "context_notes" not in mina.form("/account/profile").fields
    site.ask(mina, "Two", path)
    assert mina.page.text.count("Time note") == 1  # Of the first message.
    contents = [message["content"] for message in site.backend.questions[-1].json()["messages"]]
    assert "<context-note>" in contents[0]
    assert contents[2] == "Two"
    mina.open("/account")
    mina.submit("/account/profile", context_notes="yes")
    site.ask(mina, "Three", path)
    assert mina.page.text.count("Time note") == 2


def test_unusable_profile_comes_back_as_typed(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    jun.open("/account")
    assert jun.form("/account/profile").fields["context_notes"] == "yes"
    typed = {"locale": "ko", "time_zone": "No/Where", "default_system_prompt": "Keep me", "context_notes": ""}
    response = jun.submit("/account/profile", **typed)
    assert response.status_code == 400
    assert "There is no such time zone" in response.text
    fields = jun.form("/account/profile").fields
    assert fields["default_system_prompt"] == "Keep me"
    assert "context_notes" not in fields
    assert re.search(r'<option value="No/Where"\s+selected>', response.text)
    assert '<option value="ko" lang="ko" selected>' in response.text


def test_nonsense_behind_done_says_nothing(mina: Visitor) -> None:
    assert 'class="done"' not in mina.open("/account?done=<b>").text


def second_browser(site: Site, name: str) -> Visitor:
    visitor = site.visitor()
    visitor.open("/sign-in")
    visitor.submit("/sign-in", name=name, password=PASSWORD)
    return visitor


def test_sessions_are_listed_and_one_can_be_ended(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    other = second_browser(site, "jun")
    page = jun.open("/account").text
    assert (page.count("This browser"), page.count("Another browser")) == (1, 1)
    (path,) = re.findall(r'action="(/account/sessions/[0-9a-f-]{36}/end)"', page)
    jun.submit(path)
    assert "The session has ended." in jun.page.text
    assert "Another browser" not in jun.page.text
    assert other.open("/").headers["location"] == "/sign-in"


def test_signing_out_everywhere_ends_this_session_too(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    other = second_browser(site, "jun")
    jun.open("/account")
    assert jun.submit("/account/sessions/end").headers["location"] == "/sign-in"
    assert "recount-session" not in jun.client.cookies
    assert other.open("/").headers["location"] == "/sign-in"
    assert mina.open("/").status_code == 200


def test_signing_in_again_makes_the_old_token_worthless(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    old = dict(jun.client.cookies)
    jun.post("/sign-in", form_token=jun.form_token, name="jun", password=PASSWORD)
    assert jun.client.cookies["recount-session"] != old["recount-session"]
    assert jun.open("/").status_code == 200
    thief = site.visitor()
    thief.client.cookies.update(old)
    assert thief.open("/").headers["location"] == "/sign-in"


def test_deleted_account_is_gone_with_its_words(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    site.backend.script(*answer("Private reply"))
    site.ask(jun, "Private words")
    jun.open("/account/delete")
    refused = jun.submit("/account/delete", password="wrong")
    assert (refused.status_code, "Your password is wrong." in refused.text) == (400, True)
    assert jun.submit("/account/delete", password=PASSWORD).headers["location"] == "/sign-in"
    assert "recount-session" not in jun.client.cookies
    jun.open("/sign-in")
    assert jun.submit("/sign-in", name="jun", password=PASSWORD).status_code == 400
    page = mina.open("/operator/conversations").text
    assert re.search(r"deleted-[0-9a-f]{8}", page)
    assert "jun" not in page
    with sqlite3.connect(site.database_file) as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert "Private" not in dump


def test_last_operator_is_told_why_it_cannot_delete_its_account(mina: Visitor) -> None:
    mina.open("/account/delete")
    response = mina.submit("/account/delete", password=PASSWORD)
    assert response.status_code == 409
    assert "This is the last operator; make another one first." in response.text
    assert mina.open("/").status_code == 200


def test_deleting_ends_an_answer_that_is_being_written(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    gate = Gate()
    site.backend.script(message_start(), delta("Secret"), gate, *answer("never"))
    jun.open("/")
    jun.submit("/conversations", text="Go")
    gate.wait_arrived()
    jun.open("/account/delete")
    jun.submit("/account/delete", password=PASSWORD)
    page = mina.open("/operator/people").text
    assert "jun" not in page
    assert site.backend.disconnects == 1
    gate.open()
