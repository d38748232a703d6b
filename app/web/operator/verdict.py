"""The one sentence that says how the selected turns did; pure."""

from collections.abc import Sequence

from app.reports.overview import Problem, Tiles
from app.web.languages import Language
from app.web.operator.costs import Speeds, cost_of, seconds_words


def verdict_of(tiles: Tiles, faults: Sequence[Problem], speeds: Speeds, language: Language) -> str:
    """`faults` are the problems that lost tokens, each in a row of its own."""
    if not tiles.turns:
        return language.gettext("There is no turn in this period and selection.")
    if faults:
        return _lost(faults, speeds, language)
    if not tiles.hits.of:
        return language.ngettext(
            "%(n)s turn, and it could have read nothing from the cache: it was the first of its conversation, or its"
            " server does not say what it read.",
            "%(n)s turns, and none of them could have read anything from the cache: they were the first of their"
            " conversations, or their server does not say what it read.",
            tiles.turns,
        )
    nothing = language.ngettext("Nothing lost in %(n)s turn.", "Nothing lost in %(n)s turns.", tiles.turns)
    if tiles.hits.of == tiles.turns:
        return nothing
    could = language.ngettext(
        "%(n)s of them could have read from the cache.", "%(n)s of them could have read from the cache.", tiles.hits.of
    )
    return f"{nothing} {could}"


def _lost(faults: Sequence[Problem], speeds: Speeds, language: Language) -> str:
    cost = cost_of(faults, speeds)
    time = seconds_words(cost, language)
    values = {
        "causes": language.ngettext("%(n)s cause", "%(n)s causes", len(faults)),
        "tokens": language.ngettext("%(n)s token", "%(n)s tokens", cost.tokens),
        "turns": language.ngettext("in %(n)s turn", "in %(n)s turns", sum(row.turns for row in faults)),
    }
    if time is None:
        words = language.gettext("%(causes)s lost %(tokens)s %(turns)s", **values)
    else:
        words = language.gettext("%(causes)s lost %(tokens)s (%(time)s of prefill) %(turns)s", **values, time=time)
    new = sum(row.is_new for row in faults)
    if not new:
        return f"{words}."
    return language.gettext(
        "%(lost)s; %(new)s.", lost=words, new=language.ngettext("%(n)s is new", "%(n)s are new", new)
    )
