"""The sidebar, the list of all conversations and the archive, as a browser without script uses them."""

import re
import sqlite3
from uuid import uuid4

from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, answer


def sidebar(page: str) -> str:
    return page.split("data-sidebar>")[1].split("</nav>")[0]


def titles(html: str) -> list[str]:
    return re.findall(r'<span class="title" dir="auto">(.*?)</span>', html)


def add_conversations(site: Site, number: int) -> None:
    with sqlite3.connect(site.database_file) as connection:
        (owner,) = connection.execute("SELECT id FROM users").fetchone()
        connection.executemany(
            "INSERT INTO conversations (id, owner_id, reference, title, params, next_seq, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, '{}', 1, '2026-01-01 00:00:00.000000', '2026-01-01 00:00:00.000000')",
            [(uuid4().hex, owner, f"{each:08}", f"Number {each}") for each in range(number)],
        )
    connection.close()


def test_pin_archive_and_back_by_the_menu(site: Site, mina: Visitor) -> None:
    first = site.ask(mina, "First")
    second = site.ask(mina, "Second")
    mina.open("/")
    assert titles(sidebar(mina.page.text)) == ["Second", "First"]
    mina.submit(f"{first}/pinned")
    assert mina.page.request.url.path == "/"
    assert titles(sidebar(mina.page.text)) == ["First", "Second"]
    mina.open(second)
    mina.submit(f"{second}/archived")
    assert mina.page.request.url.path == second
    assert titles(sidebar(mina.page.text)) == ["First"]
    assert '<span class="tag">Archived</span>' in mina.page.text
    mina.open("/conversations?archived=yes")
    assert titles(mina.page.text.split("<main")[1]) == ["Second"]
    mina.submit(f"{second}/archived")
    assert str(mina.page.request.url).endswith("/conversations?archived=yes")
    assert "Nothing is archived" in mina.page.text
    assert titles(mina.open("/conversations").text.split("<main")[1]) == ["First", "Second"]


def test_a_menu_leads_to_renaming_and_deleting(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Old")
    page = mina.open("/").text
    assert f'href="{path}?settings"' in page
    assert f'href="{path}/delete"' in page
    mina.open(f"{path}?settings")
    assert '<details class="settings" open>' in mina.page.text
    mina.submit(f"{path}/title", title="New")
    assert titles(sidebar(mina.page.text)) == ["New"]


def test_a_thousand_conversations_do_not_make_every_page_heavy(site: Site, mina: Visitor) -> None:
    add_conversations(site, 1_000)
    assert len(titles(sidebar(mina.open("/").text))) == 40
    seen = []
    path: str | None = "/conversations"
    while path:
        page = mina.open(path).text.split("<main")[1]
        seen += titles(page)
        more = re.search(r'href="(/conversations\?before=[^"]+)">', page)
        path = more[1].replace("&amp;", "&") if more else None
    assert len(seen) == len(set(seen)) == 1_000


def test_pinned_conversations_are_limited_in_words(site: Site) -> None:
    mina = site.set_up(language="ko")
    add_conversations(site, 31)
    with sqlite3.connect(site.database_file) as connection:
        connection.execute("UPDATE conversations SET pinned_at = updated_at WHERE title != 'Number 7'")
    connection.close()
    page = mina.open("/conversations").text.split("<main")[1]
    unpinned = page.split("Number 7<")[1].split('action="')[1].split('"')[0]
    response = mina.submit(unpinned)
    assert response.status_code == 409
    assert "대화는 최대 30개까지 고정할 수 있습니다." in response.text


def test_a_foreign_address_to_come_back_to_is_not_followed(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "First")
    mina.open("/")
    response = mina.submit(f"{path}/pinned", next="https://elsewhere.example/")
    assert response.headers["location"] == "/"


def test_a_temporary_conversation_says_so_and_goes_at_sign_out(site: Site, mina: Visitor) -> None:
    mina.open("/")
    mina.submit("/conversations", text="Between us", temporary="yes")
    site.wait_idle(mina)
    path = mina.page.request.url.path
    assert ">Temporary</span>" in mina.page.text
    assert titles(sidebar(mina.page.text)) == []
    assert "/export.json" not in mina.page.text
    assert mina.open(f"{path}/export.json").status_code == 404
    mina.open(path)
    mina.submit("/sign-out")
    mina.open("/sign-in")
    mina.submit("/sign-in", name="mina", password="a long enough password")
    assert mina.open(path).status_code == 404


def test_a_refused_temporary_message_stays_temporary(site: Site, mina: Visitor) -> None:
    mina.open("/")
    response = mina.submit("/conversations", text="x" * 33_000, temporary="yes")
    assert response.status_code == 400
    assert mina.form("/conversations").fields["temporary"] == "yes"
    mina.open("/")
    assert "temporary" not in mina.form("/conversations").fields


def test_an_unread_mark_stands_until_the_conversation_is_opened(site: Site, mina: Visitor) -> None:
    gate = Gate()
    site.backend.script(gate, *answer("Done"))
    mina.open("/")
    mina.submit("/conversations", text="Slow")
    path = mina.page.request.url.path
    assert 'class="running-dot"' in mina.open("/").text
    gate.open()
    for _ in range(400):
        if 'class="running-dot"' not in mina.open("/").text:
            break
    assert 'class="unread-dot"' in mina.page.text
    assert 'class="unread-dot"' not in mina.open(path).text
    assert 'class="unread-dot"' not in mina.open("/").text


def test_the_sidebar_alone_is_for_the_script_and_marks_what_it_has_shown(site: Site, mina: Visitor) -> None:
    gate = Gate()
    site.backend.script(gate, *answer("Done"))
    mina.open("/")
    mina.submit("/conversations", text="Slow")
    path = mina.page.request.url.path
    conversation = path.rsplit("/", 1)[1]
    gate.open()
    for _ in range(400):
        html = mina.open(f"/sidebar?here={path}").text
        if 'class="running-dot"' not in html:
            break
    assert 'class="unread-dot"' in html
    assert "<main" not in html
    assert f'name="next" value="{path}"' in html
    html = mina.open(f"/sidebar?current={conversation}&seen=yes&here=//elsewhere.example").text
    assert 'class="unread-dot"' not in html
    assert 'aria-current="page"' in html
    assert 'name="next" value="/"' in html
    assert 'class="unread-dot"' not in mina.open("/sidebar?current=nonsense").text


def test_people_are_told_how_long_what_they_write_is_kept(open_site: OpenSite) -> None:
    visitor = open_site(retention_days=30).set_up()
    assert "What nobody has touched for 30 days is deleted, unless it is pinned." in visitor.open("/conversations").text
    assert "is deleted, unless" not in open_site().set_up().open("/conversations").text
