"""What a verification finds: numbers, places and references, never a text."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Problem:
    """One turn, or one message, that is not what was sent. `words` name the place."""

    reference: str
    words: str

    def __str__(self) -> str:
        return f"{self.reference} {self.words}"


@dataclass(slots=True)
class Findings:
    """Turns by what came of them. `deleted` are those whose text is gone, with or without a conversation.

    `unhashed` were never sent, or were imported from somewhere else: there is nothing to compare them with.
    """

    matching: int = 0
    mismatching: int = 0
    deleted: int = 0
    unhashed: int = 0
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: "Findings") -> None:
        self.matching += other.matching
        self.mismatching += other.mismatching
        self.deleted += other.deleted
        self.unhashed += other.unhashed
        self.problems += other.problems

    def summary(self) -> str:
        turns = self.matching + self.mismatching + self.deleted + self.unhashed
        return (
            f"{turns} turns: {self.matching} match, {self.mismatching} differ, "
            f"{self.deleted} cannot be rebuilt (deleted), {self.unhashed} have no hash (never sent, or imported)"
        )
