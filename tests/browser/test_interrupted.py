"""Answers that broke off: what is offered depends on what happened and on what the model server can do."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.settings import Backend
from tests.browser.chat import answers, footer, say, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.scripted_backend import Gate, answer, delta, ending, message_start

pytestmark = pytest.mark.browser


def break_off(site: RunningSite, page: Page, text: str) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("Half an ans"), gate, *ending(output_tokens=3))
    say(page, text)
    wait_for_live_text(page, "Half an ans")
    site.restart()
    gate.open()


def test_interrupted_answer_is_continued_or_tried_again(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    page.goto("/")
    break_off(site, page, "First")
    wait_until_complete(page, 1, seconds=15)
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    site.backend.script(*answer("wer"))
    page.get_by_role("button", name="Continue").click()
    expect(answers(page).locator(".rendered p")).to_have_text("Half an answer")
    wait_until_complete(page, 1)
    assert "finished" in footer(page, 1)
    assert "in 2 parts" in footer(page, 1)
    for name in ("Continue", "Try again"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)

    break_off(site, page, "Second")
    wait_until_complete(page, 2, seconds=15)
    site.backend.script(*answer("A whole one"))
    page.get_by_role("button", name="Try again").click()
    expect(answers(page).last.locator(".rendered p")).to_have_text("A whole one")
    wait_until_complete(page, 2)
    assert "finished" in footer(page, 2)
    expect(page.get_by_role("group", name="Versions")).to_contain_text("2/2")  # The half one stays beside it.
    assert [message["role"] for message in site.backend.questions[-1].json()["messages"]] == [
        "user", "assistant", "user",
    ]  # fmt: skip


def test_a_server_that_cannot_go_on_is_told_in_place_of_continue(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    site.backend.script(*answer("Cut", stop_reason="max_tokens"))
    page.goto("/")
    say(page, "Count")
    wait_until_complete(page, 1)
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    site.restart(backends=(Backend(name="scripted", base_url=site.backend_url, prefill=False),))
    page.reload()
    expect(answers(page)).to_contain_text("The model server cannot continue an answer.")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)
    expect(page.get_by_role("button", name="Another answer")).to_be_visible()
    say(page, "Go on")
    wait_until_complete(page, 2)
    expect(page.get_by_text("cannot continue an answer")).to_be_hidden()


def test_getting_an_answer_is_offered_only_at_the_end(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    page.goto("/")
    say(page, "One")
    wait_until_complete(page, 1)
    answers(page).get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("button", name="Get an answer")).to_be_visible()
    say(page, "Two")
    wait_until_complete(page, 1)
    expect(page.get_by_role("button", name="Get an answer")).to_be_hidden()
