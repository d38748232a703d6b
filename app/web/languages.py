"""The languages of the pages: choosing one for a reader, and writing words, numbers and times in it.

The source strings are English; `app/locale` holds the others. Nothing here knows a request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from gettext import NullTranslations
from pathlib import Path
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_datetime
from babel.numbers import format_decimal
from babel.support import Translations

LOCALE_FOLDER = Path(__file__).parent.parent / "locale"
DOMAIN = "recount"
LANGUAGE_TAGS = ("en", "ko")  # The first is used when the reader asks for none that we have.


@dataclass(frozen=True, slots=True)
class Language:
    """One language; `tag` is what `lang` attributes and the account's `locale` hold."""

    tag: str
    translations: NullTranslations

    def gettext(self, message: str, **values: object) -> str:
        words = self.translations.gettext(message)
        return words % values if values else words

    def ngettext(self, singular: str, plural: str, n: int, **values: object) -> str:
        return self.translations.ngettext(singular, plural, n) % {"n": self.number(n), **values}

    def number(self, value: float, decimals: int = 0) -> str:
        pattern = "#,##0" + ("." + "0" * decimals if decimals else "")
        return format_decimal(value, format=pattern, locale=Locale.parse(self.tag))

    def percent(self, part: int, whole: int) -> str:
        """A whole percentage. Only all is 100% and only nothing is 0%; what lies close to them is "<1%" or ">99%"."""
        if 0 < 100 * part < whole:
            return "<1%"
        if 99 * whole < 100 * part < 100 * whole:
            return ">99%"
        return f"{round(100 * part / whole) if whole else 0}%"

    def seconds(self, milliseconds: int) -> str:
        """Two decimals below ten seconds, one above; the unit is read out by `gettext`."""
        value = milliseconds / 1000
        return self.gettext("%(seconds)s s", seconds=self.number(value, 2 if value < 10 else 1))

    def moment(self, at: datetime, zone: str) -> str:
        """Date and time to the second in the zone (an IANA name), with the zone's abbreviation."""
        local = at.astimezone(ZoneInfo(zone))
        words = format_datetime(local, "medium", locale=Locale.parse(self.tag))
        return f"{words} {local.tzname()}"


def load_languages() -> Mapping[str, Language]:
    """Every language by its tag. English is the source text, so it needs no catalog."""
    languages = {"en": Language("en", NullTranslations())}
    for tag in LANGUAGE_TAGS[1:]:
        languages[tag] = Language(tag, Translations.load(str(LOCALE_FOLDER), [tag], domain=DOMAIN))
    return languages


def chosen_tag(account_locale: str | None, accept_language: str) -> str:
    """The account's own choice, else the best of the browser's list, else the first language."""
    wanted = [account_locale] if account_locale else _accepted(accept_language)
    for tag in wanted:
        primary = tag.replace("_", "-").split("-")[0].lower()
        if primary in LANGUAGE_TAGS:
            return primary
    return LANGUAGE_TAGS[0]


def _accepted(header: str) -> Sequence[str]:
    """The tags of an Accept-Language header, most wanted first, without refused ones (q=0) and nonsense."""
    weighted: list[tuple[float, str]] = []
    for item in header.split(","):
        tag, _, weight = item.strip().partition(";q=")
        try:
            quality = float(weight) if weight else 1.0
        except ValueError:
            continue
        if tag and quality > 0:
            weighted.append((quality, tag))
    return [tag for _, tag in sorted(weighted, key=lambda pair: -pair[0])]
