"""Downloads of the operator's tables: the page's filters, one audit entry, no text, and a break where one is cut."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from app.turns.rhythm import Rhythm
from app.web.operator import export_tables
from app.web.operator.exports import CHUNK, TABLES
from app.web.table_files import Table
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, delta, ending, error_reply, message_start

Rows = list[dict[str, Any]]


def lines(visitor: Visitor, path: str) -> Rows:
    response = visitor.open(path)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in response.text.splitlines()]


def cells(visitor: Visitor, path: str) -> list[dict[str, str]]:
    response = visitor.open(path)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.text, newline="")))


def same(row: dict[str, Any], cell: dict[str, str]) -> bool:
    def written(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return {name: written(value) for name, value in row.items()} == cell


@pytest.fixture
def lossy(site: Site, mina: Visitor) -> str:
    """A conversation of three turns, the last of which was evicted, and one that failed; the path of the first."""
    path = site.ask(mina, "Canary question")
    for _ in range(2):
        site.ask(mina, "Canary again", path)
    site.rows(
        "UPDATE turns SET outcome = 'evicted', fault = 1, expected_read_tokens = 12, shortfall_tokens = 7,"
        " cache_read_input_tokens = 5, input_tokens = 20 WHERE id = (SELECT max(id) FROM turns)"
    )
    site.backend.script(error_reply(400, "invalid_request_error"))
    site.ask(mina, "Canary that fails")
    return path


def test_every_table_says_the_same_in_both_formats(site: Site, mina: Visitor, lossy: str) -> None:
    for table in TABLES:
        rows = lines(mina, f"/operator/export/{table}.jsonl?range=1h")
        assert rows, table
        found = cells(mina, f"/operator/export/{table}.csv?range=1h")
        assert len(rows) == len(found)
        if table != "series":  # Its last step may have moved on.
            assert all(same(row, cell) for row, cell in zip(rows, found, strict=True)), table
        assert "Canary" not in mina.page.text
    owners = lines(mina, "/operator/export/conversations.jsonl")
    assert [row["lost_tokens"] for row in owners] == [7, 0]
    (problem,) = [row for row in lines(mina, "/operator/export/problems.jsonl") if row["outcome"] == "evicted"]
    assert (problem["lost_tokens"], problem["turns"], problem["group"]) == (7, 1, "capacity")
    (error,) = lines(mina, "/operator/export/errors.jsonl")
    assert error["turns"] == 1


def test_totals_of_the_export_are_those_of_sql(site: Site, mina: Visitor, lossy: str) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("x"), *ending(output_tokens=2))
    site.ask(mina, "Not reported", lossy)
    site.backend.script(message_start(), delta("x"), gate, *ending(output_tokens=2))
    mina.open("/")
    mina.submit("/conversations", text="Live")
    gate.wait_arrived()
    rows = lines(mina, "/operator/export/turns.jsonl?range=all")
    (series,) = [row for row in lines(mina, "/operator/export/series.jsonl") if row["turns"]] or [{}]
    gate.open()
    prompt = "(input_tokens + cache_creation_input_tokens + cache_read_input_tokens)"
    lost = "CASE WHEN fault THEN shortfall_tokens END"
    read = f"CASE WHEN {prompt} > 0 THEN cache_read_input_tokens END"
    ((turns, reported, tokens, cached, missed),) = site.rows(
        f"SELECT count(*), count({prompt}), sum({prompt}), sum({read}), sum({lost}) FROM turns"  # noqa: S608
    )
    known = [row for row in rows if row["prompt_tokens"] is not None]
    assert (len(rows), len(known)) == (turns, reported)
    assert sum(row["prompt_tokens"] for row in known) == tokens
    assert sum(row["cached_tokens"] for row in known) == cached
    assert sum(row["computed_tokens"] for row in known) == tokens - cached
    assert sum(row["lost_tokens"] or 0 for row in rows) == missed == 7
    layers = ("cached", "new", "on_purpose", "lost", "rounding")
    assert sum(series[f"{layer}_tokens"] for layer in layers) == tokens
    assert {row["status"] for row in rows} == {"completed", "failed", "running"}
    assert [row["outcome"] for row in rows if row["status"] == "running"] == ["pending"]


def test_lost_tokens_of_turns_cover_what_the_ranking_covers(site: Site, mina: Visitor, lossy: str) -> None:
    (ranked,) = [row for row in lines(mina, "/operator/export/conversations.jsonl") if row["lost_tokens"]]
    assert (ranked["lost_tokens"], ranked["lost_known_turns"]) == (7, 3)
    listed = [row for row in lines(mina, "/operator/export/turns.jsonl") if row["reference"] == ranked["reference"]]
    own = lines(mina, f"{lossy}/cache/turns.jsonl")
    assert [row["lost_tokens"] for row in own] == [row["lost_tokens"] for row in reversed(listed)] == [0, 0, 7]


def test_expectation_that_is_a_minimum_is_told_as_one(site: Site, mina: Visitor, lossy: str) -> None:
    site.rows("UPDATE turns SET expected_is_minimum = 1 WHERE outcome = 'evicted'")
    rows = lines(mina, "/operator/export/turns.jsonl")
    assert {row["outcome"]: row["expected_is_minimum"] for row in rows} == {
        "evicted": True, "hit": False, "first_turn": False, "not_reported": False,
    }  # fmt: skip
    page = mina.open("/operator/turns").text
    assert re.findall(r'data-cell="expected">\s*([^<]*?)\s*</td>', page).count("≥ 12") == 1


def test_filters_are_those_of_the_pages(site: Site, mina: Visitor, lossy: str) -> None:
    turns = "/operator/export/turns.jsonl?range=1h"
    assert [row["outcome"] for row in lines(mina, f"{turns}&outcome=evicted")] == ["evicted"]
    assert [row["status"] for row in lines(mina, f"{turns}&status=failed")] == ["failed"]
    assert lines(mina, f"{turns}&model=another") == []
    assert lines(mina, f"{turns}&user={uuid4()}") == []
    assert len(lines(mina, turns)) == 4
    by_turns = lines(mina, "/operator/export/conversations.jsonl?sort=turns")
    assert [row["turns"] for row in by_turns] == [3, 1]
    wrong = ("range=2h", "bom=yes", "end=2", "outcome=nonsense", "zone=Mars")
    for query in wrong:
        response = mina.open(f"/operator/export/turns.csv?{query}")
        assert response.status_code == 400, query
        assert query.partition("=")[0] in response.text
    assert mina.open("/operator/export/turns.jsonl?bom=1").status_code == 400
    assert mina.open("/operator/export/conversations.csv?sort=size").status_code == 400
    assert mina.open("/operator/export/titles.csv").status_code == 404


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("problems", export_tables.PROBLEMS),
        ("conversations", export_tables.CONVERSATIONS),
        ("turns", export_tables.TURNS),
        ("series", export_tables.SERIES),
        ("errors", export_tables.ERRORS),
        ("backends", export_tables.BACKENDS),
        ("turns of a conversation", export_tables.CONVERSATION_TURNS),
    ],
)
def test_columns_are_documented(name: str, table: Table[Any]) -> None:
    columns = ", ".join(f"`{column}`" for column in table.names)
    document = Path(__file__).parents[3] / "docs" / "operations.md"
    assert f"\n| {name} | {columns} |\n" in document.read_text()


def test_names_and_headers_are_safe(site: Site, mina: Visitor, lossy: str) -> None:
    response = mina.open("/operator/export/turns.csv?bom=1&end=1")
    name = response.headers["content-disposition"]
    assert re.fullmatch(r'attachment; filename="recount-turns-\d{8}T\d{6}Z\.csv"', name)
    assert response.headers["cache-control"] == "no-store"
    assert response.content.startswith(b"\xef\xbb\xbfturn_id,")
    assert response.text.endswith("\r\n# end: 4 rows\r\n")
    head = mina.client.head("/operator/export/turns.csv")
    assert (head.status_code, head.content) == (200, b"")
    assert "content-length" not in response.headers


def test_each_download_is_one_entry_of_the_audit_log(site: Site, mina: Visitor, lossy: str) -> None:
    conversation = lossy.rsplit("/", 1)[1]
    mina.open("/operator/export/turns.csv")
    mina.client.head("/operator/export/turns.csv")
    mina.open("/operator/export/turns.csv?range=nonsense")
    mina.open(f"/operator/conversations/{conversation}/turns.csv")
    mina.open(f"{lossy}/cache/turns.jsonl")
    reference = site.rows(f"SELECT reference FROM conversations WHERE id = '{UUID(conversation).hex}'")[0][0]  # noqa: S608
    entries = site.rows("SELECT action, subject FROM audit_log WHERE action LIKE '%exported' ORDER BY id")
    assert entries == [("table_exported", "turns.csv"), ("turns_exported", reference), ("turns_exported", reference)]


def test_turns_of_a_conversation_for_operators_and_for_its_owner(site: Site, mina: Visitor) -> None:
    jun = site.user("jun")
    path = site.ask(jun, "Canary question")
    site.ask(jun, "Canary again", path)
    for reader, address in ((jun, f"{path}/cache/turns"), (mina, f"/operator{path}/turns")):
        rows = lines(reader, f"{address}.jsonl")
        assert [row["number"] for row in rows] == [1, 2]
        assert rows[1]["base_turn_number"] == 1
        assert rows[1]["cached_tokens"] == rows[1]["expected_tokens"] == rows[0]["kv_tokens_at_end"]
        found = cells(reader, f"{address}.csv")
        assert all(same(row, cell) for row, cell in zip(rows, found, strict=True))
        assert "Canary" not in reader.page.text
        name = reader.page.headers["content-disposition"]
        assert re.fullmatch(r'attachment; filename="recount-[a-z0-9]{8}-turns\.csv"', name)
    assert mina.open(f"{path}/cache/turns.csv").status_code == 404
    assert jun.open(f"/operator{path}/turns.csv").status_code == 404


def add_turns(site: Site, count: int) -> None:
    """Finished ones of nobody, of the last minutes, with the same time in several of them."""
    columns = "id, purpose, kind, params, prompt_format, status, outcome, fault, created_at"
    turn = "printf('%032x', n), 'chat', 'question', '{}', 1, 'completed', 'hit', 0"
    at = f"strftime('%Y-%m-%d %H:%M:', 'now', '-1 minute') || printf('%02d.000000', n * 60 / {count + 1})"
    site.rows(
        f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"  # noqa: S608
        f" INSERT INTO turns ({columns}) SELECT {turn}, {at} FROM numbers"
    )


def test_many_rows_come_whole(site: Site, mina: Visitor) -> None:
    """More than some pages of the database."""
    add_turns(site, 2 * CHUNK + 1)
    rows = lines(mina, "/operator/export/turns.jsonl?range=all")
    assert len({row["turn_id"] for row in rows}) == len(rows) == 2 * CHUNK + 1
    times = [row["created_at"] for row in rows]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM sessions", "UPDATE users SET role = 'user'", "ALTER TABLE turns RENAME TO turns_away"],
    ids=["signed out", "no operator any more", "database away"],
)
def test_a_file_that_is_cut_off_does_not_look_whole(open_site: OpenSite, change: str) -> None:
    site = open_site(rhythm=Rhythm(ping=0), send_buffer=4096)
    mina = site.set_up()
    add_turns(site, 40 * CHUNK)
    address, plain = "/operator/export/turns.csv?range=all&end=1", {"accept-encoding": "identity"}
    with mina.client.stream("GET", address, headers=plain) as response:
        pieces = response.iter_bytes()
        got = next(pieces)
        site.rows(change)
        with pytest.raises(httpx.RemoteProtocolError):
            got += b"".join(pieces)
    assert response.status_code == 200
    assert b"# end" not in got
