"""Markdown while it is written: no bare markup, no jump, and in the end what a reload shows."""

import itertools

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chat import answers, say, wait_for_live_text, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.browser.test_streaming import STARTED
from tests.scripted_backend import Gate, delta, ending

pytestmark = pytest.mark.browser

TEXT = """# A *small* report

Some **bold words** and `code`, a [link](https://example.org) and an ![image of 😀](https://example.org/x.png) here.

1. **First**: do this
2. **Second**: do that
   - a nested point
   - another `one`

| Name | Value |
|------|------:|
| a **b** | 1 |
| c | 22 |

```python
def f(x):
    return x ** 2  # **not bold**
```

> A quote with **emphasis**
> that goes on.

    indented | code

끝.
"""
# Looks at the running answer in each frame: its height, what is to be read outside of code, and its code boxes.
WATCH = """() => {
  window.seen = [];
  const look = () => {
    const answer = document.querySelector("article.live [data-text]");
    if (answer) {
      const copy = answer.cloneNode(true);
      for (const button of copy.querySelectorAll("button")) button.remove();
      const code = [...copy.querySelectorAll("pre")].map((box) => box.textContent);
      for (const part of copy.querySelectorAll("pre, code")) part.remove();
      window.seen.push({ words: copy.textContent, code, height: answer.getBoundingClientRect().height });
    }
    requestAnimationFrame(look);
  };
  look();
}"""
BARE = ["```", "**", "|--", "| ", "](", "# ", "> ", "`", "\ue000"]
# Copy buttons are put into the page by our script, on a reload as well as while an answer is written.
FINISHED = """element => [...element.childNodes].filter((node) => node.className !== "open")
  .map((node) => node.outerHTML ?? node.data).join("")"""


def pieces_of(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(0, len(text), length)]


def test_answer_by_small_pieces_shows_no_markup_and_does_not_jump(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    pieces = pieces_of(TEXT, 7)
    gates = [Gate() for _ in pieces]
    steps = [step for piece, gate in zip(pieces, gates, strict=True) for step in (gate, delta(piece))]
    last = Gate()
    site.backend.script(STARTED, *steps, last, *ending(output_tokens=99))
    page.goto("/")
    say(page, "Report")
    gates[0].wait_arrived()
    page.wait_for_selector("article.live")
    page.evaluate(WATCH)
    for number, gate in enumerate(gates):
        gate.wait_arrived()
        gate.open()
        page.wait_for_timeout(25)
        if "".join(pieces[: number + 1]).endswith("    return "):
            expect(page.locator("article.live pre code")).to_have_text("def f(x):\n    return ")
    expect(page.locator("article.live [data-text] > pre, article.live .code-frame")).to_have_count(2)
    expect(page.locator("article.live")).to_contain_text("끝.")
    page.wait_for_function("() => document.querySelectorAll('article.live .copy-code').length === 2")
    shown = page.locator("article.live [data-text]").evaluate("element => element.getBoundingClientRect().height")
    last.open()
    wait_until_complete(page, 1)
    seen = page.evaluate("window.seen")
    assert len(seen) > 20
    for sample in seen:
        assert not [mark for mark in BARE if mark in sample["words"]], sample["words"]
        assert not [code for code in sample["code"] if "```" in code]
    line = page.locator(".answer p").first.evaluate("element => parseFloat(getComputedStyle(element).lineHeight)")
    heights = [sample["height"] for sample in seen]
    assert all(after > before - 1.05 * line for before, after in itertools.pairwise(heights))
    assert max(heights) - heights[-1] <= 1.05 * line
    settled = answers(page).locator(".answer")
    assert settled.evaluate("element => element.getBoundingClientRect().height") == pytest.approx(shown, abs=0.5)
    live = settled.inner_html()
    page.reload()
    assert answers(page).locator(".answer").inner_html() == live


def test_finished_part_of_a_running_answer_is_the_settled_one(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    gate = Gate()
    site.backend.script(STARTED, *map(delta, pieces_of(TEXT + "\n", 3)), gate, *ending(output_tokens=99))
    page.goto("/")
    say(page, "Report")
    gate.wait_arrived()
    page.wait_for_function(
        "() => document.querySelector('article.live [data-text]')?.lastElementChild.textContent === ''"
    )
    expect(page.locator("article.live")).to_contain_text("끝.")
    streamed = page.locator("article.live [data-text]").evaluate(FINISHED)
    page.reload()
    reloaded = page.locator("article.live [data-text]").evaluate(FINISHED)
    gate.open()
    wait_until_complete(page, 1)
    settled = answers(page).locator(".answer").evaluate(FINISHED)
    assert streamed == reloaded == settled
    image = answers(page).locator(".blocked-image")
    assert "Image not loaded: " in image.evaluate("element => getComputedStyle(element, '::before').content")


def test_reload_in_mid_code_goes_on_in_the_same_box(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    lines = ["Look:\n\n```js\nconst a = ", "`x`;\n", "``", "\n\n", "last();\n", "```", "\n\nThat **was", "** it."]
    shown = [
        "Look:\nconst a =",
        "Look:\nconst a = `x`;",
        "Look:\nconst a = `x`;",
        "Look:\nconst a = `x`;\n``",
        "Look:\nconst a = `x`;\n``\n\nlast();",
        "Look:\nconst a = `x`;\n``\n\nlast();",
        "Look:\nconst a = `x`;\n``\n\nlast();\n\nThat was",
        "Look:\nconst a = `x`;\n``\n\nlast();\n\nThat was it.",
    ]
    gates = [Gate() for _ in lines]
    steps = [step for line, gate in zip(lines, gates, strict=True) for step in (delta(line), gate)]
    site.backend.script(STARTED, *steps, *ending(output_tokens=9))
    page.goto("/")
    say(page, "Code")
    page.wait_for_selector("article.live")
    page.add_init_script("delete Navigator.prototype.clipboard")  # No copy buttons, so that only the text is there.
    for so_far, gate in zip(shown, gates, strict=True):
        gate.wait_arrived()
        page.reload()
        wait_for_live_text(page, so_far)
        expect(page.locator("article.live pre")).to_have_attribute("data-language", "js")
        gate.open()
    wait_until_complete(page, 1)
    assert answers(page).locator("pre").inner_text() == "const a = `x`;\n``\n\nlast();\n"


def test_answer_that_grows_too_long_goes_on_as_plain_text(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    long, gate, last = "word " * 13_000, Gate(), Gate()
    site.backend.script(
        STARTED, delta("**Bold**\n\n"), gate, delta(long), delta("*end*"), last, *ending(output_tokens=9)
    )
    page.goto("/")
    say(page, "Long")
    expect(page.locator("article.live strong")).to_have_text("Bold")
    gate.open()
    last.wait_arrived()
    wait_for_live_text(page, f"**Bold**\n\n{long}*end*")
    expect(page.locator("article.live .plain")).to_have_count(1)
    page.reload()
    wait_for_live_text(page, f"**Bold**\n\n{long}*end*")
    last.open()
    wait_until_complete(page, 1)
    expect(answers(page).locator(".answer.plain")).to_have_count(1)
