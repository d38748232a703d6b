"""Keys of the whole page, and the help under `?`."""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.chat import box, say, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite, Watch, adopt_session
from tests.scripted_backend import Gate, delta, ending, message_start

pytestmark = pytest.mark.browser

HANGUL_N = {"key": "ㅜ", "code": "KeyN", "windowsVirtualKeyCode": 78}
PROCESS = {"key": "Process", "code": "KeyN", "windowsVirtualKeyCode": 229}


@pytest.fixture
def talk(site: RunningSite, signed_in: BrowserContext, page: Page) -> Page:
    """A conversation with one finished turn, and the focus on a link of it."""
    page.goto("/")
    say(page, "Hello")
    wait_until_complete(page, 1)
    copy_link(page).focus()
    return page


def copy_link(page: Page) -> Locator:
    return page.locator("article.assistant").get_by_role("link", name="Copy", exact=True)


def help_dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Help")


def test_question_mark_opens_help_and_focus_returns(talk: Page) -> None:
    talk.keyboard.press("?")
    expect(help_dialog(talk)).to_be_visible()
    expect(help_dialog(talk)).to_contain_text("The figures under an answer")
    talk.keyboard.press("n")  # No other key acts behind it.
    talk.keyboard.press("Escape")
    expect(help_dialog(talk)).to_be_hidden()
    expect(copy_link(talk)).to_be_focused()
    talk.get_by_role("link", name="Help").click()
    help_dialog(talk).get_by_role("button", name="Close").click()
    expect(help_dialog(talk)).to_be_hidden()
    expect(talk.get_by_role("link", name="Help")).to_be_focused()
    assert "/conversations/" in talk.url


def test_escape_closes_help_and_stops_no_answer(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("Begun"), gate, delta(" and done"), *ending(output_tokens=3))
    page.goto("/")
    say(page, "Hello")
    wait_for_live_text(page, "Begun")
    page.get_by_role("link", name="Help").focus()
    page.keyboard.press("?")
    expect(help_dialog(page)).to_be_visible()
    page.keyboard.press("Escape")
    expect(help_dialog(page)).to_be_hidden()
    gate.open()
    wait_until_complete(page, 1)
    expect(page.locator("article.assistant .rendered")).to_have_text("Begun and done")


def test_keys_do_nothing_while_somebody_types(talk: Page) -> None:
    box(talk).focus()
    talk.keyboard.type("/n?")
    expect(box(talk)).to_have_value("/n?")
    expect(box(talk)).to_be_focused()
    talk.get_by_label("Search your conversations").focus()
    talk.keyboard.type("n?")
    expect(talk.get_by_label("Search your conversations")).to_have_value("n?")
    assert talk.locator("dialog[open]").count() == 0


def test_slash_goes_to_the_search_and_leaves_no_mark(talk: Page) -> None:
    talk.keyboard.press("/")
    expect(talk.get_by_label("Search your conversations")).to_be_focused()
    expect(talk.get_by_label("Search your conversations")).to_have_value("")


@pytest.mark.parametrize("keys", ["n", "Control+Shift+O"])
def test_new_conversation_has_a_key(talk: Page, keys: str) -> None:
    if keys != "n":
        box(talk).fill("kept")  # The long one acts in the box, too.
        box(talk).focus()
    talk.keyboard.press(keys)
    talk.wait_for_url(re.compile(r"/$"))
    expect(box(talk)).to_be_focused()


def test_key_of_a_hangul_layout_is_known_by_its_place_but_not_in_a_composition(talk: Page) -> None:
    session = talk.context.new_cdp_session(talk)
    address = talk.url
    session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **PROCESS})
    talk.keyboard.press("/")
    expect(talk.get_by_label("Search your conversations")).to_be_focused()
    assert talk.url == address
    copy_link(talk).focus()
    session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **HANGUL_N})
    talk.wait_for_url(re.compile(r"/$"))


def test_arrow_up_in_the_empty_box_edits_the_last_question(talk: Page) -> None:
    say(talk, "Second")
    wait_until_complete(talk, 2)
    box(talk).fill("half")
    box(talk).press("ArrowUp")
    expect(box(talk)).to_be_focused()
    box(talk).fill("")
    box(talk).press("ArrowUp")
    expect(talk.get_by_label("Edit your message")).to_be_focused()
    expect(talk.get_by_label("Edit your message")).to_have_value("Second")


def test_help_is_a_page_without_script(chromium: Browser, site: RunningSite, watch: Watch) -> None:
    context = chromium.new_context(base_url=site.url, java_script_enabled=False, locale="ko-KR")
    adopt_session(site, context)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("link", name="도움말").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("도움말")
    expect(page.get_by_text("보고되지 않음", exact=True)).to_be_visible()
    context.close()
