"""The first account: by the one-time code, once."""

from concurrent.futures import ThreadPoolExecutor

from tests.app.web.site import PASSWORD, SETUP_CODE, Site
from tests.app.web.visitor import Visitor


def test_every_page_leads_to_setup_while_no_account_exists(site: Site) -> None:
    for path in ("/", "/sign-in", "/operator/conversations"):
        response = site.visitor().open(path)
        assert (response.status_code, response.headers["location"]) == (303, "/setup")


def test_setup_makes_an_operator_and_signs_them_in(site: Site) -> None:
    visitor = site.visitor()
    visitor.open(f"/setup?code={SETUP_CODE}")
    assert visitor.form("/setup").fields["code"] == SETUP_CODE
    response = visitor.submit("/setup", name="mina", password=PASSWORD)
    assert (response.status_code, response.headers["location"]) == (303, "/")
    assert visitor.page.status_code == 200
    assert visitor.open("/operator/conversations").status_code == 200


def test_setup_is_gone_once_there_is_an_account(site: Site, mina: Visitor) -> None:
    token = mina.form_token
    assert mina.open("/setup").status_code == 404
    assert mina.post("/setup", form_token=token, code=SETUP_CODE, name="x", password=PASSWORD).status_code == 404
    assert site.visitor().open("/").headers["location"] == "/sign-in"


def test_wrong_code_keeps_what_was_typed_but_the_password(site: Site) -> None:
    visitor = site.visitor()
    visitor.open("/setup")
    response = visitor.submit("/setup", code="guess", name="mina", password=PASSWORD, locale="ko")
    assert response.status_code == 400
    assert "This is not the code that the console shows." in response.text
    assert visitor.form("/setup").fields["name"] == "mina"
    assert '<option value="ko" lang="ko" selected>' in response.text
    assert PASSWORD not in response.text


def test_short_password_is_refused_in_korean_with_its_numbers(site: Site) -> None:
    visitor = site.visitor("ko")
    visitor.open(f"/setup?code={SETUP_CODE}")
    response = visitor.submit("/setup", name="mina", password="short")
    assert response.status_code == 400
    assert "비밀번호는 8자에서" in response.text


def test_race_for_the_first_account_has_one_winner(site: Site) -> None:
    visitors = [site.visitor(), site.visitor()]
    for visitor in visitors:
        visitor.open(f"/setup?code={SETUP_CODE}")

    def claim(numbered: tuple[int, Visitor]) -> int:
        number, visitor = numbered
        return visitor.submit("/setup", name=f"name{number}", password=PASSWORD).status_code

    with ThreadPoolExecutor(2) as pool:
        statuses = sorted(pool.map(claim, enumerate(visitors)))
    assert statuses[0] == 303
    assert statuses[1] in (403, 404)


def test_chosen_language_outlasts_the_browsers(site: Site) -> None:
    visitor = site.visitor("en")
    visitor.open(f"/setup?code={SETUP_CODE}")
    visitor.submit("/setup", name="mina", password=PASSWORD, locale="ko")
    assert '<html lang="ko">' in visitor.page.text
    assert "무엇을 물어볼까요?" in visitor.page.text
