"""The page under `?`: keys and figures, in both languages, for everybody who has signed in."""

import html

import pytest

from app.web.footer import footer_of
from app.web.languages import load_languages
from tests.app.web.figures import counted
from tests.app.web.site import Site


@pytest.mark.parametrize("tag", ["en", "ko"])
def test_help_explains_every_figure_of_an_answer(site: Site, tag: str) -> None:
    language = load_languages()[tag]
    page = html.unescape(site.set_up(language=tag).open("/help").text)
    labels = [label for label, _ in footer_of(counted(1, 2, 3), has_base=True, language=language, zone="UTC").details]
    absences = [language.gettext(words) for words in ("pending", "not sent", "not reported", "not known (ended early)")]
    for words in (*labels, *absences):
        assert f"<dt>{words}</dt>" in page


def test_help_is_linked_beside_every_chat_page(site: Site) -> None:
    mina = site.set_up()
    assert 'href="/help"' in mina.open("/").text
    assert 'href="/help"' in mina.open("/conversations").text


def test_help_for_the_dialog_is_the_same_words_without_a_page(site: Site) -> None:
    mina = site.set_up()
    piece = mina.open("/help", recount_fragment="1").text
    assert "<html" not in piece
    assert 'method="dialog"' in piece
    assert piece.split('<section class="help-part"', 1)[1].split() in [
        mina.open("/help").text.split('<section class="help-part"', 1)[1].split("</main>")[0].split(),
    ]


def test_help_asks_strangers_to_sign_in(site: Site) -> None:
    site.set_up()
    assert site.visitor().open("/help").headers["location"].startswith("/sign-in")
