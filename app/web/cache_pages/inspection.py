"""What the model server itself shows of one turn: its tokens, and where a chosen position looks."""

from dataclasses import dataclass, replace

from starlette.requests import Request

from app.conversations.figures import TurnFigures
from app.reports import TurnReport
from app.turns.inspections import Inspections, Missing
from app.web.cache_pages.attention import TOP, Asked, AttentionForm, AttentionView, beyond, read_form, refusal, view_of
from app.web.cache_pages.strip import Strip, strip_of
from app.web.languages import Language
from app.web.visit import house_of, visit_of
from inference_client import AttentionRow


@dataclass(frozen=True, slots=True)
class Inspection:
    """`missing` says in words why there is no strip, or no attention; `problem` what is wrong with the address."""

    strip: Strip | None = None
    form: AttentionForm | None = None
    attention: AttentionView | None = None
    missing: str | None = None
    problem: str | None = None


async def inspect(request: Request, report: TurnReport, *, readable: bool) -> Inspection:
    """Of a server that shows nothing, or does not answer in time, only the reason is known."""
    figures = report.row.figures
    language, inspections = visit_of(request).language, house_of(request).inspections
    shown = await inspections.tokens(figures.backend, figures.backend_message_id)
    if isinstance(shown, Missing):
        return Inspection(missing=_no_strip_words(shown, report, language))
    form = read_form(request.query_params, shown.kv_tokens, language)
    row = await _attention(inspections, figures, form.asked) if form.asked else None
    missing = None
    if row is Missing.NOT_THERE and form.asked:
        form = await _with_problem(inspections, figures, form, language)
    elif isinstance(row, Missing):
        missing = missing_words(row, language)
    view, weights = None, {}
    if isinstance(row, AttentionRow) and form.asked:
        view = view_of(row, form.asked, language, readable=readable)
        weights = {token.position: token.weight for token in row.top}
    asking = form.asked.position if form.asked else None
    start = _start(request, asking)
    strip = strip_of(
        shown, start or 0, language, readable=readable, weights=weights, asking=asking, diverged=figures.diverged_token
    )
    problem = form.problem
    if start is None:
        problem = refusal("from", f"0–{strip.total - 1}", language)
    return Inspection(strip, form, view, missing, problem)


def missing_words(reason: Missing, language: Language) -> str:
    return {
        Missing.NO_MESSAGE: language.gettext("The turn never got an answer that a model server could tell of."),
        Missing.NO_INSPECTION: language.gettext("This model server does not show its tokens."),
        Missing.NOT_KNOWN: language.gettext(
            "The model server has no record of this message any more: it was restarted, or needed the room."
        ),
        Missing.EVICTED: language.gettext(
            "The KV of this message has been evicted, so nobody can look at it any more."
        ),
        Missing.NOT_THERE: language.gettext("The model server does not show that position."),
        Missing.REFUSED: language.gettext("The model server does not show its tokens with the key that it was given."),
        Missing.UNREACHABLE: language.gettext("The model server did not answer in time."),
    }[reason]


def _no_strip_words(reason: Missing, report: TurnReport, language: Language) -> str:
    """A turn that has not ended has no strip yet, which is nobody's fault; numbers are stored when it ends."""
    if report.texts_deleted:
        return language.gettext("The texts of this turn were deleted; its numbers stay.")
    figures = report.row.figures
    if figures.live and reason in (Missing.NO_MESSAGE, Missing.NOT_KNOWN):
        return language.gettext(
            "The answer is still being written. Its tokens are shown here when the turn has ended, if the model server"
            " shows them."
        )
    if figures.live:
        return missing_words(reason, language)
    stored = language.gettext("The numbers above were stored when the turn ended.")
    return f"{missing_words(reason, language)} {stored}"


async def _attention(inspections: Inspections, figures: TurnFigures, asked: Asked) -> AttentionRow | Missing:
    return await inspections.attention(
        figures.backend, figures.backend_message_id or "", position=asked.position, layer=asked.layer, head=asked.head,
        top=TOP,
    )  # fmt: skip


async def _with_problem(
    inspections: Inspections, figures: TurnFigures, form: AttentionForm, language: Language
) -> AttentionForm:
    """How many layers and heads there are is told with any answer that there is."""
    assert form.asked is not None
    known = await _attention(inspections, figures, Asked(form.asked.position, 0, "mean"))
    if isinstance(known, Missing):
        return replace(form, asked=None, problem=missing_words(known, language))
    return replace(form, asked=None, problem=beyond(form.asked, known.layers, known.heads, language))


def _start(request: Request, asking: int | None) -> int | None:
    """The position whose page is shown; None where the address has a wrong one."""
    text = request.query_params.get("from", "")
    if not text:
        return asking or 0
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None
