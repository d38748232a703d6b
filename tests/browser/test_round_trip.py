"""A conversation with every kind of turn goes out as a file and comes back; both are what was really sent."""

import json
import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chat import answers, say, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.processes import RECOUNT, clean_environment
from tests.scripted_backend import answer, error_reply

pytestmark = pytest.mark.browser

OLDER = "Previous version"


def every_kind_of_turn(site: RunningSite, page: Page) -> None:
    """Edited, answered twice, tried again, continued; all by the buttons."""
    page.goto("/")
    site.backend.script(*answer("이전 답"))
    say(page, "이전 질문")
    wait_until_complete(page, 1)
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Edit your message").fill("고친 질문 👋🏽")
    site.backend.script(*answer("```py\nx = 1\n```\n"))
    page.locator(".editing").get_by_role("button", name="Send").click()
    wait_until_complete(page, 1)
    site.backend.script(*answer("하나, 둘, ", stop_reason="max_tokens"))
    page.get_by_role("button", name="Another answer").click()
    expect(answers(page)).to_contain_text("하나, 둘,")
    wait_until_complete(page, 1)
    site.backend.script(*answer("셋"))
    page.get_by_role("button", name="Continue").click()
    expect(answers(page)).to_contain_text("하나, 둘, 셋")
    wait_until_complete(page, 1)
    site.backend.script(error_reply(400, "invalid_request_error"))
    say(page, "더")
    wait_until_complete(page, 2)
    site.backend.script(*answer("넷"))
    page.get_by_role("button", name="Try again").click()
    expect(answers(page).last).to_contain_text("넷")
    wait_until_complete(page, 2)


def branches(page: Page, see: Callable[[], object]) -> list[object]:
    """What `see` finds on each branch, from the one that is open backwards."""
    seen = [see()]
    for group in (1, 0):  # The answer's versions, then the question's.
        versions = page.get_by_role("group", name="Versions").nth(group)
        before = versions.inner_text()
        versions.get_by_role("button", name=OLDER).click()
        expect(page.get_by_role("group", name="Versions").nth(group)).not_to_have_text(before)
        seen.append(see())
    return seen


def test_import_has_every_branch_and_what_was_sent_is_verified(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    every_kind_of_turn(site, page)
    page.get_by_text("Settings").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as JSON").click()
    content = download.value.path().read_bytes()
    assert {turn["kind"] for turn in json.loads(content)["turns"]} == {
        "question",
        "edit",
        "regenerate",
        "continue",
        "retry",
    }

    def see() -> object:
        texts = page.locator("article :is(.bubble, .answer)").all_inner_texts()
        return (
            texts,
            page.locator(".figures summary").all_inner_texts(),
            page.locator(".branch-place").all_inner_texts(),
        )

    original = page.url.partition("#")[0]
    page.goto("/import")
    page.get_by_label("File").set_input_files({"name": "x.json", "mimeType": "application/json", "buffer": content})
    page.get_by_role("button", name="Import").click()
    expect(page.locator(".bubble")).to_have_text(["고친 질문 👋🏽", "더"])
    imported = page.url.partition("#")[0]
    assert imported != original
    came_back = branches(page, see)
    page.goto(original)
    assert branches(page, see) == came_back
    page.goto(imported)
    expect(page.locator(".bubble")).to_have_text(["이전 질문"])
    say(page, "이어서")
    wait_until_complete(page, 2)
    assert verified(site).startswith("13 turns: 13 match, 0 differ, ")  # The imported ones, too.


def verified(site: RunningSite) -> str:
    environment = clean_environment(RECOUNT_DATABASE_URL=f"sqlite:///{site.database_file}")
    result = subprocess.run([*RECOUNT, "verify"], env=environment, capture_output=True, text=True, check=True)
    return result.stdout.strip().splitlines()[-1]
