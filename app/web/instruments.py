"""What one process counts and measures of itself, in a Prometheus registry of its own. It knows no persons, no text."""

from collections.abc import Iterable
from typing import Final, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.house import House
from app.web.assets import STATIC_PREFIX

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""What somebody else makes up must not become a label each."""


class Instruments:
    """Since the process started."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "recount_http_requests",
            "Requests by the template of their route, and the status that was answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.streams = Gauge(
            "recount_event_streams", "Browsers that follow an answer just now.", registry=self.registry
        )
        self.events = Counter("recount_events_sent", "Events sent to browsers.", registry=self.registry)


def instruments_of(request: Request) -> Instruments:
    return cast("Instruments", request.app.state.instruments)


class RequestCountsMiddleware:
    def __init__(self, app: ASGIApp, instruments: Instruments) -> None:
        self.app = app
        self._requests = instruments.requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = "none"

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, watched_send)
        finally:
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._requests.labels(method, _route(scope), status).inc()


def _route(scope: Scope) -> str:
    """The template, never an address that somebody made up, nor the version of the static files."""
    if scope["path"].startswith(STATIC_PREFIX):
        return "static"
    return getattr(scope.get("route"), "path", "") or "none"


class HouseState(Collector):
    """What this process sees of the servers that it needs, when it is asked."""

    def __init__(self, house: House, *, database_up: bool) -> None:
        self._house = house
        self._database_up = database_up

    def collect(self) -> Iterable[Metric]:
        backends = GaugeMetricFamily(
            "recount_backend_up", "Whether the model server answers this process.", labels=["backend"]
        )
        for each in self._house.backends.all:
            backends.add_metric([each.name], not each.away)
        yield backends
        yield GaugeMetricFamily(
            "recount_bus_up", "Whether live answers go through: 0 while Redis is away.", value=not self._house.bus.away
        )
        yield GaugeMetricFamily(
            "recount_database_up", "Whether the turns could be counted for this answer.", value=self._database_up
        )
        pool = self._house.database.pool_use()
        connections = GaugeMetricFamily(
            "recount_database_connections", "Connections of this process's pool.", labels=["state"]
        )
        for state, number in pool.items():
            connections.add_metric([state], number)
        yield connections
