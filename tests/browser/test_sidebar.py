"""The sidebar of an open page: running dots, unread marks, menus by keyboard, and the mark in the tab's title."""

import io
import json

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.chat import box, say, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.scripted_backend import Gate, answer, delta, message_start

pytestmark = pytest.mark.browser

SET_HIDDEN = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def row(page: Page, title: str) -> Locator:
    return page.locator("#sidebar .conversation-row").filter(has=page.locator(".title", has_text=title))


@pytest.fixture
def page(signed_in: BrowserContext) -> Page:
    page = signed_in.new_page()
    page.set_viewport_size({"width": 1200, "height": 800})
    page.goto("/")
    return page


def test_a_running_dot_and_an_unread_mark_come_and_go_beside_another_page(site: RunningSite, page: Page) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("Slow"), gate, *answer("x")[1:])
    say(page, "First")
    expect(row(page, "First").locator(".running-dot")).to_be_visible()
    gate.wait_arrived()
    page.get_by_role("link", name="New conversation").last.click()
    expect(box(page)).to_be_focused()
    say(page, "Second")
    wait_until_complete(page, 1)
    expect(row(page, "Second").locator(".running-dot")).to_have_count(0)
    expect(row(page, "First").locator(".running-dot")).to_be_visible()
    gate.open()
    # An open page looks again every five seconds.
    expect(row(page, "First").locator(".unread-dot")).to_be_visible(timeout=20_000)
    row(page, "First").get_by_role("link").first.click()
    expect(row(page, "First").locator("a[aria-current]")).to_be_visible()
    expect(page.locator(".unread-dot")).to_have_count(0)


def test_the_title_of_a_hidden_tab_tells_that_the_answer_is_there(site: RunningSite, page: Page) -> None:
    gate = Gate()
    site.backend.script(message_start(), gate, *answer("x")[1:])
    say(page, "First")
    gate.wait_arrived()
    page.wait_for_url("**/conversations/*")
    page.evaluate(SET_HIDDEN, True)
    gate.open()
    expect(page).to_have_title("● First · Recount")
    page.evaluate(SET_HIDDEN, False)
    expect(page).to_have_title("First · Recount")


def test_a_menu_works_by_keyboard_and_search_finds_korean(page: Page) -> None:
    say(page, "서울 날씨가 어때?")
    wait_until_complete(page, 1)
    row(page, "서울").locator("summary").focus()
    page.keyboard.press("Enter")
    expect(row(page, "서울").get_by_role("button", name="Pin")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    page.get_by_role("searchbox", name="Search your conversations").fill("서울")
    page.keyboard.press("Enter")
    expect(page.locator(".snippet mark")).to_have_text("서울")
    page.locator(".snippet a").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("서울 날씨가 어때?")


def test_a_conversation_goes_out_and_comes_back(site: RunningSite, page: Page) -> None:
    say(page, "Take me along")
    wait_until_complete(page, 1)
    page.get_by_text("Settings").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as JSON").click()
    content = download.value.path().read_bytes()
    assert json.load(io.BytesIO(content))["messages"][0]["text"] == "Take me along"
    page.goto("/import")
    page.get_by_label("File").set_input_files({"name": "x.json", "mimeType": "application/json", "buffer": content})
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Take me along")
    expect(row(page, "Take me along")).to_have_count(2)
    say(page, "And now?")
    wait_until_complete(page, 2)
