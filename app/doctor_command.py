"""``recount doctor``: every finding as one line, or all of them as one JSON object."""

import asyncio
import json

import click

from app.doctor import Doctor, Finding, Patience, Report
from app.settings import Settings


def examine_and_report(settings: Settings, timeout: float, *, as_json: bool) -> Report:
    """`timeout` is in seconds, for one answer of a model."""
    doctor = Doctor(settings, Patience(answer=timeout))
    if as_json:
        report = asyncio.run(doctor.examine())
        click.echo(json.dumps(_fields(report), ensure_ascii=False, indent=2))
        return report
    report = asyncio.run(doctor.examine(lambda finding: click.echo(_line(finding))))
    click.echo(f"{report.count('ok')} ok, {report.count('warn')} warn, {report.count('fail')} fail")
    return report


def _line(finding: Finding) -> str:
    return f"{finding.state:<5} {finding.subject}: {finding.check}: {finding.english}"


def _fields(report: Report) -> dict[str, object]:
    """The sentence is for people; `subject`, `check`, `state` and `values` are for programs."""
    return {
        "at": report.at.isoformat(),
        "failed": report.failed,
        "checks": [
            {
                "subject": finding.subject,
                "check": finding.check,
                "state": finding.state,
                "text": finding.message % finding.values,
                "advice": finding.advice % finding.values,
                "values": dict(finding.values),
            }
            for finding in report.findings
        ],
    }
