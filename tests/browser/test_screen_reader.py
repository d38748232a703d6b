"""What a screen reader is told while an answer is written, and where the focus is after each step."""

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chat import answers, box, say, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite, Watch, adopt_session
from tests.scripted_backend import Gate, delta, ending, message_start

pytestmark = pytest.mark.browser

LISTEN = """() => {
  window.heard = [];
  const announcer = document.querySelector("[data-announcer]");
  new MutationObserver(() => window.heard.push(announcer.textContent)).observe(announcer, { childList: true });
}"""
SPEAKS = ":is([role=status], [role=alert], [role=log], output, [aria-live]):not([aria-live=off])"


@pytest.mark.parametrize(
    ("locale", "label", "told"),
    [
        ("en-US", "Your message", ["Answering.", "The answer is complete."]),
        ("ko-KR", "메시지", ["답변을 쓰기 시작했습니다.", "답변이 완성되었습니다."]),
    ],
)
def test_beginning_and_end_are_told_and_nothing_between(
    chromium: Browser, site: RunningSite, watch: Watch, locale: str, label: str, told: list[str]
) -> None:
    context = chromium.new_context(base_url=site.url, locale=locale)
    watch.over(context)
    adopt_session(site, context)
    page = context.new_page()
    page.goto("/")
    message = page.get_by_role("textbox", name=label, exact=True)
    message.fill("One")
    message.press("Enter")
    wait_until_complete(page, 1)
    page.evaluate(LISTEN)
    gates = [Gate(), Gate()]
    site.backend.script(message_start(), delta("Some "), gates[0], delta("more"), gates[1], *ending(output_tokens=3))
    message.fill("Two")
    message.press("Enter")
    for text, gate in zip(("Some", "Some more"), gates, strict=True):
        wait_for_live_text(page, text)
        assert page.get_by_role("status").count() == 1
        assert page.get_by_role("status").inner_text() == told[0]
        assert page.locator(SPEAKS).count() == 1
        gate.open()
    wait_until_complete(page, 2)
    assert page.evaluate("window.heard") == told
    assert page.locator(SPEAKS).count() == 1
    context.close()


def test_focus_stays_where_a_person_goes_on(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    gates = [Gate(), Gate()]
    for gate in gates:
        site.backend.script(message_start(), delta("Begun"), gate, *ending(output_tokens=3))
    page.goto("/")
    say(page, "One")
    wait_for_live_text(page, "Begun")
    expect(box(page)).to_be_focused()
    gates[0].open()
    wait_until_complete(page, 1)
    expect(box(page)).to_be_focused()
    say(page, "Two")
    wait_for_live_text(page, "Begun")
    page.get_by_role("button", name="Stop").press("Enter")
    wait_until_complete(page, 2)
    expect(box(page)).to_be_focused()
    gates[1].open()

    first = page.locator("article.user").first
    first.get_by_role("link", name="Edit").press("Enter")
    expect(page.get_by_label("Edit your message")).to_be_focused()
    page.get_by_role("link", name="Cancel").press("Enter")
    expect(first.locator(".bubble")).to_have_text("One")
    page.wait_for_load_state()
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
