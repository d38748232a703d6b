"""The page of the backends, and the doctor behind its button."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.doctor import APP, Finding, Report
from app.settings import Backend
from app.web.assets import STATIC_FOLDER
from app.web.languages import load_languages
from app.web.operator.backend_words import bar_of
from app.web.operator.doctor_words import check_words, report_cells, state_words
from inference_client.inspection import Slots
from tests.app.houses import START
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.inference_server.serving import KEY, Served, serve_model, until
from tests.scripted_backend import delta, ending, message_start
from tests.tiny_model import write_tiny_model


def facts(page: str) -> dict[str, str]:
    return dict(re.findall(r'data-fact="(\w+)">\s*(.*?)\s*</dd>', page))


def run_doctor(visitor: Visitor) -> str:
    """The page with the new report."""
    visitor.open("/operator/backends")
    assert visitor.submit("/operator/backends/doctor").status_code == 303
    for _ in range(400):
        if "refresh" not in visitor.open("/operator/backends").headers:
            return visitor.page.text
        time.sleep(0.025)
    raise TimeoutError("the doctor is still looking")


def test_cached_has_the_colour_that_it_has_everywhere() -> None:
    style = (STATIC_FOLDER / "css" / "recount.css").read_text()
    rules = dict(re.findall(r"^(\.slots\S* \S+) \{ \w+: var\(--([\w-]+)\); \}$", style, re.MULTILINE))
    assert rules[".slots .cached"] == rules[".slots-key .cached::before"] == "cached"
    assert rules[".slots .live"] == rules[".slots-key .live::before"]
    assert "new" not in rules.values()


def test_a_backend_without_turns_and_inspection(mina: Visitor) -> None:
    page = mina.open("/operator/backends").text
    assert ">answers<" in page
    assert facts(page) == {
        "serving_since": "not known",
        "serving_id": "not reported",
        "last_turn": "none in 30 days",
        "reported": "no turns in 24 hours",
        "prefill_speed": "not measured",
        "pool": "this server does not show it",
        "reuse": "every token",
        "isolation": "a cache for each user",
    }
    assert "It has not looked yet." in page


def test_figures_of_its_turns(site: Site, mina: Visitor) -> None:
    site.ask(mina, "One")
    site.backend.script(message_start(), delta("a"), *ending(output_tokens=2))
    site.ask(mina, "Two")
    site.rows(
        "INSERT INTO events (id, kind, backend, serving_id, at) VALUES"
        " ('00000000000000000000000000000001', 'server_start', 'scripted', 'first', '2026-01-01 00:00:00.000000'),"
        " ('00000000000000000000000000000002', 'server_start', 'scripted', 'second', '2026-02-01 00:00:00.000000'),"
        " ('00000000000000000000000000000003', 'server_start', 'other', 'third', '2026-03-01 00:00:00.000000')"
    )
    shown = facts(mina.open("/operator/backends").text)
    assert shown["reported"] == "50%, 1 of 2 turns"
    assert shown["serving_id"] == "second"
    assert shown["serving_since"].startswith("Feb 1, 2026")
    assert shown["last_turn"] != "none in 30 days"


def test_several_users_of_one_cache_are_a_standing_warning(open_site: OpenSite, backend_url: str) -> None:
    shared = Backend(name="shared", base_url=backend_url, isolation="none", inspection=True, reuse_rule="block(16)")
    mina = open_site(backends=(shared,), allow_shared_cache=True).set_up()
    page = mina.open("/operator/backends").text
    assert "All users share the cache of this server" in page
    assert facts(page)["isolation"] == "none: all users share it"
    assert facts(page)["reuse"] == "whole blocks of 16 tokens"
    assert facts(page)["pool"] == "no answer"  # The scripted server has no such page.


def test_doctor_is_run_by_a_button_and_its_report_stays(site: Site, mina: Visitor) -> None:
    page = run_doctor(mina)
    assert 'class="state ok"' in page
    assert "Turn 2 read" in page
    assert "does not separate caches there" in page  # The scripted server's cache knows no users.
    assert site.count("turns") == 0
    assert len(site.backend.questions) == 5
    assert "<strong" in mina.open("/operator/backends").text
    assert len(site.backend.questions) == 5
    korean = site.visitor("ko")
    korean.client.cookies.update(mina.client.cookies)
    assert "두 번째 턴이" in korean.open("/operator/backends").text


def test_only_operators_may_run_it(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    jun.open("/")
    fields = {"form_token": jun.form_token}
    assert jun.client.post("/operator/backends/doctor", data=fields).status_code == 404
    assert mina.client.post("/operator/backends/doctor", data={"form_token": "guess"}).status_code == 403
    assert site.backend.questions == []


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("tiny")
    with serve_model(write_tiny_model(folder / "tiny.gguf")) as server:
        yield server


def test_the_pool_of_the_bundled_server(open_site: OpenSite, tiny: Served) -> None:
    served = Backend(name="bundled", base_url=tiny.url, api_key=KEY, inspection=True)
    site = open_site(backends=(served,))
    mina = site.set_up()
    tiny.ask([{"role": "user", "content": "Hello"}], metadata={"user_id": "somebody"})
    until(lambda: site.rows("SELECT id FROM events WHERE kind = 'server_start'"))  # The app has looked at it once.
    page = mina.open("/operator/backends").text
    state = tiny.http.get("/v1/cache").json()["slots"]
    shown = facts(page)
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", shown["slots"])]
    assert numbers == [state["live"], state["cached"], state["free"], state["total"]]
    assert (shown["requests"], shown["evicted"], shown["scopes"]) == ("0 running, 0 waiting", "0", "1")
    assert 'class="slots"' in page
    assert shown["serving_id"] == tiny.http.get("/health").json()["serving_id"]
    assert shown["serving_since"] != "not known"


def test_the_bar_is_as_long_as_the_pool() -> None:
    bar = bar_of(Slots(total=200, free=50, cached=100, live=50))
    assert [(segment.layer, segment.x, segment.width) for segment in bar] == [
        ("live", 0, 25), ("cached", 25, 50), ("free", 75, 25),
    ]  # fmt: skip
    assert [segment.layer for segment in bar_of(Slots(total=9, free=9, cached=0, live=0))] == ["free"]
    assert bar_of(Slots(total=0, free=0, cached=0, live=0)) == []


def test_a_report_in_korean_writes_numbers_as_the_reader_does() -> None:
    language = load_languages()["ko"]
    found = Finding("gpu", "models", "ok", "%(model)s, with a context window of %(window)s tokens.", "", {
        "model": "m%s", "window": 8192,
    })  # fmt: skip
    cells = report_cells(Report(START, (found, Finding(APP, "new check", "fail", "100%", ""))), language, "UTC")
    assert [each.state for each in cells.findings] == ["fail", "ok"]
    assert cells.findings[1].message == "m%s, 컨텍스트 창 8,192 토큰."
    assert (cells.findings[0].subject, cells.findings[0].check, cells.findings[0].advice) == ("이 앱", "new check", "")
    assert cells.summary == "실패 1, 주의 0, 정상 1"
    assert check_words("usage", language) == "사용량"
    assert state_words("warn", language) == "주의"
