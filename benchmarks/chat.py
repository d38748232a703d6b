"""One conversation with one server, every exchange of it measured. Knows nothing of workloads."""

import time
from dataclasses import dataclass

from benchmarks.servers import Server
from inference_client import InferenceError, MessageStream, TextDelta, Usage

SYSTEM_TOKENS = 20
"""About what the system prompt of a chat adds to its first question."""


@dataclass(frozen=True)
class Exchange:
    """One question and its answer; `seconds` from the request to the end of the answer, which may have no text."""

    first_token_s: float | None
    seconds: float
    usage: Usage
    text: str

    @property
    def prompt_tokens(self) -> int | None:
        """None when the server does not report its input; a kind of cached tokens it does not report is 0."""
        counts = self.usage
        if counts.input_tokens is None:
            return None
        return counts.input_tokens + (counts.cache_read_input_tokens or 0) + (counts.cache_creation_input_tokens or 0)

    @property
    def decode_tokens_per_s(self) -> float | None:
        """Of the tokens behind the first; None for an answer of one token or unknown length."""
        decoded = (self.usage.output_tokens or 0) - 1
        if self.first_token_s is None or decoded < 1:
            return None
        return decoded / (self.seconds - self.first_token_s)


class Chat:
    """Resends its whole history, with the real answers, on every turn.

    After the first failure it asks no more: `refusal` says why, and `exchanges` keeps what had been answered.
    """

    def __init__(self, server: Server, seed: str) -> None:
        self.server = server
        self.seed = seed
        self.exchanges: list[Exchange] = []
        self.refusal: str | None = None
        # Of the seed, and in front: so nothing of another chat is cached for this one but the first marker.
        self._system = f"Chat {seed}. Answer in plain sentences."
        self._messages: list[dict[str, str]] = []

    @property
    def expected_reads(self) -> list[int | None]:
        """What an exact prefix cache reads on each turn from the second on: prompt + output - 1 of the one before."""
        return [_held_tokens(exchange) for exchange in self.exchanges[:-1]]

    @property
    def exact_reads(self) -> int:
        """How many turns, of those in `expected_reads`, read exactly this."""
        reads = [exchange.usage.cache_read_input_tokens for exchange in self.exchanges[1:]]
        pairs = zip(self.expected_reads, reads, strict=True)
        return sum(expected is not None and read == expected for expected, read in pairs)

    async def ask(self, question: str, max_tokens: int) -> None:
        """Adds an exchange, or the refusal."""
        if self.refusal is not None:
            return
        self._messages.append({"role": "user", "content": question})
        try:
            exchange = await self._exchange(max_tokens)
        except InferenceError as error:
            self.refusal = f"turn {len(self.exchanges) + 1}: {type(error).__name__}: {error}"
            return
        self.exchanges.append(exchange)
        self._messages.append({"role": "assistant", "content": exchange.text})

    async def _exchange(self, max_tokens: int) -> Exchange:
        body = {
            "model": self.server.model,
            "max_tokens": max_tokens,
            "temperature": 0,
            "system": self._system,
            "messages": self._messages,
            "stream": True,
        }
        began = time.perf_counter()
        async with self.server.client.stream(body) as stream:
            return await _measured(stream, began)


async def _measured(stream: MessageStream, began: float) -> Exchange:
    """Raises InferenceError, also for an answer that breaks off."""
    first_token_s, seconds = None, 0.0
    async for event in stream:
        seconds = time.perf_counter() - began
        if first_token_s is None and isinstance(event, TextDelta):
            first_token_s = seconds
    answer = stream.snapshot
    if answer.stop_reason is None:
        raise InferenceError("the answer broke off")
    return Exchange(first_token_s, seconds, answer.usage, answer.text)


def _held_tokens(exchange: Exchange) -> int | None:
    prompt, output = exchange.prompt_tokens, exchange.usage.output_tokens
    return None if prompt is None or output is None else prompt + output - 1
