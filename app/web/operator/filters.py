"""What the address of every operator page says about which turns are looked at, checked and as values.

A wrong value is refused with the name of its field and what is allowed there. It knows neither SQL nor pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from starlette.requests import Request

from app.context_note import find_zone
from app.errors import InvalidInput
from app.reports.overview import Selection
from app.web.languages import Language
from app.web.visit import house_of, visit_of

RANGES: Final[Mapping[str, timedelta | None]] = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    "all": None,
}
DEFAULT_RANGE: Final = "24h"
REFRESH_SECONDS: Final = 30
LONGEST_NAME: Final = 200
YEARS: Final = range(2000, 2200)  # The period before this one and every zone's clock have a date, too.

_FIELDS = ("range", "from", "to", "model", "backend", "user", "compare", "zone", "refresh")
_PERIOD = frozenset({"range", "from", "to"})


class FilterError(InvalidInput):
    """`field` is the parameter of the address; the message is in the reader's language."""


@dataclass(frozen=True, slots=True)
class Filters:
    """`range` is None where the period has its own ends; `refresh` is in seconds, None for off.

    `zone` is the name that all times of the page are in. `given` are the checked parameters as an address has them.
    """

    selection: Selection
    range: str | None
    zone: str
    compare: bool
    refresh: int | None
    given: Mapping[str, str]

    def query(self, **changes: object) -> str:
        """The query of an address with the same filters and these changes; None takes one out. Without "?"."""
        kept = dict(self.given)
        if _PERIOD.intersection(changes):
            kept = {name: value for name, value in kept.items() if name not in _PERIOD}
        merged = {**kept, **changes}
        return urlencode({name: value for name, value in merged.items() if value is not None})


def filters_of(request: Request) -> Filters:
    """From the address, for the time of the request. FilterError, which is answered with 400."""
    visit = visit_of(request)
    return read_filters(given_of(request), house_of(request).clock(), visit.time_zone, visit.language)


def given_of(request: Request) -> dict[str, str]:
    """The filters of the address as they were typed, unchecked, without empty ones."""
    return {name: value for name in _FIELDS if (value := request.query_params.get(name, "").strip())}


def read_filters(given: Mapping[str, str], now: datetime, own_zone: str, language: Language) -> Filters:
    """`given` has no empty values. Ends of a period win over a range; without an offset they are in the zone.

    FilterError.
    """
    checks = _Checks(given, language)
    zone = checks.zone(own_zone)
    since, until = checks.moment("from", zone), checks.moment("to", zone)
    preset = None if since or until else checks.one_of("range", tuple(RANGES)) or DEFAULT_RANGE
    if preset is not None:
        length = RANGES[preset]
        since = None if length is None else now - length
    if since is not None and since >= (until or now):
        raise checks.refusal("from", language.gettext("a time before the end of the period"))
    selection = Selection(since, until or now, checks.name("model"), checks.name("backend"), checks.id("user"))
    compare, refresh = checks.one_of("compare", ("1",)), checks.one_of("refresh", (str(REFRESH_SECONDS),))
    # An address always names its period, so that it is understood by itself.
    named = {"range": preset} if preset else {}
    kept = {name: value for name, value in given.items() if preset is None or name not in _PERIOD}
    if preset is None:
        kept.pop("range", None)
        kept |= {name: at.isoformat() for name, at in (("from", since), ("to", until)) if at is not None}
    return Filters(selection, preset, zone.key, compare is not None, int(refresh) if refresh else None, named | kept)


def refusal(field: str, allowed: str, language: Language) -> FilterError:
    words = language.gettext("“%(field)s” in the address is not usable. Allowed: %(allowed)s.")
    return FilterError(field, words % {"field": field, "allowed": allowed})


@dataclass(frozen=True, slots=True)
class _Checks:
    """One parameter at a time; None where it is not given."""

    given: Mapping[str, str]
    language: Language

    def refusal(self, field: str, allowed: str) -> FilterError:
        return refusal(field, allowed, self.language)

    def one_of(self, field: str, allowed: tuple[str, ...]) -> str | None:
        value = self.given.get(field)
        if value is not None and value not in allowed:
            raise self.refusal(field, ", ".join(allowed))
        return value

    def name(self, field: str) -> str | None:
        value = self.given.get(field)
        if value is not None and (len(value) > LONGEST_NAME or not value.isprintable()):
            allowed = self.language.gettext("a name of at most %(n)s characters", n=LONGEST_NAME)
            raise self.refusal(field, allowed)
        return value

    def id(self, field: str) -> UUID | None:
        value = self.given.get(field)
        try:
            return None if value is None else UUID(value)
        except ValueError:
            raise self.refusal(field, self.language.gettext("the id of a user, as the list of people has it")) from None

    def zone(self, own: str) -> ZoneInfo:
        name = self.given.get("zone", own)
        zone = find_zone(name)
        if zone is None:
            raise self.refusal("zone", self.language.gettext("the name of a time zone, such as Asia/Seoul"))
        return zone

    def moment(self, field: str, zone: ZoneInfo) -> datetime | None:
        value = self.given.get(field)
        if value is None:
            return None
        try:
            # A plus that nobody has written as %2B comes as a space.
            at = datetime.fromisoformat(value.replace(" ", "+") if "T" in value else value)
            at = at if at.tzinfo else at.replace(tzinfo=zone)
            usable = at.year in YEARS
        except ValueError:
            usable = False
        if not usable:
            allowed = self.language.gettext(
                "a time such as 2026-11-30T09:00+09:00, of the years %(first)s to %(last)s",
                first=YEARS[0],
                last=YEARS[-1],
            )
            raise self.refusal(field, allowed)
        return at.astimezone(UTC)
