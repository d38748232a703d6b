"""What the server can tell of a message that it still knows: its tokens, where they look, and how to forget them."""

from array import array
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

from inference_server.async_engine import AsyncEngine
from inference_server.engine import Engine
from inference_server.errors import Gone, InvalidRequest, MessageNotFound
from inference_server.radix_tree import common_prefix
from inference_server.records import Record, Records, place
from inference_server.sequence import Status
from inference_server.text.prompt import Prompt, PromptBuilder
from inference_server.text.tokenizer import TextTokenizer

ANSWER = "answer"


class Inspection:
    """Answers from the records, and from the engine between two steps. Event loop only."""

    def __init__(
        self,
        records: Records,
        tokenizer: TextTokenizer,
        prompts: PromptBuilder,
        engine: AsyncEngine,
        size: tuple[int, int],
    ) -> None:
        """``size`` is the model's number of layers and of heads."""
        self._records = records
        self._tokenizer = tokenizer
        self._prompts = prompts
        self._engine = engine
        self._size = size

    def record(self, message_id: str) -> Record:
        """Raises MessageNotFound."""
        record = self._records.get(message_id)
        if record is None:
            raise MessageNotFound(f"the server does not know the message {message_id[:80]!r}, or not any more")
        return record

    def tokens(self, record: Record) -> dict[str, Any]:
        """Every token of a prompt and its answer, the one that ended the answer included."""
        sequence = record.sequence
        count = len(record.prompt.tokens) + len(sequence.output)
        return {
            "message_id": record.id,
            "input_tokens": len(record.prompt.tokens),
            "cache_read_input_tokens": sequence.cached_tokens,
            "output_tokens": len(sequence.output),
            "kv_tokens": sequence.peak,
            "finished": sequence.status is Status.FINISHED,
            "tokens": [self._token(record, position) for position in range(count)],
        }

    async def attention(
        self, record: Record, position: int, layer: int, head: int | Literal["mean"], top: int
    ) -> dict[str, Any]:
        """The ``top`` heaviest positions of a row. Raises InvalidRequest for what there is not, and Gone."""
        held, (layers, heads) = min(len(record.held), record.sequence.peak), self._size
        _check("position", position, held)
        _check("layer", layer, layers)
        if head != "mean":
            _check("head", head, heads)
        scope, tokens = record.sequence.scope, record.held[: position + 1]
        rows = await self._engine.visit(lambda engine: engine.attention(scope, tokens, layer))
        if rows is None:
            raise Gone("the KV of this message has been evicted")
        row = _mean(rows) if head == "mean" else rows[head]
        heaviest = sorted(range(len(row)), key=lambda index: -row[index])[:top]
        return {
            "message_id": record.id,
            "position": position,
            "layer": layer,
            "layers": layers,
            "head": head,
            "heads": heads,
            "cached_weight": sum(row[: record.sequence.cached_tokens]),
            "top": [{**self._token(record, index), "weight": row[index]} for index in heaviest],
            "remainder": {
                "positions": len(row) - len(heaviest),
                "weight": max(0.0, sum(row) - sum(row[index] for index in heaviest)),
            },
        }

    async def forget(self, message_ids: Iterable[str]) -> dict[str, Any]:
        """A request that is still running keeps what it holds; its id comes back as running."""
        known = [record for record in map(self._records.get, dict.fromkeys(message_ids)) if record is not None]
        running = [record.id for record in known if record.sequence.status is not Status.FINISHED]
        ended = [record for record in known if record.id not in running]
        for record in ended:
            self._records.drop(record)
            self._prompts.forget(record.prompt, record.sequence.output)
        freed = await self._engine.visit(partial(_free, ended))
        return {"forgotten": len(ended), "freed_slots": freed, "running": running}

    def difference(self, a: tuple[Prompt, Sequence[str]], b: tuple[Prompt, Sequence[str]]) -> dict[str, Any]:
        """What two prompts share and where they part, each given with the places of its messages."""
        common = common_prefix(a[0].tokens, b[0].tokens)
        sides = {
            name: {
                "input_tokens": len(prompt.tokens),
                "at_divergence": None
                if common == len(prompt.tokens)
                else self._piece(common, prompt.tokens[common], place(prompt, places, common)),
            }
            for name, (prompt, places) in (("a", a), ("b", b))
        }
        return {**sides, "common_tokens": common}

    async def cache(self) -> dict[str, Any]:
        """Slots by state, and what holds them."""
        return {**await self._engine.visit(_cache), "records": len(self._records)}

    def _token(self, record: Record, position: int) -> dict[str, Any]:
        prompt, sequence = record.prompt, record.sequence
        if position >= len(prompt.tokens):
            number = sequence.output[position - len(prompt.tokens)]
            return {**self._piece(position, number, ANSWER), "state": "generated"}
        piece = self._piece(position, prompt.tokens[position], place(prompt, record.places, position))
        return {**piece, "state": "cached" if position < (sequence.cached_tokens or 0) else "computed"}

    def _piece(self, position: int, number: int, segment: str) -> dict[str, Any]:
        # A token may begin or end inside a character, whose bytes are then shown as numbers.
        text = self._tokenizer.token_bytes(number).decode(errors="backslashreplace")
        return {"position": position, "id": number, "text": text, "segment": segment}


def _check(name: str, value: int, count: int) -> None:
    if not 0 <= value < count:
        raise InvalidRequest(name, f"must be from 0 to {count - 1}, not {value}")


def _mean(rows: "list[array[float]]") -> list[float]:
    return [sum(weights) / len(rows) for weights in zip(*rows, strict=True)]


def _free(records: Iterable[Record], engine: Engine) -> int:
    return sum(engine.forget(record.sequence.scope, record.held) for record in records)


def _cache(engine: Engine) -> dict[str, Any]:
    scheduler = engine.scheduler
    return {
        "slots": {"total": scheduler.allocator.num_slots, **scheduler.slots_by_state},
        "nodes": scheduler.tree.num_nodes,
        "scopes": scheduler.tree.num_scopes,
        "evicted_tokens": scheduler.num_evicted,
        "waiting": len(scheduler.waiting),
        "running": len(scheduler.running),
    }
