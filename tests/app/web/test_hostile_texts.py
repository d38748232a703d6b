"""What people, models and files bring along, shown in whole pages: as text, whatever it looks like."""

import json
import re
from urllib.parse import quote

import pytest

from app.text import first_words
from tests.app.markdown.corpus import LINKS, LOADS, SCRIPTS
from tests.app.web.page_walker import text_of_page
from tests.app.web.site import PASSWORD, Site
from tests.app.web.test_people_pages import person_path
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, answer, delta, ending, error_reply, message_start

HOSTILE = "\n\n".join([*SCRIPTS, *LOADS, *LINKS])
TITLES = [
    "</title></script><script>alert(1)</script>",
    "<!--<script>",
    "\" onfocus=alert(1) autofocus x='",
    "a\r\nset-cookie: stolen=1\r\n\r\n<b>",
    "invoice\u202egpj.exe\u2066\u200b",
    '../../etc/"passwd"; filename=x.html',
    '=HYPERLINK("https://evil.example")',
    "{{ 7 * 7 }}{% raw %}%(x)s 100% %s",
    "long " * 39,
]


def test_hostile_words_are_only_text_on_every_page_that_shows_them(site: Site, mina: Visitor) -> None:
    gate = Gate()
    site.backend.script(message_start(), *map(delta, HOSTILE.splitlines(keepends=True)), gate, *ending(output_tokens=9))
    mina.open("/")
    mina.submit("/conversations", text=HOSTILE, system_prompt=HOSTILE)
    gate.wait_arrived()
    path = mina.page.request.url.path
    assert HOSTILE in text_of_page(mina.open(path).text)  # While the answer is written.
    gate.open()
    site.wait_idle(mina)
    question, said = re.findall(r'id="message-([^"]+)"', mina.page.text)
    pages = [path, f"{path}?edit={question}", f"{path}?settings=open", f"{path}/delete", f"{path}/choices"]
    pages += [f"{path}/messages/{question}/delete", f"{path}/messages/{said}", f"{path}/context", "/", "/sidebar"]
    pages += [
        "/conversations",
        "/search?q=evil",
        f"/search?q={quote(SCRIPTS[0])}",
        f"/operator{path}",
        "/operator/audit",
    ]
    for page in pages:
        response = mina.open(page)
        assert response.status_code == 200, page
        text_of_page(response.text)
    for message in (question, said):
        response = mina.open(f"{path}/messages/{message}/text")
        assert response.text == HOSTILE
        assert response.headers["content-type"].startswith("text/plain")


def test_hostile_title_is_one_line_of_text_and_no_part_of_a_header(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hello")
    for title in TITLES:
        mina.open(path)
        assert mina.submit(f"{path}/title", title=title).status_code == 303
        expected = first_words(title, 200)
        assert not set(expected) & set("\u202e\u2066\u200b\r\n")
        for page in (path, "/", f"{path}/delete"):
            assert expected in text_of_page(mina.open(page).text), page
        for kind in ("json", "md"):
            response = mina.open(f"{path}/export.{kind}")
            named = rf'attachment; filename="recount-[\w-]+\.{kind}"'
            assert re.fullmatch(named, response.headers["content-disposition"])
            assert "stolen" not in str(response.headers)
    assert len(mina.open(f"{path}/export.md").text.split("\n")[0]) < 500


def test_hostile_name_is_only_text_on_every_page_that_shows_it(site: Site, mina: Visitor) -> None:
    name = '=1+1|"><img src=x onerror=alert(1)></script><!--{{ 7*7 }}'
    person = site.user(name)
    path = site.ask(person, name)
    for page in ("/", path, "/account", "/account/usage", "/account/delete"):
        text_of_page(person.open(page).text)
    assert name in text_of_page(person.open("/").text)
    about = person_path(mina, r"[^<]*")  # The only other person.
    for page in ("/operator/conversations", f"/operator{path}", "/operator/people", about):
        assert name in text_of_page(mina.open(page).text), page
    mina.submit(f"{about}/password", password=PASSWORD)
    assert name in text_of_page(mina.open("/operator/audit").text)


@pytest.mark.parametrize("name", ["anna\u202eoperator", "a\u200bb", "a\nb", "x" * 65, "a\x00b"])
def test_name_that_could_deceive_is_refused_where_it_is_chosen(site: Site, name: str) -> None:
    visitor = site.visitor()
    visitor.open("/setup?code=code-for-tests")
    response = visitor.submit("/setup", name=name, password=PASSWORD)
    assert response.status_code == 400
    text_of_page(response.text)


def test_hostile_file_is_only_text_wherever_it_is_shown(site: Site, mina: Visitor) -> None:
    site.backend.script(error_reply(400, "invalid_request_error"))
    file = json.loads(mina.open(site.ask(mina, "Hello") + "/export.json").content)
    hostile = f"{SCRIPTS[1]} %(x)s 5% of {{0}} \u202e"
    file["conversation"] |= {"title": hostile, "model": hostile}
    file["turns"][0] |= {"error_message": hostile, "model": hostile, "backend": hostile, "stop_reason": hostile}
    file["messages"][1]["text"] = HOSTILE
    file["messages"][1]["sent_sha256"] = None
    mina.open("/import")
    upload = {"file": ("../../\u202e<b>\r\n.json", json.dumps(file).encode(), "application/json")}
    response = mina.client.post("/import", data={"form_token": mina.form_token}, files=upload)
    assert response.status_code == 303, response.text
    path = response.headers["location"]
    for page in (path, f"{path}/choices", "/", f"/operator{path}", "/operator/conversations"):
        response = mina.open(page)
        assert response.status_code == 200, page
        text_of_page(response.text)
    assert mina.open(f"{path}/export.md").status_code == 200
    site.backend.script(*answer("Gone on"))
    site.ask(mina, "And now?", path)


def test_hostile_place_in_a_file_is_named_as_text(site: Site, mina: Visitor) -> None:
    file = json.loads(mina.open(site.ask(mina, "Hello") + "/export.json").content)
    file["conversation"][SCRIPTS[1]] = SCRIPTS[0]
    mina.open("/import")
    upload = {"file": ("x.json", json.dumps(file).encode(), "application/json")}
    response = mina.client.post("/import", data={"form_token": mina.form_token}, files=upload)
    assert response.status_code == 400
    assert SCRIPTS[1] in text_of_page(response.text)
