"""Where the focus is after each step."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chat import answers, box, say, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.scripted_backend import Gate, delta, ending, message_start

pytestmark = pytest.mark.browser


def test_focus_stays_where_a_person_goes_on(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    page.goto("/")
    say(page, "One")
    wait_until_complete(page, 1)
    expect(box(page)).to_be_focused()
    say(page, "Two")
    wait_until_complete(page, 2)
    expect(box(page)).to_be_focused()

    first = page.locator("article.user").first
    first.get_by_role("link", name="Edit").press("Enter")
    expect(page.get_by_label("Edit your message")).to_be_focused()
    page.get_by_role("link", name="Cancel").press("Enter")
    expect(first.locator(".bubble")).to_have_text("One")
    page.keyboard.press("Tab")  # From the message that was not edited, not from the top of the page.
    expect(first.locator(":focus")).to_have_count(1)

    gate = Gate()
    site.backend.script(message_start(), delta("Other"), gate, *ending(output_tokens=3))
    answers(page).last.get_by_role("button", name="Another answer").press("Enter")
    wait_for_live_text(page, "Other")
    expect(page.get_by_role("log")).to_be_focused()
    gate.open()
    wait_until_complete(page, 2)

    answers(page).last.get_by_role("link", name="Delete").press("Enter")
    page.get_by_role("button", name="Delete").press("Enter")
    expect(answers(page)).to_have_count(2)
    expect(box(page)).to_be_focused()
