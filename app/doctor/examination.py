"""All checks of one backend, one after the other. One that fails hides only those that need what it looked for."""

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import anyio

from app.doctor import answering, caching, content
from app.doctor.asking import Asked, ask
from app.doctor.bodies import Bodies
from app.doctor.findings import Chart, marked
from app.prompt import Body
from app.settings import Backend
from inference_client import (
    AuthenticationFailed,
    InferenceClient,
    InferenceError,
    InvalidRequest,
    NotFound,
    RetryPolicy,
    StatusError,
    Timeouts,
)

logger = logging.getLogger(__name__)

FORGET_WAIT_S = 5.0
FORGET_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds. `reach` for a short question, `answer` for a generated one. In less than `noticeable` nobody can
    tell whether a stream was held back."""

    reach: float = 5.0
    answer: float = 60.0
    noticeable: float = 0.25


async def examine(backend: Backend, patience: Patience, monotonic: Callable[[], float] = time.monotonic) -> Chart:
    """Sends a few short requests of nobody's, which the server is asked to forget at the end where it can."""
    key = backend.api_key.get_secret_value() if backend.api_key else None
    # Our own limits of time are narrower; a fault that passes is to be seen, not tried away.
    timeouts = Timeouts(connect=patience.reach, first_event=patience.answer, first_token=patience.answer)
    async with InferenceClient(
        backend.base_url, api_key=key, timeouts=timeouts, retry=RetryPolicy(attempts=1)
    ) as client:
        examination = _Examination(backend, client, patience, monotonic, Chart(backend.name))
        await examination.run()
    return examination.chart


@dataclass
class _Examination:
    backend: Backend
    client: InferenceClient
    patience: Patience
    monotonic: Callable[[], float]
    chart: Chart
    asked: list[str] = field(default_factory=list)

    async def run(self) -> None:
        if not await self._try("reachable", self.patience.reach, self._reach):
            return
        model: list[str] = []
        if not await self._try("models", self.patience.reach, lambda: self._list(model)) or not model:
            return
        bodies = Bodies.of(self.backend, model[0])
        try:
            await self._turns(bodies)
            await self._try("prefill", self.patience.answer, lambda: self._continue(bodies))
            await self._try("markers", self.patience.reach, lambda: self._count_markers(bodies))
        finally:
            with anyio.CancelScope(shield=True):
                await self._try("forget", FORGET_WAIT_S, self._forget)

    async def _try(self, check: str, seconds: float, probe: Callable[[], Awaitable[None]]) -> bool:
        """Whether it came to its end; if not, why is written down."""
        try:
            with anyio.fail_after(seconds):
                await probe()
        except TimeoutError:
            self.chart.fail(
                check,
                marked("No answer within %(seconds)s s."),
                marked("Look whether it is overloaded; --timeout gives it longer."),
                seconds=f"{seconds:g}",
            )
        except AuthenticationFailed:
            self.chart.fail(
                check,
                marked("It does not accept our key."),
                marked("Set api_key of this backend to a key that it accepts."),
            )
        except InferenceError as error:
            self.chart.fail(check, marked("It failed: %(reason)s."), _ADVICE.get(check, ""), reason=reason_of(error))
        else:
            return True
        return False

    async def _reach(self) -> None:
        await self.client.check()
        self.chart.ok("reachable", marked("It answers at %(url)s."), url=self.backend.base_url)

    async def _list(self, chosen: list[str]) -> None:
        try:
            models = await self.client.models()
        except NotFound:
            models = []
        model = answering.judge_models(self.chart, self.backend, models)
        if model is not None:
            chosen.append(model)

    async def _turns(self, bodies: Bodies) -> None:
        """Two turns of one conversation, and the first of them again by somebody else."""
        turns: list[Asked] = []

        async def first() -> None:
            turns.append(await self._ask(bodies, bodies.first()))
            answering.judge_stream(self.chart, turns[0], self.patience.noticeable)
            answering.judge_start(self.chart, self.backend, turns[0], self.patience.noticeable)
            answering.judge_usage(self.chart, turns[0])

        async def second() -> None:
            turns.append(await self._ask(bodies, bodies.second(turns[0].message.text, turns[0].message.id)))
            caching.judge_cache(self.chart, self.backend, turns[0], turns[1])
            caching.judge_diagnostics(self.chart, self.backend, turns[1])

        if not await self._try("streaming", self.patience.answer, first):
            return
        if turns[0].message.text.isspace() or not turns[0].message.text:
            caching.nothing_said(self.chart)
        else:
            await self._try("cache", self.patience.answer, second)
        if self.backend.isolation == "metadata":
            await self._try("isolation", self.patience.answer, lambda: self._compare_users(bodies))
        if self.backend.inspection:
            await self._try("inspection", self.patience.reach, lambda: self._inspect(turns[0]))

    async def _compare_users(self, bodies: Bodies) -> None:
        caching.judge_isolation(self.chart, await self._ask(bodies, bodies.of_somebody_else()))

    async def _inspect(self, turn: Asked) -> None:
        cache, tokens = await self.client.cache(), await self.client.tokens(turn.message.id)
        caching.judge_inspection(self.chart, turn, cache, tokens)

    async def _continue(self, bodies: Bodies) -> None:
        whole = await self._ask(bodies, bodies.whole_question())
        begun: Asked | None = None
        with suppress(InvalidRequest):
            begun = await self._ask(bodies, bodies.begun_answer())
        content.judge_prefill(self.chart, self.backend, whole, begun)

    async def _count_markers(self, bodies: Bodies) -> None:
        async def count(text: str) -> int:
            return await self.client.count_tokens(bodies.counted(text))

        try:
            plain = await count(content.PLAIN)
            grown = {marker: await count(content.marked_text(marker)) - plain for marker in content.MARKERS}
        except NotFound:
            content.cannot_count(self.chart)
        else:
            content.judge_markers(self.chart, grown)

    async def _ask(self, bodies: Bodies, body: Body) -> Asked:
        asked = await ask(self.client, body, bodies.headers, self.monotonic)
        self.asked.append(asked.message.id)
        return asked

    async def _forget(self) -> None:
        """A request that has just ended may run there for another moment."""
        if not (self.backend.forgets and self.asked):
            return
        left: list[str] = self.asked
        while left := await self.client.forget(left):  # noqa: ASYNC110 - nobody tells us when it ends there
            await anyio.sleep(FORGET_PAUSE_S)
        self.chart.ok("forget", marked("It has forgotten the %(count)s requests of this check."), count=len(self.asked))


def reason_of(error: InferenceError) -> str:
    """In the words of the server or of the network, which are nobody's text here; cut to one line."""
    if isinstance(error, StatusError):
        words = f"{error.type} ({error.status}): {error.message}"
    else:
        words = str(error) or type(error).__name__
    return " ".join(words.split())[:200].rstrip(".")


_ADVICE = {
    "reachable": marked("Start it, or correct base_url of this backend."),
    "models": marked("Look whether base_url leads to a server of the Messages API."),
    "streaming": marked("Without streamed answers nothing works here; look into the log of that server."),
    "cache": marked("A second question must be answered like the first; look into the log of that server."),
    "isolation": marked("Look into the log of that server."),
    "inspection": marked("Set inspection of this backend to false unless it is the bundled server."),
    "prefill": marked("Look into the log of that server."),
    "markers": marked("Look into the log of that server."),
    "forget": marked("Set forgets of this backend to false unless it is the bundled server."),
}
