"""The bodies of probe requests. Each examination has a text and cache scopes of its own, which nobody else has."""

import random
import secrets
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

from app import prompt
from app.prompt import Body, PathMessage
from app.settings import Backend

FEWEST_WORDS: Final = 80
WORDS_PER_TOKEN: Final = 2
"""Twice the block, or the shortest prefix that is kept: also where a token is more than a word."""
ANSWER_TOKENS: Final = 24
_WORDS: Final = (
    "river", "stone", "lamp", "paper", "green", "window", "seven", "bread", "silver", "morning", "garden", "wheel",
    "letter", "cloud", "orange", "bridge", "candle", "winter", "harbor", "mirror", "basket", "copper", "summer",
    "ladder", "needle", "pepper", "rocket", "shadow", "timber", "velvet", "walnut", "yellow",
)  # fmt: skip


@dataclass(frozen=True)
class Bodies:
    """`scope` and `other_scope` name two users that there are not, `conversation` a conversation of theirs."""

    backend: Backend
    model: str
    scope: str = field(default_factory=lambda: f"recount-doctor-{secrets.token_hex(16)}")
    other_scope: str = field(default_factory=lambda: f"recount-doctor-{secrets.token_hex(16)}")
    conversation: UUID = field(default_factory=uuid4)
    text: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """As a turn sends them, so that a router keeps both turns on one server."""
        return {self.backend.session_header: str(self.conversation)} if self.backend.session_header else {}

    @classmethod
    def of(cls, backend: Backend, model: str) -> "Bodies":
        count = max(FEWEST_WORDS, WORDS_PER_TOKEN * backend.reuse_rule.size)
        words = random.SystemRandom().choices(_WORDS, k=count)
        return cls(backend, model, text=f"{' '.join(words)}.\n\nRepeat the last twenty words.")

    def first(self) -> Body:
        return self._asking([PathMessage("user", self.text)], previous=None)

    def second(self, answer: str, message_id: str) -> Body:
        """The next question behind the answer to the first, as a turn of the app would ask it."""
        path = [PathMessage("user", self.text), PathMessage("assistant", answer), PathMessage("user", "Once more.")]
        return self._asking(path, previous=message_id)

    def of_somebody_else(self) -> Body:
        """The first again, by the other user."""
        return self._asking([PathMessage("user", self.text)], previous=None, scope=self.other_scope, max_tokens=1)

    def begun_answer(self) -> Body:
        """An answer to go on with. It has as many tokens as `whole_question`, unless the server closes it."""
        path = [PathMessage("user", "Count up: "), PathMessage("assistant", "one, two, three")]
        return self._asking(path, previous=None, max_tokens=1)

    def whole_question(self) -> Body:
        return self._asking([PathMessage("user", "Count up: one, two, three")], previous=None, max_tokens=1)

    def counted(self, text: str) -> Body:
        """For `count_tokens`."""
        body = self._asking([PathMessage("user", text)], previous=None)
        left_out = ("max_tokens", "stream", "temperature", "diagnostics")
        return {name: value for name, value in body.items() if name not in left_out}

    def _asking(
        self,
        path: list[PathMessage],
        *,
        previous: str | None,
        scope: str | None = None,
        max_tokens: int = ANSWER_TOKENS,
    ) -> Body:
        isolated = self.backend.isolation == "metadata"
        body = prompt.build(
            model=self.model,
            max_tokens=max_tokens,
            system_prompt="",
            path=path,
            user_scope=(scope or self.scope) if isolated else None,
        )
        if self.backend.cache_control:
            body["cache_control"] = {"type": "ephemeral"}
        if self.backend.diagnostics:
            body["diagnostics"] = {"previous_message_id": previous}
        return body
