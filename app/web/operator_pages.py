"""What operators see of conversations: references and numbers, never titles or text.

For everybody else these pages do not exist.
"""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from app.auth import Account
from app.conversations.figures import TurnFigures
from app.errors import NotFound
from app.reports import TurnRow
from app.web.figure_words import (
    expected_words,
    kind_words,
    shortfall_words,
    speed_words,
    split_words,
    status_words,
    time_words,
    tokens_words,
)
from app.web.languages import Language
from app.web.pages import pages_of
from app.web.turn_chart import chart_of
from app.web.turn_totals import totals_of
from app.web.visit import account_of, house_of, visit_of

BLOCK_TOKENS = 16  # The usual block of engines that reuse whole blocks only.


@dataclass(frozen=True, slots=True)
class TurnCells:
    """One row of the turn table, in words."""

    number: str
    kind: str
    at: str
    state: str
    prompt: str
    cached: str
    computed: str
    written: str
    expected: str
    shortfall: str
    kv_at_end: str
    in_blocks: str
    first_token: str
    split: str
    duration: str
    speed: str


async def operator_conversation(request: Request) -> Response:
    operator_of(request)
    report = await house_of(request).reports.conversation(request.path_params["conversation_id"])
    visit = visit_of(request)
    return pages_of(request).response(
        request,
        "operator/conversation.html",
        report=report,
        chart=chart_of([(row.number, row.figures) for row in report.turns]),
        rows=[cells_of(row, visit.language, visit.time_zone) for row in report.turns],
        totals=totals_of([row.figures for row in report.turns]),
    )


def operator_of(request: Request) -> Account:
    """The signed-in operator. Anybody else is told that there is no such page."""
    account = account_of(request)
    if account.role != "operator":
        raise NotFound
    return account


def cells_of(row: TurnRow, language: Language, zone: str) -> TurnCells:
    figures = row.figures
    has_base = row.base_turn_number is not None

    def tokens(value: int | None) -> str:
        return tokens_words(value, figures, language)

    return TurnCells(
        number=language.number(row.number),
        kind=kind_words(figures, language),
        at=language.moment(figures.created_at, zone),
        state=_state(figures, language),
        prompt=tokens(figures.prompt_tokens),
        cached=tokens(figures.cached_tokens),
        computed=tokens(figures.computed_tokens),
        written=tokens_words(figures.output_tokens, figures, language, final=True),
        expected=expected_words(figures, has_base, language),
        shortfall=shortfall_words(figures, has_base, language),
        kv_at_end=tokens_words(row.kv_tokens_at_end, figures, language, final=True),
        in_blocks=tokens(figures.reported.cached_in_blocks(BLOCK_TOKENS)),
        first_token=time_words(figures.time_to_first_token_ms, figures, language),
        split=split_words(figures, language),
        duration=time_words(figures.duration_ms, figures, language),
        speed=speed_words(figures, language) or "–",
    )


def _state(figures: TurnFigures, language: Language) -> str:
    """The state in words; stop reason and type of error as they are stored."""
    parts = (status_words(figures, language), figures.stop_reason, figures.error_type)
    return " · ".join(part for part in parts if part)
