"""Reloads at any moment of an answer that does not wait for them."""

import asyncio
import random

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chat import answers, live_text, markup, say, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.scripted_backend import Gate, delta, ending, message_start

pytestmark = pytest.mark.browser

TEXT = """# 서울의 하루

아침에는 **안개**가 끼고, 낮에는 `맑음`이다 ☀️. 가족 👩‍👩‍👧‍👦과 함께 🇰🇷 걷는다.

- 하나: 경복궁
- 둘: *남산* & <타워>
  1. 걸어서
  2. 버스로

```python
def 인사(이름: str) -> str:
    if not 이름:

        return "```" + "👋🏽"
    return f"안녕, {이름}"
```

| 때 | 곳 |
|----|----|
| 낮 | 한강 |

끝 🎉.
"""


class Pause(Gate):
    """Opens by itself after a while."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def pass_through(self) -> None:
        await asyncio.sleep(self._seconds)


def irregular_pieces(text: str, chance: random.Random) -> list[str]:
    pieces = []
    while text:
        length = chance.choice((1, 1, 2, 3, 5, 8))
        pieces.append(text[:length])
        text = text[length:]
    return pieces


def test_reloads_at_random_moments_lose_and_repeat_nothing(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    chance = random.Random(20)
    last = Gate()  # So that the answer outlasts the reloads on any machine; nothing else waits for them.
    steps = [step for piece in irregular_pieces(TEXT, chance) for step in (delta(piece), Pause(chance.uniform(0, 0.1)))]
    site.backend.script(message_start(), *steps, last, *ending(output_tokens=99))
    page.goto("/")
    say(page, "하루")
    page.wait_for_selector("article.live")
    lengths = []
    for _ in range(10):
        page.wait_for_timeout(chance.uniform(0, 150))
        page.reload(wait_until=chance.choice(("commit", "domcontentloaded", "load")))
        page.wait_for_selector("article.live [data-text]")
        lengths.append(len(live_text(page)))
    assert len(set(lengths)) > 3
    last.open()
    wait_until_complete(page, 1, seconds=15)
    source = answers(page).get_by_role("link", name="Copy", exact=True).get_attribute("href")
    assert page.request.get(source or "").text() == TEXT
    followed = markup(page, 1)
    fresh = signed_in.new_page()
    fresh.goto(page.url)
    expect(answers(fresh).locator(".copy-code")).to_be_visible()
    assert markup(fresh, 1) == followed
    assert len(site.backend.questions) == 1
