"""Accounts in a real browser: from an invite to the deletion, and pages that fit every screen in both languages."""

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.app.web.site import PASSWORD
from tests.browser.conftest import RunningSite, Watch, adopt_session
from tests.browser.test_layout import PHONE, check

pytestmark = pytest.mark.browser

NEW_PASSWORD = "another long one"
DESKTOP = {"width": 1280, "height": 800}


def test_from_an_invite_to_the_end_of_the_account(
    chromium: Browser, site: RunningSite, watch: Watch, signed_in: BrowserContext, page: Page
) -> None:
    page.goto("/operator/people")
    page.get_by_role("link", name="Invites").click()
    page.get_by_role("button", name="Make an invite").click()
    link = page.locator("[data-secret]").inner_text()
    guest_context = chromium.new_context(base_url=site.url, locale="ko-KR", timezone_id="Asia/Seoul")
    watch.over(guest_context)
    guest = guest_context.new_page()
    guest.goto(link)
    guest.get_by_label("이름").fill("베르타")
    guest.get_by_label("비밀번호").fill(NEW_PASSWORD)
    guest.get_by_role("button", name="계정 만들기").click()
    expect(guest.get_by_role("heading", name="무엇을 물어볼까요?")).to_be_visible()
    guest.get_by_role("link", name="계정", exact=True).click()
    expect(guest.get_by_label("시간대")).to_have_value("Asia/Seoul")
    guest.get_by_role("link", name="내 계정 삭제").click()
    guest.get_by_label("비밀번호").fill(NEW_PASSWORD)
    guest.get_by_role("button", name="내 계정 삭제").click()
    expect(guest.get_by_role("heading", name="로그인")).to_be_visible()
    page.goto("/operator/audit")
    expect(page.locator('[data-cell="action"]').first).to_have_text("account deleted")
    guest_context.close()


# Every pair of language, theme and width is there, which is where a fault shows.
@pytest.mark.parametrize(
    ("locale", "scheme", "viewport"),
    [("en-US", "light", DESKTOP), ("en-US", "dark", PHONE), ("ko-KR", "light", PHONE), ("ko-KR", "dark", DESKTOP)],
)
def test_account_pages_fit_the_screen(
    chromium: Browser, site: RunningSite, watch: Watch, locale: str, scheme: str, viewport: dict[str, int]
) -> None:
    context = chromium.new_context(
        base_url=site.url,
        viewport=viewport,  # type: ignore[arg-type]
        locale=locale,
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    watch.over(context)
    adopt_session(site, context)
    site.user("w" * 64)
    page = context.new_page()
    for path in ("/account", "/account/usage", "/account/delete", "/operator/people", "/operator/audit", "/invite"):
        page.goto(path)
        check(page)
    page.goto("/operator/people")
    page.locator("a.named").first.click()
    page.wait_for_url("**/operator/people/*")
    check(page)
    page.locator("#reset-password").fill(PASSWORD)
    page.locator('form[action$="/password"] button').click()
    expect(page.locator("[data-secret]")).to_be_visible()
    check(page)
    page.goto("/operator/invites")
    page.locator('form[action="/operator/invites"] button').click()
    expect(page.locator("[data-secret]")).to_be_visible()
    check(page)
    context.close()
