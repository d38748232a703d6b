"""A what-if in words: the verdict, why some turns were not compared, the sums, and each turn's row; pure."""

from dataclasses import dataclass

from app.web.figure_words import absence_words
from app.web.languages import Language
from app.what_if import ConversationWhatIf, Obstacle, Read, Sums, TurnWhatIf


@dataclass(frozen=True, slots=True)
class ReadCells:
    """`time` is how long what was lost takes to compute; empty where nothing was lost or no speed was measured."""

    prompt: str
    cached: str
    computed: str
    lost: str
    time: str


@dataclass(frozen=True, slots=True)
class TurnCells:
    """Where one of the two is None, `absent` and `untried` say why."""

    number: str
    at: str
    real: ReadCells | None
    clock: ReadCells | None
    blocks: ReadCells | None
    absent: str
    untried: str


@dataclass(frozen=True, slots=True)
class SumCells:
    """One way with its sums; they are "–" where no turn is in them."""

    name: str
    turns: str
    prompt: str
    cached: str
    computed: str
    lost: str
    time: str


def verdict_of(found: ConversationWhatIf, language: Language) -> tuple[str, ...]:
    """Sentences: what was lost, what would have been with the clock, and what blocks would have computed more."""
    if not found.real.turns:
        return (language.gettext("No turn has reported what it read from the cache, so there is nothing to compare."),)
    sentences = [_lost_words(found.real, language)]
    if found.compared:
        sentences.append(_clock_words(found, language))
    else:
        sentences.append(language.gettext("The clock in the system prompt could not be tried."))
    more = found.blocks.computed - found.real.computed
    amount = _amount(more, found.more_seconds(lambda turn: turn.blocks), language)
    sentences.append(
        language.gettext("In blocks of 16 tokens it would have computed %(amount)s more.", amount=amount)
        if more
        else language.gettext("In blocks of 16 tokens it would have computed just as many tokens.")
    )
    return tuple(sentences)


def prompt_length_words(found: ConversationWhatIf, language: Language) -> str:
    """How much shorter or longer the prompts with the clock are; empty where they are not.

    This moves the computed tokens, and has nothing to do with the cache.
    """
    longer = found.clock.prompt - found.real_compared.prompt
    if not longer:
        return ""
    tokens = language.ngettext("%(n)s token", "%(n)s tokens", abs(longer))
    if longer < 0:
        return language.gettext(
            "The prompts with the clock in the system prompt are shorter by %(tokens)s, because the questions are"
            " without their time notes. That is no gain of the cache.",
            tokens=tokens,
        )
    return language.gettext(
        "The prompts with the clock in the system prompt are longer by %(tokens)s: the clock takes more tokens than"
        " the time notes that it replaces.",
        tokens=tokens,
    )


def obstacles_in_words(found: ConversationWhatIf, language: Language) -> tuple[tuple[str, str], ...]:
    """How many turns were not compared, and why."""
    words = _obstacle_words(language)
    return tuple(
        (language.ngettext("%(n)s turn", "%(n)s turns", turns), words[obstacle])
        for obstacle, turns in found.obstacles.items()
    )


def summary_of(found: ConversationWhatIf, language: Language) -> tuple[SumCells, ...]:
    named = (
        (language.gettext("As sent"), found.real),
        (language.gettext("Clock in the system prompt"), found.clock),
        (language.gettext("16-token blocks"), found.blocks),
    )
    return tuple(_sum_cells(name, sums, len(found.turns), language) for name, sums in named)


def cells_of(turn: TurnWhatIf, language: Language, zone: str) -> TurnCells:
    deleted = turn.obstacle is Obstacle.DELETED
    return TurnCells(
        number=language.number(turn.number),
        at=language.moment(turn.figures.created_at, zone),
        real=_read_cells(turn, turn.real, language),
        clock=_read_cells(turn, turn.clock, language),
        blocks=_read_cells(turn, turn.blocks, language),
        absent=absence_words(turn.figures, language),
        untried=language.gettext("not rebuildable") if deleted else language.gettext("not compared"),
    )


def _read_cells(turn: TurnWhatIf, read: Read | None, language: Language) -> ReadCells | None:
    if read is None:
        return None
    seconds = turn.seconds(read.lost) if read.lost else None
    return ReadCells(
        prompt=language.number(read.prompt),
        cached=language.number(read.cached),
        computed=language.number(read.computed),
        lost=language.number(read.lost),
        time="" if seconds is None else _about(seconds, language),
    )


def _sum_cells(name: str, sums: Sums, turns: int, language: Language) -> SumCells:
    def tokens(value: int) -> str:
        return language.number(value) if sums.turns else "–"

    covered = language.gettext(
        "%(covered)s of %(all)s", covered=language.number(sums.turns), all=language.number(turns)
    )
    known = sums.turns and sums.lost_seconds is not None
    time = language.seconds(round((sums.lost_seconds or 0) * 1000)) if known else "–"
    figures = (tokens(sums.prompt), tokens(sums.cached), tokens(sums.computed), tokens(sums.lost))
    return SumCells(name, covered, *figures, time)


def _lost_words(real: Sums, language: Language) -> str:
    if not real.lost:
        return language.ngettext(
            "As sent, nothing was lost in %(n)s turn.", "As sent, nothing was lost in %(n)s turns.", real.turns
        )
    return language.gettext("As sent, %(amount)s were lost.", amount=_amount(real.lost, real.lost_seconds, language))


def _clock_words(found: ConversationWhatIf, language: Language) -> str:
    """What it would have lost of the cache; of the whole conversation only where all of it was compared."""
    whole = len(found.compared) == found.comparable
    who = language.gettext("this conversation") if whole else language.gettext("the compared turns")
    lost = found.clock.lost
    if not lost:
        return language.gettext("With the clock in the system prompt %(who)s would have lost nothing.", who=who)
    return language.gettext(
        "With the clock in the system prompt %(who)s would have lost %(tokens)s of the cache%(time)s.",
        who=who,
        tokens=language.ngettext("%(n)s token", "%(n)s tokens", lost),
        time=_in_brackets(found.clock.lost_seconds, language),
    )


def _amount(tokens: int, seconds: float | None, language: Language) -> str:
    if seconds is None:
        return language.ngettext("%(n)s token", "%(n)s tokens", tokens)
    time = language.seconds(round(seconds * 1000))
    return language.ngettext("%(n)s token (about %(time)s)", "%(n)s tokens (about %(time)s)", tokens, time=time)


def _in_brackets(seconds: float | None, language: Language) -> str:
    """Empty where no speed was measured."""
    return "" if seconds is None else f" ({_about(seconds, language)})"


def _about(seconds: float, language: Language) -> str:
    return language.gettext("about %(time)s", time=language.seconds(round(seconds * 1000)))


def _obstacle_words(language: Language) -> dict[Obstacle, str]:
    _ = language.gettext
    return {
        Obstacle.DELETED: _("not rebuildable: the text was deleted or cannot be read."),
        Obstacle.OTHER_BACKEND: _("the model server that answered is not among the settings any more."),
        Obstacle.NO_INSPECTION: _("the model server cannot compare requests, or its option inspection is off."),
        Obstacle.AWAY: _("the model server did not answer."),
        Obstacle.REFUSED: _("the model server refused to compare. It does so only with its key."),
        Obstacle.NO_MODEL: _("the model server does not have this model any more, or cannot compare."),
        Obstacle.FAILED: _("the model server failed to compare them."),
        Obstacle.TIME_UP: _("the time for this page was over before their turn came."),
    }
