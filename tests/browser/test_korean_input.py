"""Presses of Enter in which an input method and the page both take part."""

import pytest
from playwright.sync_api import BrowserContext, CDPSession, Page, Route, expect

from tests.browser.chat import box, say, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.browser.test_composer import compose

pytestmark = pytest.mark.browser

ENTER = {"key": "Enter", "code": "Enter"}
SHIFT = 8


@pytest.fixture
def session(signed_in: BrowserContext, page: Page) -> CDPSession:
    """The keyboard of a page with one finished turn."""
    page.goto("/")
    say(page, "Hello")
    wait_until_complete(page, 1)
    box(page).focus()
    return page.context.new_cdp_session(page)


def press_to_input_method(session: CDPSession, commit: str, modifiers: int = 0) -> None:
    """The input method sees the press first and hands its syllable over."""
    key = {"type": "rawKeyDown", "windowsVirtualKeyCode": 229, "modifiers": modifiers, **ENTER}
    session.send("Input.dispatchKeyEvent", key)
    session.send("Input.insertText", {"text": commit})


def press_to_page(session: CDPSession, modifiers: int = 0) -> None:
    """Then the page sees the same press as a plain key, as with the input methods of some systems."""
    key = {"windowsVirtualKeyCode": 13, "modifiers": modifiers, **ENTER}
    session.send("Input.dispatchKeyEvent", {"type": "keyDown", "text": "\r", "unmodifiedText": "\r", **key})


def release(session: CDPSession, modifiers: int = 0) -> None:
    key = {"type": "keyUp", "windowsVirtualKeyCode": 13, "modifiers": modifiers, **ENTER}
    session.send("Input.dispatchKeyEvent", key)


def test_korean_enter_that_comes_twice_sends_once(site: RunningSite, session: CDPSession, page: Page) -> None:
    session.send("Input.insertText", {"text": "안녕"})
    compose(session, "ㅎ", "하", "한")
    press_to_input_method(session, "한")
    press_to_page(session)
    release(session)
    wait_until_complete(page, 2)
    assert page.locator(".bubble").all_inner_texts() == ["Hello", "안녕한"]
    expect(box(page)).to_have_value("")
    box(page).fill("또")
    box(page).press("Enter")
    wait_until_complete(page, 3)
    assert page.locator(".bubble").all_inner_texts() == ["Hello", "안녕한", "또"]
    assert len(site.backend.questions) == 3


def test_second_keydown_of_one_press_does_not_send_what_came_back(session: CDPSession, page: Page) -> None:
    sends: list[str] = []

    def lose(route: Route) -> None:
        sends.append(route.request.url)
        route.abort()

    page.route("**/messages", lose)
    compose(session, "ㅎ", "하", "한")
    press_to_input_method(session, "한")
    expect(page.locator(".composer .problem")).to_contain_text("Your text is kept")
    expect(box(page)).to_have_value("한")
    press_to_page(session)
    release(session)
    expect(box(page)).to_have_value("한")
    assert len(sends) == 1
    page.unroute("**/messages")
    box(page).press("Enter")
    wait_until_complete(page, 2)
    assert page.locator(".bubble").all_inner_texts() == ["Hello", "한"]


def test_shift_enter_in_a_composition_breaks_the_line(site: RunningSite, session: CDPSession, page: Page) -> None:
    session.send("Input.insertText", {"text": "안녕"})
    compose(session, "ㅎ", "하", "한")
    press_to_input_method(session, "한", SHIFT)
    press_to_page(session, SHIFT)
    release(session, SHIFT)
    expect(box(page)).to_have_value("안녕한\n")
    compose(session, "ㄱ", "그", "글")
    press_to_input_method(session, "글")
    release(session)
    wait_until_complete(page, 2)
    assert page.locator(".bubble").all_inner_texts() == ["Hello", "안녕한\n글"]
    assert len(site.backend.questions) == 2
