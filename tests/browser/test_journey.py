"""The main job from an empty server on: first account, two turns, their figures, the operator's table."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.app.web.site import PASSWORD, SETUP_CODE
from tests.browser.chat import answers, box, footer, say, wait_until_complete
from tests.browser.conftest import RunningSite

pytestmark = pytest.mark.browser

FIGURES = re.compile(
    r"([\d,]+) prompt tokens, ([\d,]+) from cache \(([<>]?\d+)%\), ([\d,]+) computed · ([\d,]+) written"
)


def figures_of(line: str) -> tuple[int, int, int, int]:
    """Prompt, cached, computed, written."""
    found = FIGURES.search(line)
    assert found is not None, line
    prompt, cached, _, computed, written = (int(number.replace(",", "")) for number in found.groups())
    return prompt, cached, computed, written


def test_from_setup_to_the_operators_table(site: RunningSite, page: Page) -> None:
    page.goto(f"/setup?code={SETUP_CODE}")
    page.get_by_label("Name").fill("mina")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What would you like to ask?")
    expect(box(page)).to_be_focused()

    say(page, "First question")
    expect(page.get_by_role("heading", level=1)).to_have_text("First question")
    wait_until_complete(page, 1)
    first = figures_of(footer(page, 1))
    assert first[1] == 0
    assert first[0] == first[2]

    say(page, "Second question")
    wait_until_complete(page, 2)
    expect(answers(page).nth(1)).to_contain_text("This is answer number 2.")
    assert page.locator("article").count() == 4
    second = figures_of(footer(page, 2))
    assert second[1] == first[0] + first[3] - 1
    assert second[0] == second[1] + second[2]
    assert "finished" in footer(page, 2)
    assert "first token" in footer(page, 2)

    answers(page).nth(1).locator("summary").click()
    expect(answers(page).nth(1).locator("dl")).to_contain_text("Expected from cache")
    page.get_by_text("Time note").first.click()
    expect(page.locator(".note .plain").first).to_contain_text("Asia/Seoul")

    page.get_by_text("Settings").click()
    page.get_by_role("link", name="Cache figures of every turn").click()
    cells = page.locator("table[data-turns] tbody tr")
    expect(cells).to_have_count(2)
    for row, figures in zip(cells.all(), (first, second), strict=True):
        shown = [
            row.locator(f"[data-cell={name}]").inner_text() for name in ("prompt", "cached", "computed", "written")
        ]
        assert [int(value) for value in shown] == list(figures)
    expect(cells.nth(1).locator("[data-cell=expected]")).to_have_text(str(second[1]))
    expect(cells.nth(1).locator("[data-cell=shortfall]")).to_have_text("0")
    expect(page.locator(".chart rect[data-turn]")).to_have_count(3)


def test_sign_out_and_in_again(site: RunningSite, signed_in: object, page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("mina")
    page.get_by_label("Password").fill("wrong password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(box(page)).to_be_visible()


def test_rename_system_prompt_and_delete(site: RunningSite, signed_in: object, page: Page) -> None:
    page.goto("/")
    say(page, "Hello there")
    wait_until_complete(page, 1)
    page.get_by_text("Settings").click()
    page.get_by_label("Title").fill("Greetings")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Greetings")
    page.get_by_text("Settings").click()
    page.get_by_label("System prompt").fill("Be terse.")
    page.get_by_role("button", name="Save system prompt").click()
    say(page, "Again")
    wait_until_complete(page, 2)
    assert site.backend.questions[-1].json()["system"] == "Be terse."
    page.get_by_text("Settings").click()
    page.get_by_role("link", name="Delete this conversation").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No conversations yet.")).to_be_visible()
