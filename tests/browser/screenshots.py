"""Pictures of every listed page, 2 widths x 2 themes x 2 languages; fails where one scrolls sideways.

make screenshots                        # into screenshots/
make screenshots ARGS="--only help"     # pages whose name has the word
"""

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import structlog
from playwright.sync_api import Browser, sync_playwright

from app.logs import configure_logging
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.gallery import PAGES, Gallery, ListedPage, Scheme, open_gallery, scrolls_sideways

LANGUAGES = ("en-US", "ko-KR")
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDTHS = (360, 1280)


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("screenshots"), show_default=True)
@click.option("--only", default="", help="Only pages whose name has this in it.")
def main(folder: Path, only: str) -> None:
    """Takes the pictures. The exit code is 1 where a page scrolls sideways."""
    configure_logging()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    folder.mkdir(parents=True, exist_ok=True)
    listed = [each for each in PAGES if only in each.name]
    with (
        tempfile.TemporaryDirectory() as databases,
        open_gallery(Path(databases)) as gallery,
        sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        wide = list(take_all(gallery, browser, listed, folder))
        browser.close()
    click.echo(f"{len(listed) * len(LANGUAGES) * len(SCHEMES) * len(WIDTHS)} pictures in {folder}/")
    if wide:
        raise click.ClickException(f"these scroll sideways: {', '.join(wide)}")


def take_all(gallery: Gallery, browser: Browser, listed: list[ListedPage], folder: Path) -> Iterator[str]:
    """The names of the pictures that are wider than the window."""
    for language in LANGUAGES:
        for scheme in SCHEMES:
            for width in WIDTHS:
                name = f"{width}-{scheme}-{language[:2]}"
                for each in take(gallery, browser, listed, folder, language, scheme, width):
                    yield f"{each.name}-{name}"


def take(
    gallery: Gallery,
    browser: Browser,
    listed: list[ListedPage],
    folder: Path,
    language: str,
    scheme: Scheme,
    width: int,
) -> Iterator[ListedPage]:
    for operator in (False, True):
        context = gallery.context(browser, language, scheme, width, operator=operator)
        page = context.new_page()
        for each in listed:
            if (each.who == "operator") is operator:
                gallery.show(each, page)
                page.screenshot(path=folder / f"{each.name}-{width}-{scheme}-{language[:2]}.png")
                if scrolls_sideways(page):
                    yield each
        context.close()


if __name__ == "__main__":
    main()
