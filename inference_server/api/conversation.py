"""From the wire's messages to the chat template's: neighbours of one role merged, every block kept apart."""

from collections.abc import Iterator
from dataclasses import dataclass

from inference_server.api.schemas import CountTokensRequest, TextBlock
from inference_server.text.chat_template import ChatMessage

MERGED_BY = "\n\n"
"""What stands between neighbours of the same role, which most templates do not accept as two messages."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request's messages, and the content block (message, block) at the last cache breakpoint, if there is one.

    ``places`` says where each message begins in the request: ``system`` or ``messages.i``.
    """

    messages: tuple[ChatMessage, ...]
    places: tuple[str, ...]
    breakpoint: tuple[int, int] | None


def conversation(request: CountTokensRequest) -> Conversation:
    """Merge a request's system prompt and messages for the chat template. Pure."""
    merged: list[tuple[str, list[str]]] = []
    places: list[str] = []
    last_mark = last_block = None
    for place, role, blocks in _with_system(request):
        if merged and merged[-1][0] == role:
            merged[-1][1].append(MERGED_BY)
        else:
            merged.append((role, []))
            places.append(place)
        for block in blocks:
            merged[-1][1].append(block.text)
            last_block = (len(merged) - 1, len(merged[-1][1]) - 1)
            last_mark = last_block if block.cache_control else last_mark
    mark = last_block if request.cache_control else last_mark
    messages = tuple(ChatMessage(role, tuple(blocks)) for role, blocks in merged)
    return Conversation(messages, tuple(places), mark)


def _with_system(request: CountTokensRequest) -> Iterator[tuple[str, str, list[TextBlock]]]:
    """(place, role, blocks) of each."""
    if any(block.text for block in request.system):
        yield "system", "system", request.system
    for index, message in enumerate(request.messages):
        yield f"messages.{index}", message.role, message.content
