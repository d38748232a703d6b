"""Short ways to write batch items, and a greedy answer token by token."""

from collections.abc import Sequence

from inference_server.model.runner import TorchModelRunner
from inference_server.model_runner import BatchItem, SamplingDraw

GREEDY = SamplingDraw(temperature=0.0, top_p=1.0, top_k=0, uniform=0.5)


def in_run(tokens: Sequence[int], run_start: int, start: int = 0, draw: SamplingDraw | None = None) -> BatchItem:
    """Tokens at positions from `start` on, in a run of slots."""
    total = start + len(tokens)
    return BatchItem(tokens, start, range(run_start, run_start + total), run_start, draw)


def scattered(
    tokens: Sequence[int], slots: Sequence[int], start: int = 0, draw: SamplingDraw | None = None
) -> BatchItem:
    """The same in the first slots of a list, in any order."""
    return BatchItem(tokens, start, slots[: start + len(tokens)], None, draw)


def prefill(runner: TorchModelRunner, tokens: Sequence[int], run_start: int, sizes: Sequence[int]) -> None:
    """Computes all tokens in chunks of these sizes, the rest in one."""
    start = 0
    for size in [*sizes, len(tokens)]:
        chunk = tokens[start : start + size]
        if chunk:
            runner.run([in_run(chunk, run_start, start)])
        start += len(chunk)


def greedy_answer(
    runner: TorchModelRunner, prompt: Sequence[int], slots: Sequence[int], cached: int, length: int
) -> list[int]:
    """Continues a prompt of which the first `cached` tokens have their KV in the slots already."""
    run_start = slots[0] if list(slots) == list(range(slots[0], slots[0] + len(slots))) else None
    answer: list[int] = []
    start, tokens = cached, list(prompt[cached:])
    while len(answer) < length:
        item = BatchItem(tokens, start, slots[: start + len(tokens)], run_start, GREEDY)
        (token,) = runner.run([item])
        assert token is not None
        answer.append(token)
        start, tokens = start + len(tokens), [token]
    return answer
