"""The main journeys in Korean, by the words that a person sees."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.app.web.site import PASSWORD, SETUP_CODE
from tests.browser.chat import answers, footer, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite, Watch
from tests.scripted_backend import Gate, answer, delta, ending, message_start

pytestmark = pytest.mark.browser


@pytest.fixture
def context(chromium: Browser, site: RunningSite, watch: Watch) -> Iterator[BrowserContext]:
    context = chromium.new_context(base_url=site.url, locale="ko-KR", timezone_id="Asia/Seoul")
    context.set_default_timeout(10_000)
    watch.over(context)
    yield context
    context.close()


def say(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="메시지", exact=True).fill(text)
    page.get_by_role("button", name="보내기").click()


@pytest.fixture
def talk(site: RunningSite, page: Page) -> Page:
    """From the first visit to the second turn."""
    page.goto(f"/setup?code={SETUP_CODE}")
    page.get_by_label("이름").fill("미나")
    page.get_by_label("비밀번호").fill(PASSWORD)
    page.get_by_role("button", name="계정 만들기").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("무엇을 물어볼까요?")
    say(page, "첫 번째 질문")
    wait_until_complete(page, 1)
    say(page, "두 번째 질문")
    wait_until_complete(page, 2)
    return page


def test_second_turn_reads_what_the_first_one_left(talk: Page) -> None:
    numbers = [
        [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", footer(talk, turn).partition("첫 토큰")[0])]
        for turn in (1, 2)
    ]
    (prompt, cached, computed, written), (_, read, *_) = ([n[0], n[1], n[-2], n[-1]] for n in numbers)
    assert (cached, computed) == (0, prompt)
    assert read == prompt + written - 1


def test_versions_lead_back_and_forth(site: RunningSite, talk: Page) -> None:
    site.backend.script(*answer("고친 질문의 답"))
    talk.get_by_role("link", name="수정").last.click()
    talk.get_by_label("메시지 수정").fill("고친 질문")
    talk.locator(".editing").get_by_role("button", name="보내기").click()
    expect(talk.locator(".bubble").last).to_have_text("고친 질문")
    wait_until_complete(talk, 2)
    talk.get_by_role("button", name="이전 버전").click()
    expect(talk.locator(".bubble").last).to_have_text("두 번째 질문")
    talk.get_by_role("button", name="다음 버전").click()
    expect(answers(talk).last).to_contain_text("고친 질문의 답")


def test_stopped_answer_is_continued_after_a_reload(site: RunningSite, talk: Page) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("안녕하"), gate, *ending(output_tokens=3))
    say(talk, "인사해 줘")
    wait_for_live_text(talk, "안녕하")
    talk.reload()
    wait_for_live_text(talk, "안녕하")
    talk.get_by_role("button", name="멈춤").click()
    wait_until_complete(talk, 3)
    assert "직접 멈춤" in footer(talk, 3)
    gate.open()
    site.backend.script(*answer("세요"))
    talk.get_by_role("button", name="이어 쓰기").click()
    expect(answers(talk).last.locator(".rendered p")).to_have_text("안녕하세요")
    wait_until_complete(talk, 3)


def test_search_finds_two_letters_and_an_export_comes_back(talk: Page, tmp_path: Path) -> None:
    talk.get_by_role("searchbox", name="검색").first.fill("질문")
    talk.get_by_role("searchbox", name="검색").first.press("Enter")
    expect(talk.locator("mark").first).to_have_text("질문")
    talk.locator(".hits a").first.click()
    talk.get_by_text("설정", exact=True).click()
    with talk.expect_download() as download:
        talk.get_by_role("link", name="JSON으로 내보내기").click()
    file = tmp_path / "conversation.json"
    download.value.save_as(file)
    talk.goto("/import")
    talk.locator("input[type=file]").set_input_files(file)
    talk.get_by_role("button", name="가져오기").click()
    expect(talk.locator(".bubble")).to_have_text(["첫 번째 질문", "두 번째 질문"])
