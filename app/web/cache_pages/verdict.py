"""What a conversation's turns lost, in one sentence; pure."""

from collections.abc import Mapping, Sequence

from app.reports import TurnRow
from app.web.languages import Language
from app.web.outcome_words import outcome_words
from app.web.turn_layers import layers_of, lost_tokens

MOST_NAMED = 5
SHORTEST_MS = 10  # What was lost has never taken 0 s.


def verdict_of(rows: Sequence[TurnRow], speeds: Mapping[str, float], language: Language) -> str:
    """`speeds` is how many tokens a second each backend computes; a backend that was not measured is missing."""
    losing = lossy_rows(rows)
    rest = _rest(rows, language)
    if losing:
        named = _named(sorted(losing, key=lambda row: -(lost_tokens(row.figures) or 0)), language)
        rest = rest or language.gettext("the rest reused all that was possible")
        return f"{_lost(losing, len(rows), speeds, language)}: {named}; {rest}."
    if all(layers_of(row.figures) is None for row in rows):
        return f"{rest}."
    nothing = language.ngettext("Nothing lost in %(n)s turn", "Nothing lost in %(n)s turns", len(rows))
    return f"{nothing}; {rest}." if rest else f"{nothing}."


def lossy_rows(rows: Sequence[TurnRow]) -> list[TurnRow]:
    """Those that lost something, in their order."""
    return [row for row in rows if lost_tokens(row.figures)]


def lossy_backends(rows: Sequence[TurnRow]) -> set[str]:
    """Where something was lost."""
    return {row.figures.backend for row in lossy_rows(rows) if row.figures.backend}


def lost_seconds(rows: Sequence[TurnRow], speeds: Mapping[str, float]) -> float | None:
    """What computing again took; None where the speed of one of the backends is not known."""
    seconds = 0.0
    for row in rows:
        speed = speeds.get(row.figures.backend or "")
        if speed is None:
            return None
        seconds += (lost_tokens(row.figures) or 0) / speed
    return seconds


def _lost(losing: Sequence[TurnRow], turns: int, speeds: Mapping[str, float], language: Language) -> str:
    seconds = lost_seconds(losing, speeds)
    values = {
        "lossy": language.number(len(losing)),
        "tokens": language.number(sum(lost_tokens(row.figures) or 0 for row in losing)),
    }
    if seconds is None:
        return language.ngettext(
            "%(lossy)s of %(n)s turn lost %(tokens)s tokens", "%(lossy)s of %(n)s turns lost %(tokens)s tokens", turns,
            **values,
        )  # fmt: skip
    return language.ngettext(
        "%(lossy)s of %(n)s turn lost %(tokens)s tokens (about %(seconds)s)",
        "%(lossy)s of %(n)s turns lost %(tokens)s tokens (about %(seconds)s)",
        turns,
        seconds=language.seconds(max(SHORTEST_MS, round(seconds * 1000))),
        **values,
    )


def _named(losing: Sequence[TurnRow], language: Language) -> str:
    named = [
        language.gettext(
            "turn %(number)s %(outcome)s %(tokens)s",
            number=language.number(row.number),
            outcome=outcome_words(row.figures.outcome, language).name,
            tokens=language.number(lost_tokens(row.figures) or 0),
        )
        for row in losing[:MOST_NAMED]
    ]
    if len(losing) > MOST_NAMED:
        named.append(language.gettext("%(n)s more", n=language.number(len(losing) - MOST_NAMED)))
    return ", ".join(named)


def _rest(rows: Sequence[TurnRow], language: Language) -> str:
    """What else is to be said of the turns that lost nothing; empty where each has read all that it could."""
    layers = [layers_of(row.figures) for row in rows]
    on_purpose = sum(each.on_purpose for each in layers if each)
    rounding = sum(each.rounding for each in layers if each)
    unknown = sum(each is None for each in layers)
    said = [
        language.ngettext("%(n)s token computed again on purpose", "%(n)s tokens computed again on purpose", on_purpose)
        if on_purpose
        else "",
        language.ngettext(
            "%(n)s token missed by rounding or without a known cause",
            "%(n)s tokens missed by rounding or without a known cause",
            rounding,
        )
        if rounding
        else "",
        language.ngettext("%(n)s turn without figures", "%(n)s turns without figures", unknown) if unknown else "",
    ]
    return ", ".join(part for part in said if part)
