"""What a person does and sees in the chat."""

import re

from playwright.sync_api import Locator, Page, expect


def box(page: Page) -> Locator:
    return page.get_by_label("Your message")


def say(page: Page, text: str) -> None:
    box(page).fill(text)
    box(page).press("Enter")


def answers(page: Page) -> Locator:
    return page.locator("article.assistant")


def live_text(page: Page) -> str:
    """What is to be read of the running answer."""
    return page.locator("article.live [data-text]").evaluate("element => element.textContent").strip()


def wait_for_live_text(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('article.live [data-text]')?.textContent.trim() === text", arg=text
    )


def footer(page: Page, number: int) -> str:
    """The line under the answer with this number, once it is there."""
    summary = answers(page).nth(number - 1).locator(".figures summary")
    expect(summary).to_be_visible()
    return re.sub(r"\s+", " ", summary.inner_text()).strip()


def wait_until_complete(page: Page, count: int, *, seconds: float = 5) -> None:
    expect(page.locator("article.assistant[data-status]")).to_have_count(count, timeout=1000 * seconds)
    expect(page.locator("[data-dock]")).to_have_attribute("data-state", "idle")
    page.wait_for_load_state()  # An answer may be there before the script that sends the next message.


def markup(page: Page, number: int) -> str:
    """The whole HTML of an answer but for the keys of its forms, which are new on every page."""
    html = answers(page).nth(number - 1).inner_html()
    return re.sub(r'(name="submission_key" value=")[^"]+', r"\1", html)
