"""Tables as files: CSV that no spreadsheet takes for formulas, and JSON Lines; row by row, as bytes. Pure.

What is not known is an empty cell in CSV and null in JSON; 0 is 0 in both.
"""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Generic, Literal, TypeAlias, TypeVar, get_args
from uuid import UUID

Cell: TypeAlias = str | int | float | bool | datetime | UUID | None
Format: TypeAlias = Literal["csv", "jsonl"]
Row = TypeVar("Row")

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
MEDIA_TYPES: Final[dict[Format, str]] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
CHUNK_ROWS: Final = 500
BOM: Final = "\ufeff"
# A spreadsheet computes what begins so, whoever wrote it.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Columns in their order: the name that stands in the file, and what a row has there."""

    columns: Sequence[tuple[str, Callable[[Row], Cell]]]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    def cells(self, row: Row) -> list[Cell]:
        return [read(row) for _, read in self.columns]


@dataclass(frozen=True, slots=True)
class Shape:
    """`bom`: CSV begins with a byte order mark, for spreadsheets. `end`: a last line says how many rows there were."""

    format: Format
    bom: bool = False
    end: bool = False


async def file_of(table: Table[Row], rows: AsyncIterator[Row], shape: Shape) -> AsyncIterator[bytes]:
    """In pieces of a few hundred rows. What goes wrong in between is raised: nothing is left out quietly."""
    text, count = _head(table, shape), 0
    async for row in rows:
        text.append(_line(table, table.cells(row), shape))
        count += 1
        if count % CHUNK_ROWS == 0:
            yield "".join(text).encode()
            text = []
    if shape.end:
        text.append(f"# end: {count} rows\r\n" if shape.format == "csv" else f'{{"end": true, "rows": {count}}}\n')
    yield "".join(text).encode()


def _head(table: Table[Row], shape: Shape) -> list[str]:
    if shape.format == "jsonl":
        return []
    return [(BOM if shape.bom else "") + _csv_line(table.names)]


def _line(table: Table[Row], cells: Sequence[Cell], shape: Shape) -> str:
    if shape.format == "csv":
        return _csv_line([_csv_cell(cell) for cell in cells])
    # Only ASCII: some readers of lines take other characters for the end of one.
    return json.dumps(dict(zip(table.names, map(_json_value, cells), strict=True)), allow_nan=False) + "\n"


def _csv_line(cells: Sequence[str | int | float | None]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _csv_cell(cell: Cell) -> str | int | float | None:
    """Numbers stay numbers, also below zero; text that looks like a formula gets an apostrophe in front."""
    value = _json_value(cell)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _json_value(cell: Cell) -> str | int | float | bool | None:
    if isinstance(cell, datetime):
        return cell.astimezone(UTC).isoformat()
    return str(cell) if isinstance(cell, str | UUID) else cell
