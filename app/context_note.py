"""The context note: the volatile data of one user message, written once and frozen; pure.

It stands behind the user's text, so the time never moves the stable part of a prompt.
"""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

# A slash or backslash start, "..": a zone's name is looked up as a file, so it must look like a name.
_ZONE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(/[A-Za-z0-9_+\-]+)*", re.ASCII)
_LONGEST_ZONE_NAME = 64
_ZONE_OF_NOTE = re.compile(r"\(([^(),]+)\)</context-note>\Z")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Where a note could begin or end: a bracket or a look-alike, perhaps a slash, then the tag's name.
_FORGED = re.compile(
    r"([<\u2039\u276e\u3008\ufe64\uff1c])(\\*)"
    r"(?=[\s\u200b-\u200f\u2060\ufeff]*[/\u2215\uff0f]?[\s\u200b-\u200f\u2060\ufeff]*context[\W_]?note)",
    re.IGNORECASE,
)


def write_note(instant: datetime, form_zone: str | None, profile_zone: str | None) -> str:
    """Local time to the minute with offset, weekday and zone: of the form, else of the profile, else UTC."""
    zone = find_zone(form_zone) or find_zone(profile_zone)
    local = instant.astimezone(zone or ZoneInfo("UTC"))
    offset = local.isoformat(timespec="minutes")[16:]
    place = zone.key if zone else "UTC, the user's time zone is unknown"
    stamp = f"{_WEEKDAYS[local.weekday()]} {local:%Y-%m-%d %H:%M} {offset}"
    return f"<context-note>{stamp} ({place})</context-note>"


def zone_of_note(note: str | None) -> str | None:
    """The name of the zone that the note was written in; None where that was not known, and without a note."""
    found = _ZONE_OF_NOTE.search(note or "")
    return found[1] if found else None


def find_zone(name: str | None) -> ZoneInfo | None:
    """The zone of that name, or None for no name and for a bad one."""
    if not name or len(name) > _LONGEST_ZONE_NAME or not _ZONE_NAME.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def escape_notes(text: str) -> str:
    """Makes notes in a user's text harmless: a backslash after each bracket that could open or close one.

    Lossless: removing one backslash from every `<\\`, `<\\\\`... before a tag's name gives the text back.
    """
    return _FORGED.sub(lambda found: f"{found[1]}\\{found[2]}", text)
