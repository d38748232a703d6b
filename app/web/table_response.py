"""A table as a download that is written while it is read, and that breaks off rather than end early."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.web.operator.filters import refusal
from app.web.operator.lists import choice_of
from app.web.table_files import MEDIA_TYPES, Format, Row, Shape, Table, file_of
from app.web.visit import house_of, visit_of

_YES_OR_NO: Final = ("0", "1")


class ExportCut(Exception):
    """The reader may not read on. Nothing else tells the browser that the file is not whole."""


def shape_of(request: Request) -> Shape:
    """From the address: its ending, `bom` and `end`. FilterError."""
    format_: Format = "csv" if request.url.path.endswith(".csv") else "jsonl"
    bom, end = (choice_of(request, field, _YES_OR_NO) == "1" for field in ("bom", "end"))
    if bom and format_ == "jsonl":
        raise refusal("bom", "0", visit_of(request).language)
    return Shape(format_, bom=bom, end=end)


async def table_response(
    request: Request, name: str, table: Table[Row], rows: AsyncIterator[Row], operators_only: bool
) -> Response:
    """`name` has letters, digits and dashes only. What fails before the first rows are there is an ordinary error."""
    shape = shape_of(request)
    headers = {
        "content-disposition": f'attachment; filename="recount-{name}.{shape.format}"',
        "cache-control": "no-store",
        "x-accel-buffering": "no",
    }
    media_type = MEDIA_TYPES[shape.format]
    if request.method == "HEAD":
        return Response(headers=headers, media_type=media_type)
    pieces = file_of(table, rows, shape)
    first = await anext(pieces)
    allowed = _allowed(request, operators_only)
    every = house_of(request).rhythm.ping
    return StreamingResponse(_watched(first, pieces, allowed, every), headers=headers, media_type=media_type)


async def _watched(
    first: bytes, pieces: AsyncIterator[bytes], allowed: Callable[[], Awaitable[bool]], every: float
) -> AsyncIterator[bytes]:
    """A long download outlives the request that began it, so it asks again now and then. ExportCut."""
    asked_at = time.monotonic()
    yield first
    async for piece in pieces:
        if time.monotonic() >= asked_at + every:
            if not await allowed():
                raise ExportCut
            asked_at = time.monotonic()
        yield piece


def _allowed(request: Request, operators_only: bool) -> Callable[[], Awaitable[bool]]:
    house, token = house_of(request), visit_of(request).token

    async def allowed() -> bool:
        account = await house.sessions.resolve(token)
        return account is not None and (account.role == "operator" or not operators_only)

    return allowed
