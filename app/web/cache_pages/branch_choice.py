"""Which turns of a conversation a page shows: those of one branch, or all of them; pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.reports import BranchRow, ConversationReport, TurnRow
from app.web.languages import Language


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    """`shared` are turns that lie on several branches. `choices` is empty where there is nothing to choose.

    `problem`: the asked branch is not there, and all turns are shown.
    """

    rows: tuple[TurnRow, ...]
    shared: frozenset[UUID]
    choices: tuple[Choice, ...]
    problem: str | None


def choose(report: ConversationReport, asked: str, language: Language) -> Chosen:
    """`asked` is the id of a branch's last message, or empty for all turns."""
    branch = next((each for each in report.branches if str(each.leaf_id) == asked), None)
    rows = tuple(row for row in report.turns if branch is None or row.figures.id in branch.turn_ids)
    on = Counter(turn_id for each in report.branches for turn_id in each.turn_ids)
    problem = None
    if branch is None and asked:
        problem = language.gettext(
            "“branch” is not one of this conversation. All turns are shown; choose a branch here."
        )
    shared = frozenset(turn_id for turn_id, branches in on.items() if branches > 1)
    return Chosen(rows, shared, _choices(report, branch, language), problem)


def _choices(report: ConversationReport, chosen: BranchRow | None, language: Language) -> tuple[Choice, ...]:
    if len(report.branches) < 2:
        return ()
    everything = language.ngettext("All branches: %(n)s turn", "All branches: %(n)s turns", len(report.turns))
    return (
        Choice("", everything, chosen is None),
        *(
            Choice(str(branch.leaf_id), branch_label(number, branch, language), branch is chosen)
            for number, branch in enumerate(report.branches, start=1)
        ),
    )


def branch_label(number: int, branch: BranchRow, language: Language) -> str:
    values = {"number": language.number(number)}
    count = len(branch.turn_ids)
    if branch.active:
        return language.ngettext(
            "Branch %(number)s, shown in the chat: %(n)s turn", "Branch %(number)s, shown in the chat: %(n)s turns",
            count, **values,
        )  # fmt: skip
    return language.ngettext("Branch %(number)s: %(n)s turn", "Branch %(number)s: %(n)s turns", count, **values)


def states_of(rows: Sequence[TurnRow]) -> Counter[str]:
    """How many turns are in each state, as it is stored."""
    return Counter(row.figures.status for row in rows)
