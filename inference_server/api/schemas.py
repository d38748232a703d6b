"""The bodies of the Messages API: what is accepted, checked strictly, with the path of a wrong field in the error."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from inference_server.errors import InvalidRequest

MAX_MESSAGES = 100_000
MAX_STOP_SEQUENCES = 64


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class CacheControl(_Body):
    """Marks the end of a prefix that the caller means to reuse. Ours is cached without marks; they only count."""

    type: Literal["ephemeral"]


class TextBlock(_Body):
    """A text content block, the only kind that is supported."""

    type: str
    text: str = ""
    cache_control: CacheControl | None = None

    @model_validator(mode="before")
    @classmethod
    def _only_text(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("type") != "text":
            raise ValueError(f"content of type {value.get('type')!r} is not supported; only 'text' is")
        if isinstance(value, dict) and "text" not in value:
            raise ValueError("a text block needs the field 'text'")
        return value


def _as_blocks(value: Any) -> Any:
    """A string is the same as one text block."""
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


class InputMessage(_Body):
    """One message of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: Annotated[list[TextBlock], Field(min_length=1)]

    _blocks = field_validator("content", mode="before")(_as_blocks)

    @model_validator(mode="after")
    def _not_empty(self) -> "InputMessage":
        if self.role == "user" and not any(block.text for block in self.content):
            raise ValueError("the content of a user message must not be empty")
        return self


class Metadata(_Body):
    """What the caller says about the request."""

    user_id: str | None = Field(default=None, max_length=512)


class CountTokensRequest(_Body):
    """``POST /v1/messages/count_tokens``: a conversation."""

    model: str
    messages: Annotated[list[InputMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    system: list[TextBlock] = []
    metadata: Metadata | None = None
    cache_control: CacheControl | None = None

    _system_blocks = field_validator("system", mode="before")(_as_blocks)


class Diagnostics(_Body):
    """Asks why a request read what it read; ``previous_message_id`` is that of the one that it follows."""

    previous_message_id: str | None = Field(default=None, max_length=200)


class MessagesRequest(CountTokensRequest):
    """``POST /v1/messages``: a conversation and how to continue it. ``max_tokens`` 0 only warms the cache."""

    max_tokens: int = Field(ge=0, le=1_000_000)
    stream: bool = False
    stop_sequences: Annotated[list[str], Field(max_length=MAX_STOP_SEQUENCES)] | None = None
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(default=None, gt=0, le=1, allow_inf_nan=False)
    top_k: int | None = Field(default=None, ge=0, le=1_000_000)
    diagnostics: Diagnostics | None = None

    @field_validator("stop_sequences")
    @classmethod
    def _no_empty_stop(cls, stops: list[str] | None) -> list[str] | None:
        if stops is not None and "" in stops:
            raise ValueError("a stop sequence must not be empty")
        return stops


class AttentionRequest(_Body):
    """Where one position looks: in one layer, by one head or by the mean of all; the ``top`` heaviest positions."""

    position: int = Field(ge=0)
    layer: int = Field(ge=0)
    head: int | Literal["mean"] = "mean"
    top: int = Field(default=20, ge=1, le=1000)


class CompareRequest(_Body):
    """Two conversations, neither of which is run."""

    a: CountTokensRequest
    b: CountTokensRequest


class ForgetRequest(_Body):
    """Messages that the server shall not remember any more."""

    ids: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=MAX_MESSAGES)]


Body = TypeVar("Body", bound=_Body)


def parse(kind: type[Body], raw: bytes) -> Body:
    """Parse and check a request body. Raises InvalidRequest with the path of the first wrong field."""
    try:
        return kind.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = ".".join(str(step) for step in first["loc"]) or "body"
        raise InvalidRequest(path, first["msg"].removeprefix("Value error, ")) from error
