"""All checks of an installation, the app's own first. It may run beside the app, from anywhere with its settings."""

import time
from collections.abc import Awaitable, Callable, Iterator

from app.clock import Clock, utc_now
from app.doctor.examination import Patience, examine
from app.doctor.findings import Chart, Finding, Report
from app.doctor.household import examine_household
from app.settings import Settings


class Doctor:
    def __init__(
        self,
        settings: Settings,
        patience: Patience | None = None,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._patience = patience or Patience()
        self._clock = clock
        self._monotonic = monotonic

    async def examine(self, told: Callable[[Finding], object] = lambda _finding: None) -> Report:
        """`told` hears of each finding when its subject is done. Backends are asked one after the other."""
        findings: list[Finding] = []
        for chart in self._charts():
            for finding in (await chart).findings:
                findings.append(finding)
                told(finding)
        return Report(self._clock(), tuple(findings))

    def _charts(self) -> Iterator[Awaitable[Chart]]:
        yield examine_household(self._settings, self._patience.reach)
        for backend in self._settings.resolved_backends():
            yield examine(backend, self._patience, self._monotonic)
