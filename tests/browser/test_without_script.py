"""Everything that can be done with messages, in a browser that runs no script."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.web.site import PASSWORD
from tests.browser.chat import answers, box
from tests.browser.conftest import RunningSite
from tests.scripted_backend import Gate, answer, delta, ending, error_reply, message_start

pytestmark = pytest.mark.browser


@pytest.fixture
def page(chromium: Browser, site: RunningSite) -> Iterator[Page]:
    """Signed in by the form."""
    site.set_up()
    context = chromium.new_context(base_url=site.url, java_script_enabled=False, locale="en-US")
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Name").fill("mina")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    yield page
    context.close()


def send(page: Page, text: str) -> None:
    box(page).fill(text)
    page.get_by_role("button", name="Send").click()
    settle(page)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).last.click()
    settle(page)


def settle(page: Page) -> None:
    """Reloads faster than the page does by itself, until nothing is written any more."""
    for _ in range(200):
        if page.locator("meta[http-equiv=refresh]").count() == 0:
            return
        page.reload()
    raise TimeoutError("the answer is still being written")


def see_bubbles(page: Page, *words: str) -> None:
    expect(page.locator(".bubble")).to_have_text(list(words))


def test_stopped_cut_and_failed_answers_go_on(site: RunningSite, page: Page) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("Beg"), delta("un"), gate, *ending(output_tokens=3))
    box(page).fill("First")
    page.get_by_role("button", name="Send").click()
    gate.wait_arrived()
    expect(page.locator("article.live")).to_contain_text("Begun")  # The page comes again by itself.
    assert page.get_by_role("link", name="Edit").is_hidden()
    press(page, "Stop")
    expect(page.locator(".figures summary")).to_contain_text("stopped by you")
    gate.open()

    site.backend.script(*answer(" and cut", stop_reason="max_tokens"))
    press(page, "Continue")
    expect(answers(page).locator(".rendered p")).to_have_text("Begun and cut")
    site.backend.script(*answer(" and done"))
    press(page, "Continue")
    expect(answers(page).locator(".rendered p")).to_have_text("Begun and cut and done")
    expect(page.locator(".figures summary")).to_contain_text("in 3 parts")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)

    site.backend.script(error_reply(400, "invalid_request_error"))
    send(page, "Second")
    expect(answers(page).last.locator(".problem")).to_have_text("The model server refused the request.")
    site.backend.script(*answer("Right now"))
    press(page, "Try again")
    expect(answers(page).last.locator(".rendered p")).to_have_text("Right now")
    assert page.get_by_role("group", name="Versions").count() == 0
    see_bubbles(page, "First", "Second")


def test_versions_are_made_read_and_deleted(site: RunningSite, page: Page) -> None:
    for words in ("Old answer", "New answer", "Newest answer"):
        site.backend.script(*answer(words))
    send(page, "Old question")
    old = (answers(page).get_attribute("id") or "").removeprefix("message-")

    page.get_by_role("link", name="Edit").click()
    page.wait_for_url("**?edit=*")
    assert page.get_by_label("Edit your message").input_value() == "Old question"
    page.get_by_role("link", name="Cancel").click()
    see_bubbles(page, "Old question")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Edit your message").fill("New question")
    page.locator(".editing").get_by_role("button", name="Send").click()
    settle(page)
    see_bubbles(page, "New question")
    expect(answers(page)).to_contain_text("New answer")

    address = page.url.partition("#")[0].partition("?")[0]
    page.goto(f"{address}?leaf={old}")
    see_bubbles(page, "Old question")
    page.goto(address)  # Reading another branch has chosen none.
    see_bubbles(page, "New question")
    press(page, "Another answer")
    expect(answers(page)).to_contain_text("Newest answer")
    press(page, "Previous version")
    expect(answers(page)).to_contain_text("New answer")

    page.get_by_role("group", name="Versions").first.get_by_role("button", name="Previous version").click()
    expect(answers(page)).to_contain_text("Old answer")
    page.goto(address)
    see_bubbles(page, "Old question")
    page.get_by_role("link", name="Delete").first.click()
    expect(page.get_by_text("2 messages are deleted for good")).to_be_visible()
    page.get_by_role("link", name="Keep it").click()
    see_bubbles(page, "Old question")
    page.locator("article.user").get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    see_bubbles(page, "New question")
