"""What the overview says of backends: what they show of their cache now, and nothing in place of what they do not."""

from datetime import timedelta

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.reports.overview import Mark, Sum, Totals
from app.settings import Backend
from app.turns.backends import Backends
from app.web.languages import load_languages
from app.web.operator.backend_rows import BackendState, rows_of
from app.web.operator.backend_states import cache_states
from inference_client.inspection import CacheState, Slots
from tests.app.web.operator.values import NOW
from tests.live_server import LiveServer

ENGLISH = load_languages()["en"]
NONE = Sum(0, 0)
CACHE = CacheState(
    serving_id="s", slots=Slots(total=1000, free=20, cached=900, live=80), nodes=3, scopes=2, evicted_tokens=4321,
    waiting=2, running=1, records=9,
)  # fmt: skip


def totals(reported: int, turns: int) -> Totals:
    return Totals(turns, NONE, Sum(0, reported), NONE, NONE, NONE, NONE, NONE)


def test_rows_say_what_each_backend_shows() -> None:
    shown = Backend(name="east", base_url="http://east", reuse_rule="block(16)")
    silent = Backend(name="west", base_url="http://west", isolation="none")
    states = [BackendState(shown, False, totals(9, 10), CACHE), BackendState(silent, True, totals(0, 0), None)]
    marks = [Mark("server_start", NOW - timedelta(hours=hours), "east", "a", None) for hours in (5, 2)]
    east, west = rows_of(states, marks, "Asia/Seoul", ENGLISH)
    assert (east.away, east.since, east.running, east.slots) == (False, "Nov 30 11:00", "1 / 2", "80 / 900 / 20")
    assert (east.evicted, east.reported, east.granularity) == ("4,321", "9 of 10 turns", "blocks of 16")
    assert east.isolation == "by user"
    assert (west.away, west.since, west.running, west.slots) == (True, "before this period", "–", "–")
    assert (west.reported, west.granularity) == ("0 of 0 turns", "every token")
    assert west.isolation == "none: users share a cache"


@pytest.mark.parametrize(
    ("rule", "words"),
    [("breakpoint(1024)", "marked prefixes from 1,024"), ("none", "reuses nothing")],
)
def test_rules_of_reuse_have_words(rule: str, words: str) -> None:
    backend = Backend(name="east", base_url="http://east", reuse_rule=rule)
    (row,) = rows_of([BackendState(backend, False, totals(0, 0), None)], [], "UTC", ENGLISH)
    assert row.granularity == words


@pytest.mark.anyio
async def test_only_backends_that_answer_in_time_show_their_cache() -> None:
    async def cache(request: Request) -> Response:
        if "slow" in request.url.path:
            await anyio.sleep_forever()
        return JSONResponse(CACHE.model_dump())

    app = Starlette(routes=[Route("/v1/cache", cache), Route("/slow/v1/cache", cache)])
    with LiveServer(app, lifespan=False) as server:
        backends = Backends(
            [
                Backend(name="good", base_url=server.url, inspection=True),
                Backend(name="closed", base_url=server.url),
                Backend(name="missing", base_url=f"{server.url}/nowhere", inspection=True),
                Backend(name="slow", base_url=f"{server.url}/slow", inspection=True),
                Backend(name="away", base_url=server.url, inspection=True),
            ]
        )
        backends.all[-1].away = True
        assert await cache_states(backends, patience=1.0) == {"good": CACHE}
        await backends.close()
