"""The chart of the overview: prompt tokens and the time to the first token along the time, and what happened then."""

from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import ServingEvent, Turn
from app.reports.measures import chosen
from app.reports.overview import Bucket, Mark, Selection, Series, Tiles
from app.reports.percentiles import is_exact, percentile
from app.reports.slots import Slots
from app.reports.sums import Cell, read_cells
from app.reports.tiles import tiles_of

MOST_BUCKETS: Final = 100
_MINUTE: Final = 60
_DAY: Final = 86_400
_STEPS: Final = tuple(_MINUTE * minutes for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1440))


async def tiles_and_series(session: AsyncSession, selection: Selection, zone: tzinfo) -> tuple[Tiles, Series]:
    """The tiles are sums of what the series is made of."""
    exact = is_exact(selection)
    since = selection.since or await session.scalar(select(func.min(Turn.created_at)).where(*chosen(selection)))
    if since is None or since >= selection.until:
        return tiles_of(Cell(), exact=exact), Series(timedelta(seconds=_MINUTE), exact, (), ())
    offset = selection.until.astimezone(zone).utcoffset() or timedelta()
    slots = Slots(step_for(selection.until - since), int(offset.total_seconds()))
    cells = await read_cells(session, selection, slots, exact=exact)
    whole = Cell()
    for cell in cells.values():
        whole.add(cell)
    last = slots.number(selection.until - timedelta(microseconds=1))
    buckets = tuple(
        _bucket(slots.start(number), cells[number], exact=exact) for number in range(slots.number(since), last + 1)
    )
    shown = Series(timedelta(seconds=slots.step), exact, buckets, await marks(session, replace(selection, since=since)))
    return tiles_of(whole, exact=exact), shown


def step_for(span: timedelta) -> int:
    """In seconds: the smallest one that needs no more than so many buckets, with one that is cut at each end."""
    fewest = span.total_seconds() / (MOST_BUCKETS - 1)
    return next((step for step in _STEPS if step >= fewest), -(-int(fewest) // _DAY) * _DAY)


def _bucket(start: datetime, cell: Cell, *, exact: bool) -> Bucket:
    sums, times = cell.sums, cell.times["total"]
    again = sums["on_purpose"] + sums["lost"] + sums["rounding"]
    return Bucket(
        start=start,
        turns=sums["turns"],
        cached=sums["cached"],
        new=sums["prompt"] - sums["cached"] - again,
        on_purpose=sums["on_purpose"],
        lost=sums["lost"],
        rounding=sums["rounding"],
        first_token_p50_ms=percentile(times, 50, exact=exact),
        first_token_p95_ms=percentile(times, 95, exact=exact),
    )


async def marks(session: AsyncSession, selection: Selection) -> tuple[Mark, ...]:
    """Those of other backends are left out; what concerns none of them concerns all."""
    event = ServingEvent
    query = (
        select(event.kind, event.at, event.backend, event.serving_id, event.detail)
        .where(event.at < selection.until)
        .order_by(event.at, event.id)
    )
    if selection.since is not None:
        query = query.where(event.at >= selection.since)
    if selection.backend is not None:
        query = query.where((event.backend == selection.backend) | event.backend.is_(None))
    return tuple(Mark(*row) for row in (await session.execute(query)).all())
