"""Sequences and engines for tests without text: token ids in, token ids out."""

from array import array
from collections.abc import Callable, Iterable, Sequence

from inference_server.engine import Engine, EngineEvent, Finished
from inference_server.scheduler import Scheduler
from inference_server.sequence import Sampling
from inference_server.sequence import Sequence as EngineSequence
from tests.inference_server.oracle_runner import OracleRunner

END = 9
ARRIVALS = iter(range(10**9))


class NoText:
    """A reader for tests that look at ids only."""

    def push(self, token: int) -> tuple[str, str | None]:
        return f"{token} ", None

    def finish(self) -> str:
        return ""


def hash_oracle(prefix: tuple[int, ...]) -> int:
    """A next token that depends on every token before it: ids 0..9, of which END is one in ten."""
    return hash(prefix) % 10


def never_ends(prefix: tuple[int, ...]) -> int:
    return hash(prefix) % 9


def sequence(
    prompt: Iterable[int], max_tokens: int, *, scope: bytes = b"", end: Iterable[int] = (END,)
) -> EngineSequence:
    return EngineSequence(
        id=f"request-{next(ARRIVALS)}",
        scope=scope,
        prompt=array("i", prompt),
        max_tokens=max_tokens,
        clamped=False,
        sampling=Sampling(temperature=0, top_p=1, top_k=0, seed=0),
        end_tokens=frozenset(end),
        reader=NoText(),
        output=array("i"),
    )


def engine(
    num_slots: int,
    next_token: Callable[[tuple[int, ...]], int] = hash_oracle,
    *,
    max_running: int = 8,
    chunk_tokens: int = 16,
    mixed_chunk_tokens: int = 4,
    reserved_output: int = 256,
    fails: Callable[[tuple[int, ...]], bool] = lambda _: False,
) -> Engine:
    scheduler = Scheduler(
        num_slots,
        max_running=max_running,
        chunk_tokens=chunk_tokens,
        mixed_chunk_tokens=lambda _context: mixed_chunk_tokens,
        reserved_output=reserved_output,
    )
    return Engine(OracleRunner(num_slots, next_token, fails=fails), scheduler)


def step(engine: Engine) -> list[EngineEvent]:
    """One whole step."""
    return engine.prepare() + engine.compute()


def run(engine: Engine, *sequences: EngineSequence, steps: int = 10_000) -> list[EngineEvent]:
    """Add the sequences and step until all is done, with the invariants checked after every step."""
    for item in sequences:
        engine.add(item)
    events: list[EngineEvent] = []
    while engine.has_work:
        steps -= 1
        assert steps > 0, "the engine does not come to an end"
        events += step(engine)
        engine.scheduler.check()
    assert engine.scheduler.num_live == 0
    return events


def answer_alone(prompt: Sequence[int], max_tokens: int, next_token: Callable[[tuple[int, ...]], int]) -> list[int]:
    """What a request must produce, computed without any engine."""
    tokens, output = tuple(prompt), list[int]()
    while len(output) < max_tokens:
        output.append(next_token((*tokens, *output)))
        if output[-1] == END:
            break
    return output


def endings(events: Iterable[EngineEvent]) -> dict[str, Finished]:
    return {event.id: event for event in events if isinstance(event, Finished)}
