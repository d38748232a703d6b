"""The operator's list of conversations: sums and references, and no words of anybody."""

import re

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import error_reply


def test_list_shows_references_and_sums(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Private words")
    site.backend.script(error_reply(400, "invalid_request_error"))
    failed = site.ask(mina, "Other words")
    page = mina.open("/operator/conversations").text
    assert page.count('<th scope="row"') == 2
    assert f'href="/operator{path}"' in page
    assert f'href="/operator{failed}"' in page
    assert "words" not in re.sub(r'class="[^"]*"', "", page)
    assert "1 of 1" in page
    assert "0 of 1" in page


def test_list_without_conversations(mina: Visitor) -> None:
    assert "No conversation has been started yet." in mina.open("/operator/conversations").text
    assert "Newest" not in mina.page.text
    assert mina.open("/operator/conversations?before=nonsense").status_code == 200


def test_list_is_paged(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    older = mina.open(f"/operator/conversations?before={path.rsplit('/', 1)[1]}")
    assert "There are no older conversations." in older.text
    assert 'href="/operator/conversations">Newest' in older.text
