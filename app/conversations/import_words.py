"""What does not fit in the file of an import, in sentences of ours: the validator's own texts are English only."""

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import ErrorDetails

from app.conversations.import_checks import Allowed, UnfitFile

_QUOTED = re.compile(r"'([^']*)'")
_A_TIME = Allowed("A time with its offset belongs here.", "2026-11-30T09:00:00+09:00")
_WHOLE = Allowed("A whole number belongs here.")
_NUMBER = Allowed("A number belongs here.")
_OF_TYPE: Final[Mapping[str, Allowed]] = {
    "string_type": Allowed("A text belongs here."),
    "int_type": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": _WHOLE,
    "float_type": _NUMBER,
    "finite_number": _NUMBER,
    "bool_type": Allowed("True or false belongs here."),
    "list_type": Allowed("A list belongs here."),
    "dict_type": Allowed("An object with fields belongs here."),
    "model_type": Allowed("An object with fields belongs here."),
    "datetime_type": _A_TIME,
    "datetime_parsing": _A_TIME,
    "datetime_from_date_parsing": _A_TIME,
    "timezone_aware": _A_TIME,
    "unstorable": Allowed("NUL and lone surrogates cannot be stored."),
}


def unfit(place: str, error: ErrorDetails) -> UnfitFile:
    """`place` is the path to the value, "" for the file as a whole; `error` is the validator's first one."""
    if place in ("format", "version"):
        return UnfitFile(place, "This is no export that can be read here.")
    match error["type"]:
        case "json_invalid":
            return UnfitFile("file", "This is not a file of JSON.")
        case "missing":
            return UnfitFile(place, "This is missing.")
        case "extra_forbidden":
            return UnfitFile(place, "This does not belong here.")
    limits = error.get("ctx", {})
    allowed = _OF_TYPE.get(error["type"]) or _of_form(error["type"], limits) or _of_size(error["type"], limits)
    return UnfitFile(place or "file", "This value is not allowed.", allowed)


def _of_form(kind: str, limits: Mapping[str, Any]) -> Allowed | None:
    match kind:
        case "literal_error":
            return Allowed("One of certain words belongs here.", ", ".join(_QUOTED.findall(limits["expected"])))
        case "string_pattern_mismatch":
            return Allowed("A text of a certain form belongs here.", limits["pattern"])
        case "greater_than_equal" | "less_than" if isinstance(limits.get("ge", limits.get("lt")), str):
            return Allowed("A time within certain years belongs here.", "1970-2199")
    return None


def _of_size(kind: str, limits: Mapping[str, Any]) -> Allowed | None:
    """All limits of the format are whole numbers."""
    match kind:
        case "string_too_long":
            return Allowed(f"At most {limits['max_length']:,} characters are possible.")
        case "too_long":
            return Allowed(f"At most {limits['max_length']:,} entries are possible.")
        case "string_too_short" | "too_short":
            return Allowed("This cannot be empty.")
        case "greater_than_equal":
            return Allowed(f"A number of at least {limits['ge']:,.0f} belongs here.")
        case "greater_than":
            return Allowed(f"A number above {limits['gt']:,.0f} belongs here.")
        case "less_than_equal":
            return Allowed(f"A number of at most {limits['le']:,.0f} belongs here.")
        case "less_than":
            return Allowed(f"A number below {limits['lt']:,.0f} belongs here.")
    return None
