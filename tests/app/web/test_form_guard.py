"""Only our own forms change anything: header combinations times form tokens."""

from collections.abc import Iterator
from itertools import product

import pytest
from starlette.datastructures import Headers

from app.web.form_guard import comes_from_here
from tests.app.web.site import PASSWORD, Site
from tests.app.web.visitor import Visitor

HOST = "chat.example"
VERDICTS = [
    ({}, True),
    ({"sec-fetch-site": "same-origin"}, True),
    ({"sec-fetch-site": "none"}, True),
    ({"sec-fetch-site": "same-site"}, False),
    ({"sec-fetch-site": "cross-site"}, False),
    ({"origin": "https://chat.example"}, True),
    ({"origin": "https://CHAT.example"}, True),
    ({"origin": "https://chat.example:444"}, False),
    ({"origin": "https://evil.example"}, False),
    ({"origin": "null"}, False),
    ({"origin": "http://["}, False),
    # Where the browser says both, its own word about the site counts.
    ({"sec-fetch-site": "cross-site", "origin": "https://chat.example"}, False),
    ({"sec-fetch-site": "same-origin", "origin": "https://evil.example"}, True),
]


@pytest.mark.parametrize(("headers", "verdict"), VERDICTS)
def test_origin_of_a_form(headers: dict[str, str], verdict: bool) -> None:
    assert comes_from_here(Headers({"host": HOST, **headers})) is verdict


def test_rename_needs_both_origin_and_token(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    other = site.visitor()
    other.open("/sign-in")
    tokens = {"right": mina.form_token, "wrong": "0" * 64, "of another browser": other.form_token, "none": ""}
    for site_header, (name, token) in product(("same-origin", "cross-site", "same-site"), tokens.items()):
        title = f"{site_header} {name}"
        fields = {"form_token": token} if token else {}
        response = mina.post(f"{path}/title", {"sec-fetch-site": site_header}, title=title, **fields)
        allowed = title == "same-origin right"
        assert response.status_code == (303 if allowed else 403), title
        assert (title in mina.open(path).text) is allowed


def test_forms_without_a_session_are_guarded_as_well(site: Site, mina: Visitor) -> None:
    visitor = site.visitor()
    visitor.open("/sign-in")
    for path in ("/setup", "/sign-in", "/sign-out", "/conversations"):
        assert visitor.post(path, name="mina", password=PASSWORD).status_code == 403


def test_visitor_token_is_worth_nothing_after_signing_in(site: Site, mina: Visitor) -> None:
    visitor = site.visitor()
    visitor.open("/sign-in")
    token = visitor.form_token
    visitor.submit("/sign-in", name="mina", password=PASSWORD)
    assert visitor.post("/conversations", form_token=token, text="x", submission_key="k").status_code == 403


def test_other_media_types_are_refused(mina: Visitor) -> None:
    for media_type in ("application/json", "text/plain", "multipart/form-data; boundary=x"):
        response = mina.client.post("/conversations", content=b"{}", headers={"content-type": media_type})
        assert response.status_code == 415


def test_changing_routes_do_not_answer_to_get(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    for action in (f"{path}/messages", f"{path}/title", f"{path}/system-prompt", "/sign-out"):
        assert mina.open(action).status_code == 405


def test_wrong_methods_are_405_with_the_right_ones(mina: Visitor) -> None:
    for method in ("DELETE", "PUT", "PATCH"):
        response = mina.client.request(method, "/sign-out")
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
    response = mina.client.post("/operator/conversations", json={})
    assert response.status_code == 405
    assert "does not take that kind of request" in response.text
    assert mina.client.post("/nowhere").status_code == 404


def test_sign_in_from_a_broken_origin_is_refused(site: Site, mina: Visitor) -> None:
    visitor = site.visitor()
    visitor.open("/sign-in")
    response = visitor.post("/sign-in", {"origin": "http://["}, form_token=visitor.form_token)
    assert response.status_code == 403


def chunks(size: int) -> Iterator[bytes]:
    for _ in range(0, size, 100_000):
        yield b"x" * 100_000


def test_body_over_the_limit_is_refused_with_our_page(mina: Visitor) -> None:
    text = "x" * 1_100_000
    response = mina.post("/conversations", form_token=mina.form_token, text=text)
    assert response.status_code == 413
    assert "<h1>Error 413</h1>" in response.text
    assert "That was too long to take." in response.text
    fragment = mina.post("/conversations", {"recount-fragment": "1"}, form_token=mina.form_token, text=text)
    assert fragment.status_code == 413
    assert fragment.text.startswith('<p class="problem" role="alert">That was too long to take.')
    json = mina.post("/conversations", {"accept": "application/json"}, form_token=mina.form_token, text=text)
    assert json.json()["error"]["status"] == 413


def test_body_of_unknown_length_is_cut_off_at_the_limit(mina: Visitor) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    response = mina.client.post("/conversations", content=chunks(1_200_000), headers=form)
    assert response.status_code == 413
    assert "<h1>Error 413</h1>" in response.text


def test_form_of_another_site_changes_nothing_even_with_the_token(mina: Visitor) -> None:
    response = mina.post("/sign-out", {"origin": "https://evil.example"}, form_token=mina.form_token)
    assert response.status_code == 403
    assert mina.open("/").status_code == 200


def test_script_learns_that_the_session_is_over(site: Site, mina: Visitor) -> None:
    token = mina.form_token
    mina.client.cookies.clear()
    fields = {"form_token": token, "text": "x", "submission_key": "k"}
    assert mina.post("/conversations", {"recount-fragment": "1"}, **fields).status_code == 401
    assert mina.post("/conversations", **fields).status_code == 403
