"""The message box: keys, Korean input, drafts, failed sends, touch."""

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, expect

from tests.browser.chat import box, say, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite, Watch, adopt_session
from tests.scripted_backend import Gate, answer, delta, ending, message_start

pytestmark = pytest.mark.browser


@pytest.fixture
def started(site: RunningSite, signed_in: BrowserContext, page: Page) -> Page:
    """A conversation with one finished turn."""
    page.goto("/")
    say(page, "Hello")
    wait_until_complete(page, 1)
    return page


def compose(session: CDPSession, *stages: str) -> None:
    """Types one Hangul syllable as an input method does: a composition that changes with each key."""
    for stage in stages:
        key = {"type": "rawKeyDown", "key": "Process", "windowsVirtualKeyCode": 229}
        session.send("Input.dispatchKeyEvent", key)
        session.send(
            "Input.imeSetComposition", {"text": stage, "selectionStart": len(stage), "selectionEnd": len(stage)}
        )


def press_enter_in_composition(session: CDPSession, commit: str) -> None:
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
    session.send("Input.insertText", {"text": commit})
    session.send("Input.dispatchKeyEvent", {"type": "keyUp", **enter, "windowsVirtualKeyCode": 13})


def test_korean_enter_sends_once_with_the_last_syllable(started: Page) -> None:
    session = started.context.new_cdp_session(started)
    box(started).focus()
    session.send("Input.insertText", {"text": "안녕"})
    compose(session, "ㅎ", "하", "한")
    press_enter_in_composition(session, "한")
    wait_until_complete(started, 2)
    assert started.locator(".bubble").all_inner_texts() == ["Hello", "안녕한"]
    expect(box(started)).to_have_value("")


def test_japanese_enter_takes_the_candidate_and_the_next_one_sends(started: Page) -> None:
    session = started.context.new_cdp_session(started)
    box(started).focus()
    compose(session, "に", "にほん")
    press_enter_in_composition(session, "日本")
    expect(box(started)).to_have_value("日本")
    assert started.locator(".bubble").count() == 1
    box(started).press("Enter")
    wait_until_complete(started, 2)
    assert started.locator(".bubble").all_inner_texts() == ["Hello", "日本"]


def test_shift_enter_starts_a_new_line_and_empty_text_is_not_sent(started: Page) -> None:
    box(started).press("Enter")
    box(started).fill("one")
    box(started).press("Shift+Enter")
    box(started).press_sequentially("two")
    expect(box(started)).to_have_value("one\ntwo")
    assert started.locator(".bubble").count() == 1
    box(started).press("Enter")
    wait_until_complete(started, 2)
    assert started.locator(".bubble").last.inner_text() == "one\ntwo"


def test_two_quick_enters_are_one_turn(site: RunningSite, started: Page) -> None:
    box(started).fill("once")
    box(started).evaluate("element => { element.form.requestSubmit(); element.form.requestSubmit(); }")
    wait_until_complete(started, 2)
    assert len(site.backend.questions) == 2


def test_draft_survives_a_reload_and_goes_with_the_send(started: Page) -> None:
    box(started).fill("half a thou")
    started.reload()
    expect(box(started)).to_have_value("half a thou")
    box(started).press("Enter")
    wait_until_complete(started, 2)
    started.reload()
    expect(box(started)).to_have_value("")


def test_failed_send_keeps_text_and_is_no_second_turn(site: RunningSite, started: Page) -> None:
    lose_answer = True

    def handle(route: object) -> None:
        nonlocal lose_answer
        if lose_answer:
            route.fetch()  # type: ignore[attr-defined]  # It arrives, but its answer does not come back.
            route.abort()  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    started.route("**/messages", handle)
    say(started, "precious words")
    expect(started.locator(".composer .problem")).to_contain_text("Your text is kept")
    expect(box(started)).to_have_value("precious words")
    lose_answer = False
    box(started).press("Enter")
    wait_until_complete(started, 2)
    started.reload()
    assert started.locator(".bubble").all_inner_texts() == ["Hello", "precious words"]
    assert len(site.backend.questions) == 2


def test_refused_send_shows_the_reason_and_keeps_the_text(started: Page) -> None:
    text = "x" * 32_001
    box(started).fill(text)
    expect(started.locator("[data-hint]")).to_have_text("32,001 of 32,000 characters: too long to send")
    box(started).press("Enter")
    expect(started.locator(".composer .problem")).to_have_text("32,001 characters; at most 32,000 are possible.")
    expect(box(started)).to_have_value(text)


