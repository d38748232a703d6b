"""The product as a newcomer has it: ``recount serve`` with the bundled model, and Chromium in front of it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.chat import answers, box, footer, live_text, say, wait_until_complete
from tests.browser.conftest import Watch
from tests.browser.test_journey import figures_of
from tests.processes import RECOUNT, Process, clean_environment, free_port

pytestmark = [pytest.mark.browser, pytest.mark.model]

CODE = "code-for-this-test"


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the running product. It takes long to start, so its tests share it."""
    port = free_port()
    environment = clean_environment(
        RECOUNT_PORT=str(port), RECOUNT_INFERENCE_PORT=str(free_port()), RECOUNT_SETUP_CODE=CODE
    )
    with Process(*RECOUNT, "serve", environment=environment, folder=tmp_path_factory.mktemp("product")) as process:
        process.until(lambda: f"/setup?code={CODE}" in process.output)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def newcomer(chromium: Browser, product: str) -> Iterator[BrowserContext]:
    """The browser of somebody who has just made the first account."""
    watch = Watch((product,))
    context = chromium.new_context(base_url=product, locale="en-US", timezone_id="Asia/Seoul")
    context.set_default_timeout(60_000)
    watch.over(context)
    page = context.new_page()
    page.goto(f"/setup?code={CODE}")
    page.get_by_label("Name").fill("mina")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Make the account").click()
    expect(box(page)).to_be_visible()
    page.close()
    yield context
    context.close()
    assert watch.complaints == []


@pytest.fixture
def page(newcomer: BrowserContext) -> Iterator[Page]:
    """For a new conversation."""
    page = newcomer.new_page()
    page.goto("/")
    yield page
    page.close()


def test_two_turns_on_the_bundled_model_and_the_operators_table(page: Page) -> None:
    say(page, "What is the capital of France? One word.")
    wait_until_complete(page, 1, seconds=120)
    expect(answers(page).first).to_contain_text("Paris")
    first = figures_of(footer(page, 1))
    assert first[1] == 0
    assert first[0] == first[2] > 0

    say(page, "And of Japan?")
    wait_until_complete(page, 2, seconds=120)
    second = figures_of(footer(page, 2))
    assert second[1] == first[0] + first[3] - 1
    assert re.search(r"first token [\d.]+ (ms|s)", footer(page, 2))

    page.goto("/operator/conversations")
    page.locator("tbody a").first.click()
    rows = page.locator("table[data-turns] tbody tr")
    expect(rows).to_have_count(2)
    for row, figures in zip(rows.all(), (first, second), strict=True):
        cells = [row.locator(f"[data-cell={n}]").inner_text() for n in ("prompt", "cached", "computed", "written")]
        assert [int(cell) for cell in cells] == list(figures)
    expect(rows.nth(1).locator("[data-cell=shortfall]")).to_have_text("0")
    expect(page.get_by_text("Paris")).to_have_count(0)


def test_reload_and_stop_in_mid_answer_on_the_bundled_model(page: Page) -> None:
    say(page, "Tell me a very long story about a lighthouse keeper, with many details.")
    seen = ""
    for _ in range(3):
        page.wait_for_function(
            "length => (document.querySelector('article.live [data-text]')?.textContent.length ?? 0) > length",
            arg=len(seen) + 20,
        )
        before = live_text(page)
        assert before.startswith(seen)
        page.reload()
        page.wait_for_selector("article.live [data-text]")
        seen = live_text(page)
        assert seen.startswith(before)
    page.get_by_role("button", name="Stop").click()
    wait_until_complete(page, 1)
    stopped = footer(page, 1)
    assert "stopped by you" in stopped
    assert (
        "written: not known (ended early)" in stopped
    )  # Nobody had said how many tokens there were when the stop came.
    first_prompt = int(stopped.split(" prompt tokens")[0])

    choose_length(page, 20)  # The model may well take the thanks for a reason to write another long story.
    say(page, "Thank you. Stop here.")
    wait_until_complete(page, 2, seconds=120)
    _, cached, _, _ = figures_of(footer(page, 2))
    assert cached > first_prompt + len(seen) // 20  # The stopped answer itself was read from the cache, too.
    expect(answers(page).first).to_contain_text(seen.split("\n")[0][:40])
    expect(box(page)).to_be_focused()


def test_cut_answer_is_continued_from_the_cache_on_the_bundled_model(page: Page) -> None:
    say(page, "Say hello. One word.")
    wait_until_complete(page, 1, seconds=120)
    choose_length(page, 8)
    say(page, "Tell me a very long story about a lighthouse keeper, with many details.")
    wait_until_complete(page, 2, seconds=120)
    assert "stopped at the limit" in footer(page, 2)
    source = answers(page).last.get_by_role("link", name="Copy", exact=True).get_attribute("href") or ""
    first_part = page.request.get(source).text()
    page.get_by_role("button", name="Continue").click()
    expect(answers(page).last.locator(".figures summary")).to_contain_text("in 2 parts", timeout=120_000)
    both_parts = page.request.get(source).text()
    assert both_parts.startswith(first_part)
    assert len(both_parts) > len(first_part) > 0

    page.goto(page.url.partition("#")[0].replace("/conversations/", "/operator/conversations/"))
    rows = page.locator("table[data-turns] tbody tr")
    expect(rows).to_have_count(3)
    cut, more = (
        [count_in(row.locator(f"[data-cell={name}]")) for name in ("prompt", "cached", "computed", "written")]
        for row in rows.all()[1:]
    )
    assert cut[3] == 8
    assert 1 <= more[3] <= 8  # The model may find an end by itself.
    assert more[0] == cut[0] + cut[3]
    assert more[1] == more[0] - 1  # All but the token that has to be computed to go on.


def count_in(cell: Locator) -> int:
    """The first answer may be long, whatever was asked for."""
    return int(cell.inner_text().replace(",", ""))


def choose_length(page: Page, tokens: int) -> None:
    page.get_by_text("Settings").click()
    page.get_by_role("link", name="Model and parameters").click()
    page.get_by_label("Longest answer, in tokens").fill(str(tokens))
    page.locator("form.choices button[type=submit]").click()
    expect(box(page)).to_be_visible()
