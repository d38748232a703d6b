"""Signing in and out, and what the cookies look like."""

from http.cookies import SimpleCookie

import pytest

from app.web.forms import local_path
from tests.app.web.conftest import OpenSite
from tests.app.web.site import PASSWORD, SETUP_CODE, Site
from tests.app.web.visitor import Visitor


def test_wrong_password_and_unknown_name_read_the_same(site: Site, mina: Visitor) -> None:
    pages = []
    for name in ("mina", "nobody"):
        visitor = site.visitor()
        visitor.open("/sign-in")
        response = visitor.submit("/sign-in", name=name, password="wrong password")
        assert response.status_code == 400
        pages.append(response.text.split('role="alert">')[1].split("<")[0])
    assert pages == ["The name or the password is wrong."] * 2


def test_sign_in_leads_back_to_the_page_that_was_wanted(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    visitor = site.visitor()
    response = visitor.open(path)
    assert response.status_code == 303
    visitor.open(response.headers["location"])
    response = visitor.submit("/sign-in", name="mina", password=PASSWORD)
    assert response.headers["location"] == path
    assert visitor.open("/sign-in").headers["location"] == "/"


def test_sign_out_ends_the_session_on_the_server(site: Site, mina: Visitor) -> None:
    cookies = dict(mina.client.cookies)
    mina.submit("/sign-out")
    assert "recount-session" not in mina.client.cookies
    thief = site.visitor()
    thief.client.cookies.update(cookies)
    assert thief.open("/").headers["location"] == "/sign-in"


def test_sign_out_without_a_session_leads_to_the_sign_in_page(site: Site, mina: Visitor) -> None:
    visitor = site.visitor()
    visitor.open("/sign-in")
    response = visitor.post("/sign-out", form_token=visitor.form_token)
    assert (response.status_code, response.headers["location"]) == (303, "/sign-in")


def test_many_wrong_passwords_are_slowed_down(site: Site, mina: Visitor) -> None:
    visitor = site.visitor()
    visitor.open("/sign-in")
    for _ in range(30):
        response = visitor.submit("/sign-in", name="nobody", password="wrong password")
        if response.status_code == 429:
            break
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) > 0
    assert "Too many tries" in response.text


def test_session_cookie_is_for_the_server_only(site: Site) -> None:
    visitor = site.visitor()
    visitor.open(f"/setup?code={SETUP_CODE}")
    header = visitor.submit("/setup", name="mina", password=PASSWORD).headers["set-cookie"]
    cookie = SimpleCookie(header)["recount-session"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "lax"
    assert cookie["path"] == "/"
    assert not cookie["secure"]
    assert int(cookie["max-age"]) == 30 * 86_400


def test_cookies_behind_tls_are_secure_and_bound_to_the_host(open_site: OpenSite) -> None:
    response = open_site(secure_cookies=True).visitor().open("/setup")
    cookie = SimpleCookie(response.headers["set-cookie"])["__Host-recount-visitor"]
    assert cookie["secure"]
    assert not cookie["domain"]
    assert response.headers["strict-transport-security"]


@pytest.mark.parametrize(
    "candidate",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "https:evil",
        "javascript:alert(1)",
        "",
        "/\n/evil",
        "//[",
        "http://[",
    ],
)
def test_local_path_never_leads_away(candidate: str) -> None:
    assert local_path(candidate) == "/"


@pytest.mark.parametrize("wanted", ["//[", "http://["])
def test_broken_address_after_signing_in_is_the_first_page(site: Site, mina: Visitor, wanted: str) -> None:
    visitor = site.visitor()
    assert visitor.open(f"/sign-in?next={wanted}").status_code == 200
    assert visitor.form("/sign-in").fields["next"] == "/"


def test_local_path_keeps_our_own() -> None:
    assert local_path("/conversations/1?a=b") == "/conversations/1?a=b"
