"""`/metrics` for Prometheus: the totals of all turns, which every process tells alike, and what this process is at.

Whoever has the token of the settings may read it; without that setting there is no such page.
"""

import logging
import secrets

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.house import House
from app.reports.turn_counters import Counted
from app.web.instruments import HouseState, instruments_of
from app.web.turn_families import TurnFamilies
from app.web.visit import house_of

logger = logging.getLogger(__name__)


async def metrics(request: Request) -> Response:
    house = house_of(request)
    _check_token(request, house)
    counted = await _counted(house)
    registry = CollectorRegistry()
    registry.register(HouseState(house, database_up=counted is not None))
    if counted is not None:
        registry.register(TurnFamilies(counted))
    content = generate_latest(instruments_of(request).registry) + generate_latest(registry)
    return Response(content, headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4, "cache-control": "no-store"})


def _check_token(request: Request, house: House) -> None:
    token = house.settings.metrics_token
    if token is None:
        raise HTTPException(404)
    given = request.headers.get("authorization", "").encode("latin-1")
    if not secrets.compare_digest(given, b"Bearer " + token.get_secret_value().encode()):
        raise HTTPException(401, headers={"www-authenticate": "Bearer"})


async def _counted(house: House) -> Counted | None:
    """None where the database is away: the rest can be told all the same, and an alert sees it."""
    try:
        return await house.turn_counters.read()
    except (SQLAlchemyError, OSError):
        logger.exception("the turns could not be counted")
        return None
