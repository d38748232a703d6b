"""Finds what looks as if it changed from turn to turn in a system prompt: dates, times, uuids, placeholders; pure.

The system prompt stands before everything else, so one changed byte makes the model compute all that follows
again. What is found is a hint for the writer; nothing is ever expanded, changed or refused.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal, cast

VolatileKind = Literal["date", "time", "uuid", "placeholder"]

_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH: Final = r"(?:0?[1-9]|1[0-2])"
_YEAR: Final = r"(?:19|20)\d\d"
_HOUR: Final = r"(?:[01]?\d|2[0-3])"
_HALF_DAY: Final = r"[ap]\.?m\b\.?"
_MONTH_NAME: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_NAMED_DAY: Final = rf"{_DAY}(?:st|nd|rd|th)?"
_FIELD: Final = r"%[YymdHMSjaABbcxXzZpI]"
_NAME: Final = (
    r"(?:(?:current|utc|local|system|현재)[ _.-]?)?"
    r"(?:date[ _-]?time|date|timestamp|time|now|today|weekday|day|year|month|clock|uuid|guid|request[ _-]?id"
    r"|session[ _-]?id|random|nonce|날짜|시간|시각|오늘|현재)"
    r"(?:[ _-]?(?:utc|local|now|iso))?"
)
_PLACEHOLDER: Final = (
    r"\{\{[^{}\n]{1,60}\}\}",
    rf"\{{{_NAME}(?:[:!][^{{}}\n]{{0,30}})?\}}",
    r"\$\([^()\n]{1,60}\)",
    rf"\$\{{{_NAME}\}}",
    rf"\${_NAME}(?!\w)",
    rf"<{_NAME}>",
    rf"\[{_NAME}\]",
    rf"%{_NAME}%",
    rf"{_FIELD}(?:[-/:. T,]{{0,3}}{_FIELD})+",
    r"<%=?[^%\n]{1,60}%>",
)
_UUID: Final = (r"(?<![0-9a-z])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-z])",)
_DATE: Final = (
    rf"(?<![\d.]){_YEAR}(?P<mark>[-/.]){_MONTH}(?P=mark){_DAY}(?!\d)",
    rf"(?<![\d./-]){_DAY}[./-]{_DAY}[./-]{_YEAR}(?!\d)",
    rf"(?<!\d)(?:{_YEAR}년\s?)?{_MONTH}월\s?{_DAY}일",
    rf"\b{_MONTH_NAME}\s{_NAMED_DAY}(?:,?\s{_YEAR})?\b",
    rf"\b{_NAMED_DAY}\s{_MONTH_NAME}(?:,?\s{_YEAR}\b)?",
)
_TIME: Final = (
    rf"(?<![\d:.]){_HOUR}:[0-5]\d(?::[0-5]\d(?:[.,]\d{{1,9}})?)?(?![\d:])(?:\s?{_HALF_DAY})?(?:\s?(?:Z\b|[+-]\d\d:?\d\d\b))?",
    rf"\b(?:0?[1-9]|1[0-2])\s?{_HALF_DAY}",
    r"(?:오전|오후)\s?(?:1[0-2]|0?[1-9])시(?:\s?[0-5]?\d분)?",
    rf"(?<!\d){_HOUR}시\s?[0-5]?\d분",
)
# At one place the earlier kind counts; a date inside a placeholder begins later, so it is not found at all.
_VOLATILE: Final = re.compile(
    "|".join(
        f"(?P<{kind}>{'|'.join(patterns)})"
        for kind, patterns in (("placeholder", _PLACEHOLDER), ("uuid", _UUID), ("date", _DATE), ("time", _TIME))
    ),
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class VolatileValue:
    """`start` counts characters from 0, `line` lines from 1."""

    kind: VolatileKind
    text: str
    start: int
    line: int


def find_volatile_values(system_prompt: str) -> tuple[VolatileValue, ...]:
    """In the order in which they stand there; none overlaps another."""
    return tuple(
        VolatileValue(
            kind=cast("VolatileKind", match.lastgroup),
            text=match[0],
            start=match.start(),
            line=system_prompt.count("\n", 0, match.start()) + 1,
        )
        for match in _VOLATILE.finditer(system_prompt)
    )
