"""A wide desktop: nothing scrolls sideways, and lines stay short enough to be read."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize

from tests.browser.gallery import PAGES, open_gallery, scrolls_sideways

pytestmark = pytest.mark.browser

SHOWN = ("new", "conversation", "conversation-korean", "conversation-settings", "choices", "list", "account", "help",
         "operator-conversation", "people")  # fmt: skip
# How many letters of its own font, as wide as a zero, the element has room for in a line.
LETTERS = """element => {
  const probe = document.createElement("span");
  probe.textContent = "0".repeat(100);
  Object.assign(probe.style, { position: "absolute", whiteSpace: "nowrap" });
  element.append(probe);
  const letter = probe.getBoundingClientRect().width / 100;
  probe.remove();
  return element.getBoundingClientRect().width / letter;
}"""


def test_text_column_is_readable_on_a_wide_screen(chromium: Browser, tmp_path: Path) -> None:
    widths: list[float] = []
    with open_gallery(tmp_path) as gallery:
        context = gallery.context(chromium, "en-US", "light", 1920, operator=True)
        page = context.new_page()
        page.set_viewport_size(ViewportSize(width=1920, height=1080))
        for listed in PAGES:
            if listed.name in SHOWN:
                gallery.show(listed, page)
                assert not scrolls_sideways(page), listed.name
                widths += [text.evaluate(LETTERS) for text in page.locator("main .answer p:visible").all()]
        context.close()
    assert 50 < min(widths) <= max(widths) < 90, widths
