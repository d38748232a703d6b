"""The meter and the line of the cut keep up with the conversation while the page stays open."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chat import say, wait_until_complete
from tests.browser.conftest import RunningSite

pytestmark = pytest.mark.browser


def words_before(page: Page) -> str:
    """The beginning of the message under the line of the cut."""
    return page.locator("[data-history-cut] + article .bubble").inner_text()[:11]


def test_meter_and_cut_follow_without_a_reload(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    site.backend.models[0]["max_input_tokens"] = 3000
    page.goto("/")
    say(page, "first " + "word " * 900)
    wait_until_complete(page, 1)
    expect(page.locator(".context-meter")).to_contain_text("of 3,000 tokens")
    first = page.locator(".context-meter meter").get_attribute("value")
    say(page, "second " + "word " * 700)
    wait_until_complete(page, 2)
    expect(page.locator(".context-meter meter")).not_to_have_attribute("value", first or "")
    expect(page.locator("[data-history-cut]")).to_have_count(0)
    say(page, "third " + "word " * 600)
    expect(page.locator("[data-history-cut]")).to_be_visible()
    wait_until_complete(page, 3)
    expect(page.locator("[data-history-cut]")).to_have_count(1)
    assert words_before(page) == "second word"
    page.reload()
    expect(page.locator("[data-history-cut]")).to_have_count(1)
    assert words_before(page) == "second word"
    site.restart()
    page.reload()
    expect(page.locator(".context-meter")).to_contain_text("of 3,000 tokens")


def test_a_message_that_cannot_fit_keeps_its_text(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    site.backend.models[0]["max_input_tokens"] = 3000
    page.goto("/")
    say(page, "Hello")
    wait_until_complete(page, 1)
    long = "paste " * 2500 + "end"
    say(page, long)
    expect(page.get_by_role("alert")).to_contain_text("tokens; at most 1,976 fit beside an answer of 1,024.")
    assert page.get_by_label("Your message").input_value() == long


def test_the_warning_comes_while_a_system_prompt_is_typed(signed_in: BrowserContext, page: Page) -> None:
    page.goto("/")
    page.get_by_text("System prompt").click()
    page.locator("#system-prompt").fill("It is {{current_time}}.")
    expect(page.locator("[data-volatile]")).to_contain_text("{{current_time}} (a placeholder, line 1)")
    page.locator("#system-prompt").fill("Be nice.")
    expect(page.locator("[data-volatile]")).to_have_count(0)
