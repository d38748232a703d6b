"""What a backend makes of a begun answer and of typed control tokens; pure but for the chart."""

from collections.abc import Mapping
from typing import Final

from app.doctor.asking import Asked
from app.doctor.findings import Chart, marked
from app.settings import Backend

CLOSING_TOKENS: Final = 3
"""An end of a message and the head of the next one are at least as many."""
PLAIN: Final = "start end"
COPIES: Final = 4
MARKERS: Final = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|start_header_id|>", "<|eot_id|>",
    "<start_of_turn>", "<end_of_turn>", "[INST]", "</s>",
)  # fmt: skip


def marked_text(marker: str) -> str:
    """`PLAIN` with copies of the marker in its middle: as control tokens they are one token each."""
    return PLAIN.replace(" ", f" {marker * COPIES}")


def judge_prefill(chart: Chart, backend: Backend, whole: Asked, begun: Asked | None) -> None:
    """`begun` is None where the server refused it. Its prompt is longer where it was closed and not gone on with."""
    sizes = (whole.reported.prompt_tokens, begun.reported.prompt_tokens if begun else None)
    works: bool | None = False
    if begun is not None:
        works = None if sizes[0] is None or sizes[1] is None else sizes[1] - sizes[0] < CLOSING_TOKENS
    if works is None:
        chart.warn(
            "prefill",
            marked("Whether it goes on with an answer cannot be told: its usage is not reported."),
            marked("Set prefill of this backend as its manual says."),
        )
    elif backend.prefill and not works:
        chart.fail(
            "prefill",
            marked("It does not go on with an answer, but prefill is set."),
            marked("Set prefill of this backend to false."),
        )
    elif works and not backend.prefill:
        chart.ok("prefill", marked("It goes on with an answer: prefill can be set."))
    elif works:
        chart.ok("prefill", marked("It goes on with an answer."))
    else:
        chart.ok("prefill", marked("It does not go on with an answer, as configured."))


def judge_markers(chart: Chart, grown: Mapping[str, int]) -> None:
    """`grown`: tokens that copies of a marker add to a text, about one each where it is taken for the real one."""
    taken = [marker for marker, tokens in grown.items() if tokens <= COPIES + 1]
    if taken:
        chart.warn(
            "markers",
            marked(
                "It takes typed markers for its own: %(markers)s. People can end their message and forge another one."
            ),
            marked("Look for an option that keeps special tokens out of content; it harms nobody else's conversation."),
            markers=" ".join(taken),
        )
    else:
        chart.ok("markers", marked("Typed control tokens stay text."))


def cannot_count(chart: Chart) -> None:
    chart.warn(
        "markers",
        marked("It has no count_tokens, so typed control tokens cannot be looked at."),
        marked("Without it a message that is too long is refused only by the model."),
    )
