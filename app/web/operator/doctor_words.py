"""The doctor's report in the reader's language."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.doctor import APP, Finding, Report, State
from app.web.languages import Language


@dataclass(frozen=True, slots=True)
class FindingCells:
    """`advice` is empty where there is nothing to do."""

    subject: str
    check: str
    state: State
    state_words: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class ReportCells:
    at: str
    summary: str
    findings: Sequence[FindingCells]


def report_cells(report: Report, language: Language, zone: str) -> ReportCells:
    counts = {
        "ok": language.number(report.count("ok")),
        "warn": language.number(report.count("warn")),
        "fail": language.number(report.count("fail")),
    }
    return ReportCells(
        at=language.moment(report.at, zone),
        summary=language.gettext("%(fail)s failed, %(warn)s with a warning, %(ok)s well", **counts),
        findings=[_cells(finding, language) for finding in sorted(report.findings, key=_urgency)],
    )


def _urgency(finding: Finding) -> int:
    """What failed comes first; the rest stays in its order."""
    return ("fail", "warn", "ok").index(finding.state)


def _cells(finding: Finding, language: Language) -> FindingCells:
    values = {
        name: language.number(value) if isinstance(value, int) else value for name, value in finding.values.items()
    }
    return FindingCells(
        subject=language.gettext("this app") if finding.subject == APP else finding.subject,
        check=check_words(finding.check, language),
        state=finding.state,
        state_words=state_words(finding.state, language),
        message=_said(finding.message, values, language),
        advice=_said(finding.advice, values, language),
    )


def _said(sentence: str, values: dict[str, str], language: Language) -> str:
    """The catalog's header stands under the empty sentence."""
    return language.gettext(sentence, **values) if sentence else ""


def state_words(state: State, language: Language) -> str:
    return {
        "ok": language.gettext("well"),
        "warn": language.gettext("warning"),
        "fail": language.gettext("failed"),
    }[state]


def check_words(check: str, language: Language) -> str:
    """One that another version has made stands as it is stored."""
    return {
        "database": language.gettext("Database"),
        "data folder": language.gettext("Data folder"),
        "redis": "Redis",
        "sharing": language.gettext("Shared cache"),
        "reachable": language.gettext("Reachable"),
        "models": language.gettext("Models"),
        "streaming": language.gettext("Streaming"),
        "message_start": "message_start",
        "usage": language.gettext("Usage"),
        "cache": language.gettext("Two turns"),
        "diagnostics": language.gettext("Diagnostics"),
        "isolation": language.gettext("Isolation"),
        "inspection": language.gettext("Inspection"),
        "prefill": language.gettext("Continuing"),
        "markers": language.gettext("Typed control tokens"),
        "forget": language.gettext("Forgetting"),
    }.get(check, check)
