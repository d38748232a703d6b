"""From a checked request to a sequence in the engine: prompt, limits, cache scope, usage."""

import hashlib
import secrets
from array import array
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from inference_server.api.conversation import Conversation, conversation
from inference_server.api.schemas import CountTokensRequest, MessagesRequest
from inference_server.async_engine import AsyncEngine
from inference_server.config import ServerConfig
from inference_server.engine import Admitted, EngineEvent
from inference_server.errors import InvalidRequest, ModelNotFound, Overloaded
from inference_server.records import Record, digests
from inference_server.sequence import Sampling, Sequence
from inference_server.stats import Stats
from inference_server.text.detokenizer import Detokenizer, TextReader
from inference_server.text.prompt import Prompt, PromptBuilder
from inference_server.text.stop_strings import StopStrings
from inference_server.text.tokenizer import TextTokenizer

RETRY_AFTER_S = 2


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What the server tells of its model. ``window`` is the most tokens a conversation can have: context or pool."""

    id: str
    name: str
    window: int
    end_tokens: frozenset[int]


@dataclass(frozen=True, slots=True)
class Generation:
    """A request that is ready to run."""

    record: Record
    breakpoint: int
    """Prompt tokens up to the last ``cache_control`` mark; 0 without one."""
    previous_message_id: str | None
    """The message that this one follows, where the caller says so to have the difference explained."""

    def usage(self, admitted: Admitted, output_tokens: int) -> dict[str, int]:
        """The wire's usage: the three input figures add up to the prompt and are final at admission."""
        read = admitted.cached_tokens
        creation = max(0, self.breakpoint - read)
        return {
            "input_tokens": admitted.prompt_tokens - read - creation,
            "cache_creation_input_tokens": creation,
            "cache_read_input_tokens": read,
            "output_tokens": output_tokens,
        }


def cache_scope(key: str, user: str) -> bytes:
    """Who may reuse a request's KV, of the API key and the user that its holder names.

    Lengths are hashed too, so that no two pairs read alike.
    """
    fields = (key.encode(), user.encode())
    return hashlib.sha256(b"".join(len(f).to_bytes(8, "big") + f for f in fields)).digest()


class Generator:
    """Prepares and runs requests of one model."""

    def __init__(
        self,
        config: ServerConfig,
        model: ServedModel,
        tokenizer: TextTokenizer,
        prompts: PromptBuilder,
        engine: AsyncEngine,
        stats: Stats,
    ) -> None:
        self.model = model
        self.serving_id = secrets.token_hex(4)
        self._config = config
        self._tokenizer = tokenizer
        self._prompts = prompts
        self._engine = engine
        self._stats = stats

    def count(self, request: CountTokensRequest) -> int:
        """Prompt tokens of a conversation, exactly as :meth:`prepare` would have them. Slow for long text."""
        return len(self.prompt(request)[0].tokens)

    def prepare(self, request: MessagesRequest) -> Generation:
        """Build the prompt and check every limit. Slow for long text: call it off the event loop.

        Raises ModelNotFound, InvalidRequest (a prompt that can never fit) or Overloaded (the queue is full).
        """
        if self._engine.num_requests >= self._config.max_running + self._config.max_waiting:
            raise Overloaded("too many requests are waiting", retry_after_s=RETRY_AFTER_S)
        prompt, messages = self.prompt(request)
        room = self.model.window - len(prompt.tokens)
        if room < min(1, request.max_tokens):
            raise InvalidRequest(
                "messages",
                f"the prompt has {len(prompt.tokens)} tokens; at most {self.model.window} fit with the answer",
            )
        output = array("i")
        sequence = Sequence(
            id=f"msg_{self.serving_id}_{secrets.token_hex(12)}",
            scope=self._scope(request),
            prompt=prompt.tokens,
            max_tokens=min(request.max_tokens, room),
            clamped=request.max_tokens > room,
            sampling=self._sampling(request),
            end_tokens=self.model.end_tokens,
            reader=TextReader(
                Detokenizer(self._tokenizer, prompt.prefill or ()), StopStrings(request.stop_sequences or ())
            ),
            output=output,
        )
        self._prompts.remember(prompt, output)
        mark, asked = messages.breakpoint, request.diagnostics
        return Generation(
            Record(sequence, prompt, digests(messages.messages), messages.places),
            breakpoint=prompt.end_of(*mark) if mark else 0,
            previous_message_id=asked.previous_message_id if asked else None,
        )

    async def run(self, generation: Generation) -> AsyncGenerator[EngineEvent, None]:
        """Run a prepared request; leaving the iteration early aborts it."""
        record = generation.record
        self._stats.record_arrival(record.id)
        try:
            async with aclosing(self._engine.generate(record.sequence)) as events:
                async for event in events:
                    yield event
        finally:
            self._prompts.settle(record.prompt)

    def _check_model(self, request: CountTokensRequest) -> None:
        if request.model != self.model.id:
            raise ModelNotFound(f"model: {request.model!r} is not served here; {self.model.id!r} is")

    def prompt(self, request: CountTokensRequest) -> tuple[Prompt, Conversation]:
        """What the model would see. Slow for long text. Raises ModelNotFound or InvalidRequest."""
        self._check_model(request)
        messages = conversation(request)
        size = sum(len(message.text) for message in messages.messages)
        if size > self.model.window * self._tokenizer.longest_token:  # Not worth encoding, which takes seconds.
            raise InvalidRequest("messages", f"{size} characters are more than {self.model.window} tokens can hold")
        return self._prompts.build(self._scope(request), messages.messages), messages

    def _scope(self, request: CountTokensRequest) -> bytes:
        if not self._config.prefix_cache:
            return secrets.token_bytes(32)  # Nobody has it, so nothing is found in it.
        if self._config.shared_cache:
            return b""
        user = request.metadata.user_id if request.metadata and request.metadata.user_id else ""
        return cache_scope(self._config.key or "", user)

    def _sampling(self, request: MessagesRequest) -> Sampling:
        config = self._config
        return Sampling(
            temperature=config.temperature if request.temperature is None else request.temperature,
            top_p=config.top_p if request.top_p is None else request.top_p,
            top_k=request.top_k or 0,
            seed=secrets.randbits(64),
        )
