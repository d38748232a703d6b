"""Versions of questions and answers: edit, another answer, arrows, try again, continue, copy, delete."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chat import answers, box, footer, say, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.scripted_backend import Gate, answer, delta, ending, error_reply, message_start

pytestmark = pytest.mark.browser


# Holds what the server says to a send until `letGo` is called, and counts how often an answer ends.
HOLD_SENDS = """() => {
  const real = window.fetch;
  window.fetch = async (url, options) => {
    const response = await real(url, options);
    if (String(url).endsWith("/messages")) await new Promise((go) => { window.letGo = go; });
    return response;
  };
  window.ends = 0;
  document.addEventListener("recount:ended", () => { window.ends += 1; });
}"""


@pytest.fixture
def talk(site: RunningSite, signed_in: BrowserContext, page: Page) -> Page:
    site.backend.script(*answer("First words"))
    page.goto("/")
    say(page, "A question")
    wait_until_complete(page, 1)
    return page


def test_edit_makes_a_version_and_arrows_lead_back(site: RunningSite, talk: Page) -> None:
    site.backend.script(*answer("Second words"))
    talk.get_by_role("link", name="Edit").click()
    expect(talk.get_by_label("Edit your message")).to_be_focused()
    talk.get_by_label("Edit your message").fill("A better question")
    talk.locator(".editing").get_by_role("button", name="Send").click()
    wait_until_complete(talk, 1)
    expect(talk.locator(".bubble")).to_have_text(["A better question"])
    expect(answers(talk)).to_contain_text("Second words")
    expect(talk.get_by_role("group", name="Versions")).to_contain_text("2/2")
    expect(talk.get_by_role("button", name="Next version")).to_be_disabled()

    address = talk.url
    talk.get_by_role("button", name="Previous version").press("Enter")
    expect(answers(talk)).to_contain_text("First words")
    assert talk.url == address
    expect(talk.get_by_role("button", name="Next version")).to_be_focused()
    talk.reload()
    expect(talk.locator(".bubble")).to_have_text(["A question"])

    say(talk, "Go on")
    wait_until_complete(talk, 2)
    assert [message["role"] for message in site.backend.questions[-1].json()["messages"]] == [
        "user",
        "assistant",
        "user",
    ]
    talk.get_by_role("button", name="Next version").click()
    expect(talk.locator(".bubble")).to_have_text(["A better question"])
    talk.get_by_role("button", name="Previous version").click()
    expect(talk.locator(".bubble")).to_have_text(["A question", "Go on"])


def test_another_answer_is_written_beside_the_first(site: RunningSite, talk: Page) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("Sec"), gate, delta("ond"), *ending(output_tokens=3))
    talk.get_by_role("button", name="Another answer").click()
    wait_for_live_text(talk, "Sec")
    expect(talk.get_by_role("button", name="Another answer")).to_be_hidden()
    expect(talk.get_by_role("link", name="Edit")).to_be_hidden()
    gate.open()
    wait_until_complete(talk, 1)
    expect(answers(talk)).to_contain_text("Second")
    expect(talk.get_by_role("link", name="Edit")).to_be_visible()
    talk.get_by_role("button", name="Previous version").click()
    expect(answers(talk)).to_contain_text("First words")


def test_other_branch_can_be_read_while_an_answer_is_written(site: RunningSite, talk: Page) -> None:
    first = answers(talk).get_attribute("id")
    gate = Gate()
    site.backend.script(message_start(), delta("Hidden"), gate, *ending(output_tokens=3))
    talk.get_by_role("button", name="Another answer").click()
    wait_for_live_text(talk, "Hidden")
    talk.goto(f"{talk.url.partition('#')[0]}?leaf={(first or '').removeprefix('message-')}")
    expect(answers(talk)).to_contain_text("First words")
    expect(talk.get_by_role("button", name="Stop")).to_be_visible()
    gate.open()
    expect(talk.locator("[data-dock]")).to_have_attribute("data-state", "idle")
    expect(answers(talk)).not_to_contain_text("Hidden")


def test_failed_answer_is_tried_again_in_place(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    site.backend.script(error_reply(400, "invalid_request_error"))
    page.goto("/")
    say(page, "Hello")
    wait_until_complete(page, 1)
    expect(page.get_by_text("The model server refused the request.")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(answers(page)).to_contain_text("This is answer number")
    wait_until_complete(page, 1)
    assert page.get_by_role("group", name="Versions").count() == 0


def test_cut_answer_is_continued_where_it_stopped(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    site.backend.script(*answer("One, two and thr", stop_reason="max_tokens"))
    page.goto("/")
    say(page, "Count")
    wait_until_complete(page, 1)
    gate = Gate()
    site.backend.script(message_start(), delta("ee"), gate, delta(", four"), *ending(output_tokens=3))
    page.get_by_role("button", name="Continue").click()
    wait_for_live_text(page, "One, two and three")
    page.reload()
    wait_for_live_text(page, "One, two and three")
    gate.open()
    wait_until_complete(page, 1)
    expect(page.locator(".rendered p")).to_have_text("One, two and three, four")
    assert "in 2 parts" in footer(page, 1)
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)


def test_continue_is_offered_only_at_the_end(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    site.backend.script(*answer("Cut", stop_reason="max_tokens"))
    page.goto("/")
    say(page, "One")
    wait_until_complete(page, 1)
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    say(page, "Two")
    wait_until_complete(page, 2)
    expect(page.get_by_role("button", name="Continue")).to_be_hidden()


def test_copy_takes_the_source(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    signed_in.grant_permissions(["clipboard-read", "clipboard-write"])
    site.backend.script(*answer("**bold** and `code`"))
    page.goto("/")
    say(page, "Hello")
    wait_until_complete(page, 1)
    answers(page).get_by_role("link", name="Copy", exact=True).click()
    expect(answers(page).get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "**bold** and `code`"


def test_delete_says_how_much_and_takes_it(site: RunningSite, talk: Page) -> None:
    say(talk, "More")
    wait_until_complete(talk, 2)
    answers(talk).first.get_by_role("link", name="Delete").click()
    expect(talk.get_by_text("3 messages are deleted for good")).to_be_visible()
    talk.get_by_role("button", name="Delete").click()
    expect(talk.locator(".bubble")).to_have_text(["A question"])
    talk.get_by_role("button", name="Get an answer").click()
    wait_until_complete(talk, 1)
    expect(box(talk)).to_be_visible()


def test_tab_that_is_looked_at_again_shows_what_another_one_did(
    site: RunningSite, signed_in: BrowserContext, talk: Page
) -> None:
    other = signed_in.new_page()
    other.goto(talk.url)
    say(other, "From the other tab")
    wait_until_complete(other, 2)
    expect(talk.locator(".bubble")).to_have_count(1)
    box(talk).fill("Half written")
    talk.evaluate("dispatchEvent(new Event('focus'))")
    expect(talk.locator(".bubble")).to_have_text(["A question", "From the other tab"])
    expect(box(talk)).to_have_value("Half written")
    box(talk).press("Enter")
    wait_until_complete(talk, 3)
    assert [message["role"] for message in site.backend.questions[-1].json()["messages"]] == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip


def test_tab_that_is_looked_at_again_during_a_send_follows_its_answer_once(site: RunningSite, talk: Page) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("Second "), gate, delta("words"), *ending(output_tokens=3))
    talk.evaluate(HOLD_SENDS)
    say(talk, "More")
    talk.wait_for_function("() => window.letGo")
    talk.evaluate("dispatchEvent(new Event('focus'))")
    wait_for_live_text(talk, "Second")
    talk.evaluate("letGo()")
    gate.open()
    wait_until_complete(talk, 2)
    talk.evaluate("() => { window.letGo = null; }")
    say(talk, "And more")
    talk.wait_for_function("() => window.letGo")
    talk.evaluate("letGo()")
    wait_until_complete(talk, 3)
    expect(talk.locator(".bubble")).to_have_text(["A question", "More", "And more"])
    assert talk.evaluate("window.ends") == 2
