"""The parameters as people type them in a form; pure."""

import re
from collections.abc import Mapping

from app.conversations.params import HOTTEST, LONGEST_STOP, MOST_STOPS, MOST_TOKENS, Params
from app.errors import InvalidInput
from app.text import clean_user_text

_DECIMAL = re.compile(r"[0-9]{1,9}([.,][0-9]{1,9})?", re.ASCII)
_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)


def read_params(fields: Mapping[str, str]) -> Params:
    """An empty field is not chosen. InvalidInput names the field and what it takes."""
    return Params(
        max_tokens=_max_tokens(_typed(fields, "max_tokens")),
        temperature=_temperature(_typed(fields, "temperature")),
        top_p=_top_p(_typed(fields, "top_p")),
        stop_sequences=_stop_sequences(fields.get("stop_sequences", "")),
    )


def shown_params(params: Params) -> dict[str, str]:
    """The fields that `read_params` makes the same parameters of."""
    shown = {name: "" if value is None else str(value) for name, value in params.model_dump().items()}
    return {**shown, "stop_sequences": "\n".join(params.stop_sequences or ())}


def _typed(fields: Mapping[str, str], name: str) -> str:
    return fields.get(name, "").strip()


def _max_tokens(typed: str) -> int | None:
    if not typed:
        return None
    if not _WHOLE.fullmatch(typed) or not 1 <= int(typed) <= MOST_TOKENS:
        raise InvalidInput("max_tokens", f"The longest answer is a whole number from 1 to {MOST_TOKENS:,}.")
    return int(typed)


def _temperature(typed: str) -> float | None:
    if not typed:
        return None
    value = _number(typed)
    if value is None or value > HOTTEST:
        raise InvalidInput("temperature", f"A temperature is a number from 0 to {int(HOTTEST)}.")
    return value


def _top_p(typed: str) -> float | None:
    if not typed:
        return None
    value = _number(typed)
    if value is None or not 0 < value <= 1:
        raise InvalidInput("top_p", "Top p is a number above 0 and at most 1.")
    return value


def _number(typed: str) -> float | None:
    return float(typed.replace(",", ".")) if _DECIMAL.fullmatch(typed) else None


def _stop_sequences(typed: str) -> list[str] | None:
    """One a line. Spaces count, empty lines do not."""
    lines = list(dict.fromkeys(line for line in clean_user_text(typed).split("\n") if line))
    if len(lines) > MOST_STOPS:
        raise InvalidInput("stop_sequences", f"At most {MOST_STOPS} stop texts are possible.")
    if any(len(line) > LONGEST_STOP for line in lines):
        raise InvalidInput("stop_sequences", f"A stop text has at most {LONGEST_STOP} characters.")
    return lines or None
