"""What a chat template does to a conversation that goes on, found out at start by trying it.

A template that keeps the prefix property renders turn n as the beginning of turn n + 1. One that does not costs the
cache, unless the server resends what the model saw (``--history transcript``).
"""

from collections.abc import Sequence

from inference_server.errors import InvalidRequest
from inference_server.text.chat_template import ChatMessage, ChatTemplate

SYSTEM = ChatMessage("system", ("Be kind.",))
CONVERSATION = (
    ChatMessage("user", ("One?",)),
    ChatMessage("assistant", ("First.",)),
    ChatMessage("user", ("Two?",)),
    ChatMessage("assistant", ("Second.",)),
    ChatMessage("user", ("Three?",)),
)
PADDED = " padded \n"
REASONED = "<think>\nbecause\n</think>\n\nAnswer."


def template_faults(source: str, *, bos_token: str, eos_token: str) -> list[str]:
    """Sentences that say which promise the template breaks; empty for one that keeps all."""

    def template(date: str = "2024-01-01") -> ChatTemplate:
        return ChatTemplate(source, bos_token=bos_token, eos_token=eos_token, date=date)

    keeps_prefix = _keeps_prefix(template(), CONVERSATION)
    checks = [
        ("it prints the date", _text(template(), CONVERSATION) != _text(template("2024-01-02"), CONVERSATION)),
        ("it trims or rewrites contents", _rewrites(template(), PADDED)),
        ("it drops reasoning from earlier answers", _rewrites(template(), REASONED)),
        ("it takes no system prompt", _text(template(), (SYSTEM, *CONVERSATION)) is None),
        ("it changes earlier text when the conversation goes on", not keeps_prefix),
        ("it moves the system prompt", keeps_prefix and not _keeps_prefix(template(), (SYSTEM, *CONVERSATION))),
    ]
    return [fault for fault, is_found in checks if is_found]


def _keeps_prefix(template: ChatTemplate, conversation: Sequence[ChatMessage]) -> bool:
    """Whether each question's rendering, and the answer behind it, begin the next question's."""
    ends = [end for end in range(1, len(conversation) + 1) if conversation[end - 1].role == "user"]
    renderings = [_text(template, conversation[:end]) for end in ends]
    answers = [conversation[end].text for end in ends[:-1]]
    return all(
        before is None or after is None or after.startswith(before + answer)
        for before, after, answer in zip(renderings, renderings[1:], answers, strict=False)
    )


def _rewrites(template: ChatTemplate, content: str) -> bool:
    """Whether this content of an earlier answer comes out otherwise."""
    conversation = (CONVERSATION[0], ChatMessage("assistant", (content,)), CONVERSATION[2])
    text = _text(template, conversation)
    return text is None or content not in text


def _text(template: ChatTemplate, conversation: Sequence[ChatMessage]) -> str | None:
    try:
        return template.plain(conversation)
    except InvalidRequest:
        return None
