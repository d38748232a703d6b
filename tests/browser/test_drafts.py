"""What is half written stays in this browser until it is sent, and is nobody else's."""

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.app.web.site import PASSWORD
from tests.browser.chat import box, say, wait_until_complete
from tests.browser.conftest import RunningSite

pytestmark = pytest.mark.browser

DRAFTS = "() => Object.keys(localStorage).filter((key) => key.startsWith('draft:')).length"


def again(page: Page, address: str) -> Page:
    """The tab is closed, and another one is opened."""
    context = page.context
    page.close()
    page = context.new_page()
    page.goto(address)
    return page


def edit(page: Page) -> None:
    page.get_by_role("link", name="Edit").first.click()
    expect(page.get_by_label("Edit your message")).to_be_focused()


def test_drafts_outlive_their_tab_until_they_are_sent(signed_in: BrowserContext, page: Page) -> None:
    asked: list[Request] = []
    signed_in.on("request", lambda request: asked.append(request))
    page.goto("/")
    say(page, "Hello")
    wait_until_complete(page, 1)
    address = page.url
    box(page).fill("half a thou")
    edit(page)
    page.get_by_label("Edit your message").fill("Hello, half")
    page = again(page, "/")
    expect(box(page)).to_have_value("")
    box(page).fill("quite another")
    page = again(page, address)
    expect(box(page)).to_have_value("half a thou")
    edit(page)
    expect(page.get_by_label("Edit your message")).to_have_value("Hello, half")
    assert not any("half" in (request.post_data or "") + request.url for request in asked)

    page.locator(".editing").get_by_role("button", name="Send").click()
    wait_until_complete(page, 1)
    expect(page.locator(".bubble")).to_have_text(["Hello, half"])
    assert page.evaluate(DRAFTS) == 2
    box(page).press("Enter")
    wait_until_complete(page, 2)
    assert page.evaluate(DRAFTS) == 1

    edit(page)
    page.get_by_label("Edit your message").fill("not worth it")
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_label("Edit your message")).to_be_hidden()
    page.wait_for_load_state()
    assert page.evaluate(DRAFTS) == 1
    box(page).fill("for nobody")
    page.goto(f"{address}/delete")
    page.get_by_role("button", name="Delete").click()
    expect(box(page)).to_have_value("quite another")
    assert page.evaluate(DRAFTS) == 1


def test_drafts_are_bounded_and_only_their_writers(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    page.goto("/")
    page.evaluate("""() => {
        const mine = `draft:${document.body.dataset.draftsOf}:`;
        for (let i = 0; i < 60; i++) localStorage.setItem(`${mine}/conversations/${i}`, '{"text": "x", "at": 1}');
        localStorage.setItem("draft:somebody-else:/", '{"text": "theirs", "at": 1}');
    }""")
    page.reload()
    expect(box(page)).to_have_value("")
    box(page).fill("mine")
    assert page.evaluate(DRAFTS) == 50
    assert page.evaluate("() => Object.values(localStorage).join()").count("theirs") == 0
    page.reload()
    expect(box(page)).to_have_value("mine")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate(DRAFTS) == 0

    site.user("jun")
    page.get_by_label("Name").fill("jun")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(box(page)).to_have_value("")
