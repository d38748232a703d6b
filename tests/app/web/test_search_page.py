"""Searching: what is found, what links where, and that nothing found is markup."""

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor


def test_search_in_korean_highlights_and_links_to_the_message(site: Site) -> None:
    mina = site.set_up(language="ko")
    path = site.ask(mina, "서울 날씨가 어때? <b>굵게</b>")
    site.ask(mina, "부산은?")
    mina.open("/")
    page = mina.open("/search?q=서울 날씨").text
    assert page.count("<mark>서울</mark> <mark>날씨</mark>가 어때?") == 2  # In the title and in the message.
    assert "&lt;b&gt;굵게&lt;/b&gt;" in page
    assert f'href="{path}?leaf=' in page
    assert "부산은" not in page.split('class="hits"')[1].split("</ol>")[0]
    assert 'value="서울 날씨"' in page
    assert "찾은 것이 없습니다" in mina.open("/search?q=제주").text


def test_search_without_words_shows_nothing_and_a_long_one_is_kept(site: Site, mina: Visitor) -> None:
    assert "Nothing was found" not in mina.open("/search").text
    response = mina.open("/search?q=" + "x" * 201)
    assert response.status_code == 400
    assert "A search has at most 200 characters." in response.text
    assert "x" * 201 in response.text


def test_search_shows_nothing_of_others(site: Site, mina: Visitor) -> None:
    site.ask(mina, "A private needle")
    assert "needle" not in site.user("jun").open("/search?q=private").text
