"""Tables as files: what a program reads back is what was there, and a spreadsheet computes nothing of it."""

import csv
import io
import json
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest

from app.cache_outcomes import Outcome
from app.web.table_files import CHUNK_ROWS, Cell, Shape, Table, file_of

pytestmark = pytest.mark.anyio

Cells = Sequence[Cell]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def table(*names: str) -> Table[Cells]:
    return Table([(name, lambda row, place=place: row[place]) for place, name in enumerate(names)])


async def each(rows: Sequence[Cells]) -> AsyncIterator[Cells]:
    for row in rows:
        yield row


async def pieces_of(rows: Sequence[Cells], shape: Shape, *names: str) -> list[bytes]:
    return [piece async for piece in file_of(table(*names), each(rows), shape)]


async def text_of(rows: Sequence[Cells], shape: Shape, *names: str) -> str:
    return b"".join(await pieces_of(rows, shape, *names)).decode()


async def test_csv_comes_back_as_it_was() -> None:
    rows = [['say "hi"', "a,b", "two\nlines"], ["한국어 이름", "", "x"]]
    text = await text_of(rows, Shape("csv"), "one", "two", "three")
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["one", "two", "three"], *rows]
    assert text.startswith("one,two,three\r\n")


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n"])
async def test_text_that_looks_like_a_formula_is_text(first: str) -> None:
    hostile = f"{first}HYPERLINK(1)"
    text = await text_of([[hostile, -5, -0.5, f"a{hostile}"]], Shape("csv"), "a", "b", "c", "d")
    cells = list(csv.reader(io.StringIO(text, newline="")))[1]
    assert cells == [f"'{hostile}", "-5", "-0.5", f"a{hostile}"]
    assert json.loads(await text_of([[hostile]], Shape("jsonl"), "a")) == {"a": hostile}


async def test_unknown_zero_and_false_differ() -> None:
    row: list[Cell] = [None, 0, False, True, ""]
    names = ("a", "b", "c", "d", "e")
    assert (await text_of([row], Shape("csv"), *names)).split("\r\n")[1] == ",0,false,true,"
    assert json.loads(await text_of([row], Shape("jsonl"), *names)) == dict(zip(names, row, strict=True))


async def test_values_are_written_as_programs_read_them() -> None:
    seoul = datetime(2026, 11, 30, 9, 0, tzinfo=timezone(timedelta(hours=9)))
    row: list[Cell] = [seoul, UUID(int=7), Outcome.EVICTED, 2**53 + 1]
    line = (await text_of([row], Shape("csv"), "at", "id", "outcome", "n")).split("\r\n")[1]
    assert line == "2026-11-30T00:00:00+00:00,00000000-0000-0000-0000-000000000007,evicted,9007199254740993"
    assert json.loads(await text_of([row], Shape("jsonl"), "at", "id", "outcome", "n"))["n"] == 2**53 + 1


async def test_json_lines_hold_one_row_each_whatever_is_in_it() -> None:
    rows = [["a\u2028b\x85c\nd"], ["\ufeff"]]
    text = await text_of(rows, Shape("jsonl"), "a")
    assert [[json.loads(line)["a"]] for line in text.splitlines()] == rows


async def test_a_table_without_rows_has_its_names() -> None:
    assert await text_of([], Shape("csv"), "a", "b") == "a,b\r\n"
    assert await text_of([], Shape("jsonl"), "a", "b") == ""


async def test_a_byte_order_mark_stands_at_the_front_once() -> None:
    text = await text_of([["x"]], Shape("csv", bom=True), "a")
    assert text == "\ufeffa\r\nx\r\n"


async def test_the_last_line_counts_the_rows() -> None:
    rows = [[number] for number in range(CHUNK_ROWS + 1)]
    text = await text_of(rows, Shape("csv", end=True), "n")
    assert text.endswith(f"{CHUNK_ROWS}\r\n# end: {CHUNK_ROWS + 1} rows\r\n")
    assert json.loads(await text_of([], Shape("jsonl", end=True), "n")) == {"end": True, "rows": 0}


async def test_a_long_table_comes_in_pieces_and_whole() -> None:
    rows = [[number] for number in range(3 * CHUNK_ROWS)]
    pieces = await pieces_of(rows, Shape("csv"), "n")
    assert len(pieces) == 4
    assert b"".join(pieces).decode().split() == ["n", *(str(number) for number in range(3 * CHUNK_ROWS))]


async def test_a_table_that_cannot_be_read_to_its_end_has_none() -> None:
    async def broken() -> AsyncIterator[Cells]:
        yield [1]
        raise OSError("gone")

    pieces = file_of(table("n"), broken(), Shape("csv", end=True))
    with pytest.raises(OSError, match="gone"):
        await anext(pieces)
