"""Invites in the browser, from making one to the first conversation."""

import re

from app.settings import Backend
from tests.app.web.conftest import OpenSite
from tests.app.web.site import PASSWORD, Site
from tests.app.web.visitor import Visitor

NEW_PASSWORD = "another long one"


def link_of(page: str) -> str:
    found = re.search(r"data-secret>([^<]*)<", page)
    assert found
    return found[1].replace("&amp;", "&")


def invite(operator: Visitor, **typed: str) -> str:
    """The path of a new invite's link."""
    operator.open("/operator/invites")
    response = operator.submit("/operator/invites", **{"role": "user", **typed})
    assert response.status_code == 200, response.text
    link = link_of(response.text)
    assert link.startswith(str(operator.client.base_url).rstrip("/") + "/invite?code=")
    return link.split("/invite", 1)[1]


def test_invite_makes_an_account_and_signs_it_in(site: Site, mina: Visitor) -> None:
    link = invite(mina)
    guest = site.visitor()
    assert guest.open(f"/invite{link}").status_code == 200
    response = guest.submit("/invite", name="berta", password=NEW_PASSWORD, time_zone="Asia/Seoul", locale="ko")
    assert (response.status_code, response.headers["location"]) == (303, "/")
    assert "무엇을 물어볼까요?" in guest.page.text
    assert guest.open("/operator/people").status_code == 404
    assert "used by berta" in mina.open("/operator/invites").text
    assert "data-secret" not in mina.page.text
    late = site.visitor()
    for page in (late.open(f"/invite{link}"), late.open("/invite"), late.open("/invite?code=guess")):
        assert page.status_code == 404
        assert "This invite cannot be used" in page.text


def test_invite_that_is_lost_while_typing_says_so(site: Site, mina: Visitor) -> None:
    link = invite(mina)
    first, second = site.visitor(), site.visitor()
    for visitor in (first, second):
        visitor.open(f"/invite{link}")
    assert first.submit("/invite", name="berta", password=NEW_PASSWORD).status_code == 303
    lost = second.submit("/invite", name="carla", password=NEW_PASSWORD)
    assert lost.status_code == 404
    assert "This invite cannot be used" in lost.text


def test_refused_values_come_back_but_the_password(site: Site, mina: Visitor) -> None:
    guest = site.visitor()
    guest.open(f"/invite{invite(mina)}")
    response = guest.submit("/invite", name="Mina", password=NEW_PASSWORD, locale="ko")
    assert response.status_code == 400
    assert "This name is taken." in response.text
    assert guest.form("/invite").fields["name"] == "Mina"
    assert NEW_PASSWORD not in response.text
    assert guest.submit("/invite", name="berta", password=NEW_PASSWORD).status_code == 303


def test_signed_in_browser_leaves_its_old_session_for_the_new_account(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    old = dict(jun.client.cookies)
    jun.open(f"/invite{invite(mina)}")
    jun.submit("/invite", name="berta", password=NEW_PASSWORD)
    assert "berta" in jun.page.text
    thief = site.visitor()
    thief.client.cookies.update(old)
    assert thief.open("/").headers["location"] == "/sign-in"


def test_operators_invite_needs_the_password_and_makes_an_operator(site: Site, mina: Visitor) -> None:
    mina.open("/operator/invites")
    refused = mina.submit("/operator/invites", role="operator", days="3", password="wrong")
    assert (refused.status_code, "Your password is wrong." in refused.text) == (400, True)
    assert mina.form("/operator/invites").fields["days"] == "3"
    guest = site.visitor()
    guest.open(f"/invite{invite(mina, role='operator', password=PASSWORD)}")
    guest.submit("/invite", name="berta", password=NEW_PASSWORD)
    assert guest.open("/operator/people").status_code == 200


def test_unusable_days_and_roles_are_refused(mina: Visitor) -> None:
    for days in ("0", "31", "x", "", "9" * 30, "١"):
        mina.open("/operator/invites")
        response = mina.submit("/operator/invites", role="user", days=days)
        assert (response.status_code, "An invite lasts 1 to 30 days." in response.text) == (400, True), days
    mina.open("/operator/invites")
    assert mina.submit("/operator/invites", role="root", days="3").status_code == 400


def test_invite_can_be_taken_back(site: Site, mina: Visitor) -> None:
    link = invite(mina)
    page = mina.open("/operator/invites").text
    (path,) = re.findall(r'action="(/operator/invites/[0-9a-f-]{36}/revoke)"', page)
    mina.submit(path)
    assert "No invites yet." in mina.page.text
    assert site.visitor().open(f"/invite{link}").status_code == 404


def test_link_behind_tls_is_one_of_tls(open_site: OpenSite) -> None:
    """The cookies need TLS, which the test has not, so they are sent by hand."""
    site = open_site(secure_cookies=True)
    operator = site.visitor()

    def with_cookies() -> dict[str, str]:
        return {"cookie": "; ".join(f"{each.name}={each.value}" for each in operator.client.cookies.jar)}

    operator.open("/setup?code=code-for-tests")
    fields = {**operator.form("/setup").fields, "name": "mina", "password": PASSWORD}
    operator.post("/setup", headers=with_cookies(), **fields)
    operator.page = operator.client.get("/operator/invites", headers=with_cookies())
    fields = {**operator.form("/operator/invites").fields, "role": "user"}
    page = operator.post("/operator/invites", headers=with_cookies(), **fields).text
    assert link_of(page).startswith("https://")


def test_code_is_in_no_answer_but_the_one_that_makes_it(site: Site, mina: Visitor) -> None:
    code = invite(mina).split("code=")[1]
    for path in ("/operator/invites", "/operator/audit", "/operator/people"):
        assert code not in mina.open(path).text


def test_no_second_account_on_a_backend_without_isolation(open_site: OpenSite, backend_url: str) -> None:
    shared = Backend(name="shared", base_url=backend_url, isolation="none")
    mina = open_site(backends=(shared,)).set_up()
    mina.open("/operator/invites")
    refused = mina.submit("/operator/invites", role="user")
    assert refused.status_code == 409
    assert "RECOUNT_ALLOW_SHARED_CACHE allows more" in refused.text
    assert "data-secret" not in refused.text
    link = invite(open_site(backends=(shared,), allow_shared_cache=True).set_up())
    assert link