def test_send_after_the_session_ended_keeps_the_text(started: Page) -> None:
    started.context.clear_cookies()
    say(started, "still here")
    expect(started.locator(".composer .problem")).to_contain_text("Your text is kept")
    expect(box(started)).to_have_value("still here")


def test_send_while_another_tab_has_sent_follows_that_answer(
    site: RunningSite, signed_in: BrowserContext, started: Page
) -> None:
    gate = Gate()
    other = signed_in.new_page()
    other.goto(started.url)
    site.backend.script(message_start(), delta("Begun"), gate, *ending(output_tokens=2))
    say(other, "I was first")
    gate.wait_arrived()
    say(started, "I was second")
    expect(started.locator(".composer .problem")).to_have_text("An answer is being written here.")
    expect(box(started)).to_have_value("I was second")
    wait_for_live_text(started, "Begun")
    assert started.locator(".bubble").all_inner_texts() == ["Hello", "I was first"]
    expect(started.get_by_role("button", name="Stop")).to_be_visible()
    gate.open()
    wait_until_complete(started, 2)
    expect(started.locator(".composer .problem")).to_have_count(0)
    box(started).press("Enter")
    wait_until_complete(started, 3)


def test_send_to_a_deleted_conversation_starts_a_new_one_with_the_text(started: Page) -> None:
    other = started.context.new_page()
    other.goto(f"{started.url}/delete")
    other.get_by_role("button", name="Delete").click()
    expect(other.get_by_text("No conversations yet.")).to_be_visible()
    say(started, "too late")
    expect(started.locator(".composer .problem")).to_contain_text("This conversation no longer exists.")
    expect(box(started)).to_have_value("too late")
    started.get_by_role("link", name="Start a new conversation").click()
    expect(started.get_by_role("heading", level=1)).to_have_text("What would you like to ask?")
    expect(box(started)).to_have_value("too late")


def test_answer_of_a_conversation_that_is_deleted_meanwhile(site: RunningSite, started: Page) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("Begun"), gate, *ending(output_tokens=2))
    say(started, "Go")
    wait_for_live_text(started, "Begun")
    other = started.context.new_page()
    other.goto(f"{started.url}/delete")
    other.get_by_role("button", name="Delete").click()
    expect(started.locator(".transcript .problem")).to_contain_text("This conversation no longer exists.")
    gate.open()


def test_typing_goes_on_while_an_answer_is_written(site: RunningSite, started: Page) -> None:
    gate = Gate()
    site.backend.script(gate, *answer("late"))
    say(started, "Go")
    expect(started.get_by_role("button", name="Stop")).to_be_visible()
    say(started, "too early")
    expect(started.locator("[data-announcer]")).to_contain_text("still being written")
    expect(box(started)).to_have_value("too early")
    gate.open()
    wait_until_complete(started, 2)
    box(started).press("Enter")
    wait_until_complete(started, 3)


def test_enter_is_a_new_line_on_touch_screens(chromium: Browser, site: RunningSite, watch: Watch) -> None:
    context = chromium.new_context(
        base_url=site.url, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, locale="en-US"
    )
    watch.over(context)
    adopt_session(site, context)
    page = context.new_page()
    page.goto("/")
    coarse = page.evaluate("matchMedia('(pointer: coarse)').matches && !matchMedia('(any-pointer: fine)').matches")
    assert coarse
    box(page).tap()
    box(page).press_sequentially("one")
    box(page).press("Enter")
    box(page).press_sequentially("two")
    expect(box(page)).to_have_value("one\ntwo")
    page.get_by_role("button", name="Send").tap()
    wait_until_complete(page, 1)
    context.close()


def test_refused_choice_of_a_new_conversation_keeps_everything(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    page.goto("/")
    page.locator(".first-choices > summary").click()
    page.locator("#temperature").fill("hot")
    page.locator("#stop_sequences").fill("END\nStop")
    say(page, "Hello")
    expect(page.locator("[data-problem] .problem")).to_have_text("A temperature is a number from 0 to 2.")
    expect(box(page)).to_have_value("Hello")
    expect(page.locator("#stop_sequences")).to_have_value("END\nStop")
    page.locator("#temperature").fill("0.5")
    box(page).press("Enter")
    wait_until_complete(page, 1)
    body = site.backend.questions[-1].json()
    assert (body["temperature"], body["stop_sequences"]) == (0.5, ["END", "Stop"])
