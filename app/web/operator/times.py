"""Times of operator pages in words: short moments, since the page names its zone once, and lengths of computing."""

from datetime import datetime
from zoneinfo import ZoneInfo

from babel.dates import format_date, format_skeleton

from app.web.languages import Language


def short_moment(at: datetime, zone: str, language: Language) -> str:
    """Day and minute in the zone, such as "Nov 30 13:42"."""
    return f"{short_day(at, zone, language)} {clock_time(at, zone, language)}"


def dated_moment(at: datetime, zone: str, language: Language) -> str:
    """With the year, where the page cannot say it elsewhere."""
    local = at.astimezone(ZoneInfo(zone))
    return f"{format_date(local, 'medium', locale=language.tag)} {clock_time(at, zone, language)}"


def clock_time(at: datetime, zone: str, language: Language) -> str:
    return format_skeleton("Hm", at.astimezone(ZoneInfo(zone)), locale=language.tag)


def short_day(at: datetime, zone: str, language: Language) -> str:
    return format_skeleton("MMMd", at.astimezone(ZoneInfo(zone)), locale=language.tag)


def zone_words(at: datetime, zone: str) -> str:
    """The zone's name, with what its clocks call it where that is a word of its own."""
    short = at.astimezone(ZoneInfo(zone)).tzname() or ""
    return zone if short in (zone, "") else f"{zone} ({short})"


def length_words(seconds: float, language: Language) -> str:
    """In the unit that fits; half a second is not told from a tenth."""
    if seconds < 1:
        return language.gettext("under 1 s")
    if seconds < 600:
        return language.gettext("%(seconds)s s", seconds=language.number(seconds, 1 if seconds < 10 else 0))
    if seconds < 36_000:
        return language.gettext("%(minutes)s min", minutes=language.number(seconds / 60))
    return language.gettext("%(hours)s h", hours=language.number(seconds / 3600))
