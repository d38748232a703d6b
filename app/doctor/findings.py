"""What the doctor says: one finding for each check, as values and as JSON. It knows no languages and no backends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

State = Literal["ok", "warn", "fail"]
Value: TypeAlias = str | int
APP = "app"
"""The subject of what is not about a backend."""


def marked(sentence: str) -> str:
    """Tells the catalog tool that this is to be translated, and does nothing else."""
    return sentence


@dataclass(frozen=True, slots=True)
class Finding:
    """`subject` is a backend's name, or `app`; `check` a word that stays the same from version to version.

    `message` and `advice` are English sentences with places for `values`; `advice` says what to do, empty where nothing
    is to be done.
    """

    subject: str
    check: str
    state: State
    message: str
    advice: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def english(self) -> str:
        return " ".join(part % self.values for part in (self.message, self.advice) if part)


@dataclass(frozen=True, slots=True)
class Report:
    at: datetime
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> bool:
        return any(finding.state == "fail" for finding in self.findings)

    def count(self, state: State) -> int:
        return sum(finding.state == state for finding in self.findings)

    def to_json(self) -> str:
        return _REPORTS.dump_json(self).decode()

    @staticmethod
    def from_json(text: str) -> "Report | None":
        """None for what another version has written."""
        try:
            return _REPORTS.validate_json(text)
        except ValueError:
            return None


_REPORTS = TypeAdapter(Report)


@dataclass(frozen=True, slots=True)
class Chart:
    """Where the findings of one subject are written down."""

    subject: str
    findings: list[Finding] = field(default_factory=list)

    def ok(self, check: str, message: str, **values: Value) -> None:
        self.findings.append(Finding(self.subject, check, "ok", message, "", values))

    def warn(self, check: str, message: str, advice: str, **values: Value) -> None:
        self.findings.append(Finding(self.subject, check, "warn", message, advice, values))

    def fail(self, check: str, message: str, advice: str, **values: Value) -> None:
        self.findings.append(Finding(self.subject, check, "fail", message, advice, values))
