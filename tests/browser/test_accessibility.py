"""What axe-core finds on every listed page, and whether one is too wide: both languages, both themes, both widths."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Watch
from tests.browser.gallery import PAGES, Gallery, ListedPage, Scheme, open_gallery, scrolls_sideways

pytestmark = pytest.mark.browser

AXE = Axe()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    with open_gallery(tmp_path_factory.mktemp("gallery")) as gallery:
        yield gallery


@pytest.mark.parametrize(
    ("language", "scheme", "width"),
    [("en-US", "light", 1280), ("en-US", "dark", 360), ("ko-KR", "light", 360), ("ko-KR", "dark", 1280)],
)
def test_axe_finds_nothing_and_no_page_scrolls_sideways(
    chromium: Browser, gallery: Gallery, language: str, scheme: Scheme, width: int
) -> None:
    found: list[str] = []
    watch = Watch(gallery.urls)
    for operator in (False, True):
        context = gallery.context(chromium, language, scheme, width, operator=operator)
        watch.over(context)
        page = context.new_page()
        for listed in PAGES:
            if (listed.who == "operator") is operator:
                gallery.show(listed, page)
                found += faults(listed, page)
        context.close()
    assert found == []
    assert watch.complaints == []


def faults(listed: ListedPage, page: Page) -> list[str]:
    found = [
        f"{listed.name}: {violation['id']} {node['target']} {node['html'][:160]}"
        for violation in AXE.run(page).response["violations"]
        for node in violation["nodes"]
    ]
    return [*found, f"{listed.name} scrolls sideways"] if scrolls_sideways(page) else found


def test_axe_speaks_up_about_a_field_without_a_name(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content("<main><h1>Title</h1><input></main>")
    assert any("label" in fault for fault in faults(ListedPage("bad", "/"), page))
    page.close()
