"""The reports behind the operator's overview. Whoever calls this has checked that the viewer is an operator.

Each method is one short read, or a few of them. What a report means is said at the values it returns.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final
from uuid import UUID

from app.cache_outcomes import Group, Outcome
from app.conversations.paging import MomentMark
from app.database import Database
from app.reports import filter_choices, problems, ranking, series, tiles, turn_list
from app.reports.beside import beside
from app.reports.marks import RankMark
from app.reports.overview import (
    ErrorCount,
    FilterChoices,
    ListedTurn,
    LiveTurns,
    Mark,
    Neighbours,
    Overview,
    Problems,
    RankingPage,
    Selection,
    Series,
    Tiles,
    Totals,
    TurnPage,
)
from app.reports.ranking import RankingSort
from app.reports.turn_list import TurnFilter

CHUNK: Final = 500
WORST_SHOWN: Final = 10


class Overviews:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def overview(
        self,
        selection: Selection,
        zone: tzinfo,
        now: datetime,
        backends: Iterable[str],
        *,
        before: Selection | None = None,
    ) -> Overview:
        """In two readings beside each other: most of the time a database works, and Recount waits."""

        async def figures() -> tuple[tuple[Tiles, Series], Tiles | None, dict[str, Totals]]:
            drawn = await self.tiles_and_series(selection, zone)
            return drawn, None if before is None else await self.tiles(before), await self.totals(selection, backends)

        async def causes() -> tuple[Problems, RankingPage, Sequence[ErrorCount], LiveTurns]:
            return (
                await self.problems(selection, now),
                await self.ranking(selection, "lost", limit=WORST_SHOWN),
                await self.errors(selection),
                await self.running_and_queued(),
            )

        ((tiles, series), tiles_before, totals), (problems, ranked, errors, live) = await beside(figures, causes)
        worst = tuple(row for row in ranked.rows if row.lost.tokens)
        return Overview(tiles, tiles_before, series, live, problems, worst, tuple(errors), totals)

    async def tiles(self, selection: Selection) -> Tiles:
        async with self._database.read() as session:
            return await tiles.tiles(session, selection)

    async def totals(self, selection: Selection, backends: Iterable[str]) -> dict[str, Totals]:
        """Of each of these backends; '' has the turns that none of them took."""
        async with self._database.read() as session:
            return await tiles.totals(session, selection, backends)

    async def running_and_queued(self) -> LiveTurns:
        async with self._database.read() as session:
            return await tiles.live_turns(session)

    async def problems(self, selection: Selection, now: datetime) -> Problems:
        async with self._database.read() as session:
            return await problems.problems(session, selection, now)

    async def tiles_and_series(self, selection: Selection, zone: tzinfo = UTC) -> tuple[Tiles, Series]:
        """Buckets begin at whole steps of the zone's clock, as it stands at the end of the selection."""
        async with self._database.read() as session:
            return await series.tiles_and_series(session, selection, zone)

    async def series(self, selection: Selection, zone: tzinfo = UTC) -> Series:
        return (await self.tiles_and_series(selection, zone))[1]

    async def marks(self, selection: Selection) -> Sequence[Mark]:
        async with self._database.read() as session:
            return await series.marks(session, selection)

    async def ranking(
        self, selection: Selection, sort: RankingSort = "lost", after: RankMark | None = None, limit: int = 50
    ) -> RankingPage:
        async with self._database.read() as session:
            return await ranking.ranking(session, selection, sort, after, limit)

    async def neighbours(self, selection: Selection, sort: RankingSort, conversation_id: UUID) -> Neighbours:
        async with self._database.read() as session:
            return await ranking.neighbours(session, selection, sort, conversation_id)

    async def errors(self, selection: Selection) -> Sequence[ErrorCount]:
        async with self._database.read() as session:
            return await turn_list.errors(session, selection)

    async def turns(
        self,
        selection: Selection,
        *,
        outcome: Outcome | None = None,
        group: Group | None = None,
        status: str | None = None,
        error_type: str | None = None,
        after: MomentMark | None = None,
        limit: int = 50,
    ) -> TurnPage:
        """Those that meet all that is given."""
        narrowed = TurnFilter(outcome, group, status, error_type)
        async with self._database.read() as session:
            return await turn_list.turns(session, selection, narrowed, after, limit)

    async def every_turn(
        self,
        selection: Selection,
        *,
        outcome: Outcome | None = None,
        group: Group | None = None,
        status: str | None = None,
        error_type: str | None = None,
        chunk: int = CHUNK,
    ) -> AsyncIterator[ListedTurn]:
        """All of them, newest first, for exports: no session is open while the caller writes."""
        narrowed = TurnFilter(outcome, group, status, error_type)
        after: MomentMark | None = None
        while True:
            async with self._database.read() as session:
                page = await turn_list.turns(session, selection, narrowed, after, chunk)
            for row in page.rows:
                yield row
            after = page.after
            if after is None:
                return

    async def choices(self) -> FilterChoices:
        async with self._database.read() as session:
            return await filter_choices.filter_choices(session)
