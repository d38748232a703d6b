"""Downloads and the upload, as a browser without script makes them."""

import io
import json
import re
import zipfile

import httpx
import pytest
from markdown_it import MarkdownIt

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import answer


def upload(visitor: Visitor, content: bytes, **fields: str) -> httpx.Response:
    visitor.open("/import")
    data = {"form_token": visitor.form_token, **fields}
    response = visitor.client.post("/import", data=data, files={"file": ("x.json", content, "application/json")})
    visitor.page = response
    return response


def test_a_round_trip_by_download_and_upload(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Take me along")
    file = mina.open(f"{path}/export.json")
    reference = file.json()["conversation"]["reference"]
    assert file.headers["content-disposition"] == f'attachment; filename="recount-{reference}.json"'
    assert file.headers["cache-control"] == "no-store"
    jun = site.user("jun")
    response = upload(jun, file.content)
    assert response.status_code == 303
    page = jun.open(response.headers["location"]).text
    assert "Take me along" in page
    assert "This is answer number 1." in page
    site.ask(jun, "And now?", response.headers["location"])
    assert "This is answer number 2." in jun.page.text


def test_markdown_has_the_active_branch_in_the_readers_language(site: Site) -> None:
    mina = site.set_up(language="ko")
    mina.open("/")
    mina.submit("/conversations", text="첫 질문", system_prompt="짧게\n\n답해 주세요")
    site.wait_idle(mina)
    response = mina.open(f"{mina.page.request.url.path}/export.md")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    lines = response.text.split("\n")
    assert lines[0] == "# 첫 질문"
    assert "> 짧게\n>\n> 답해 주세요" in response.text
    assert [line.split(" · ")[0] for line in lines if line.startswith("## ")] == ["## 질문", "## 답변"]
    assert response.text.endswith("This is answer number 1.\n")


def test_all_data_is_a_zip(site: Site, mina: Visitor) -> None:
    site.ask(mina, "Kept")
    response = mina.open("/account/data")
    assert response.headers["content-disposition"] == 'attachment; filename="recount-data.zip"'
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert len(archive.namelist()) == 2
        assert b"Kept" in archive.read(archive.namelist()[1])


def test_an_archive_that_breaks_off_does_not_end_as_if_it_were_whole(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Kept")
    site.ask(mina, "Damaged")
    assert mina.open(path).status_code == 200
    site.rows("UPDATE turns SET params = '{' WHERE id = (SELECT max(id) FROM turns)")
    with mina.client.stream("GET", "/account/data") as response:
        assert response.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            response.read()


def test_a_bad_file_is_named_and_nothing_is_stored(site: Site) -> None:
    mina = site.set_up(language="ko")
    file = json.loads(mina.open(site.ask(mina, "x") + "/export.json").content)
    file["messages"][1]["role"] = "system"
    response = upload(mina, json.dumps(file).encode())
    assert response.status_code == 400
    words = "messages.1.role: 허용되지 않는 값입니다. 다음 값 가운데 하나여야 합니다. (user, assistant)"
    assert words in response.text
    assert upload(mina, b"").status_code == 400
    mina.open("/import")
    response = mina.client.post("/import", data={"form_token": mina.form_token, "file": "no file"})
    assert response.status_code == 415


def test_an_upload_may_be_larger_than_other_forms_but_not_endless(site: Site, mina: Visitor) -> None:
    assert upload(mina, b" " * 2_000_000).status_code == 400
    assert upload(mina, b" " * 21_000_000).status_code == 413


def test_an_upload_needs_a_session_and_the_forms_token(site: Site, mina: Visitor) -> None:
    assert upload(mina, b"{}", form_token="wrong").status_code == 403
    visitor = site.visitor()
    visitor.open("/sign-in")
    response = visitor.client.post(
        "/import", data={"form_token": visitor.form_token}, files={"file": ("x.json", b"{}", "application/json")}
    )
    assert response.status_code == 303
    assert response.headers["location"].startswith("/sign-in")
    for path in ("/import", "/account/data"):
        assert visitor.open(path).headers["location"].startswith("/sign-in")


def test_markdown_of_hostile_texts_keeps_its_parts_apart(site: Site, mina: Visitor) -> None:
    """Shown by a program that lets raw HTML through."""
    begun = "As code:\n\n```html\n<script>alert(1)</script>"
    site.backend.script(*answer(begun, stop_reason="max_tokens"))
    mina.open("/")
    asked = "# <b>*What*</b>\n\n<img src=x onerror=alert(1)>\n```"
    mina.submit("/conversations", text=asked, system_prompt="<style>@import 'x'</style>\n~~~\nnever closed")
    site.wait_idle(mina)
    text = mina.open(f"{mina.page.request.url.path}/export.md").text
    assert f"\n````text\n{asked}\n````\n" in text
    assert text.endswith(f"{begun}\n```\n")
    html = MarkdownIt("js-default", {"html": True}).render(text)
    assert set(re.findall(r"<(\w+)", html)) == {"h1", "h2", "p", "strong", "blockquote", "pre", "code"}
    assert html.startswith("<h1># &lt;b&gt;*What*&lt;/b&gt; &lt;img")
    assert html.count("<h2>") == 2
