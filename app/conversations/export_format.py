"""The file of an exported conversation, version 1, as strict models. `docs/export-format.md` describes it.

What the fields refer to among themselves is checked in `import_checks`.
"""

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError

from app.conversations.params import Params, canonical_json
from app.text import clean_answer_text

FORMAT: Final = "recount-conversation"
VERSION: Final = 1
MOST_ROWS = 20_000
LONGEST_TEXT = 1_000_000
LONGEST_PARAMS = 4_000


def _storable(text: str) -> str:
    if text != clean_answer_text(text):
        raise PydanticCustomError("unstorable", "no NUL and no lone surrogates")
    return text


def _small(params: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if len(canonical_json(params)) > LONGEST_PARAMS:
        raise PydanticCustomError("string_too_long", "too many characters", {"max_length": LONGEST_PARAMS})
    return params


# Ids only refer inside the file: an import makes new ones.
Id = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_storable)]
Name = Annotated[str, Field(max_length=1_000), AfterValidator(_storable)]
Note = Annotated[str, Field(pattern=r"^<context-note>[^<>\x00-\x1f]{1,200}</context-note>$")]
Word = Annotated[str, Field(pattern=r"^[a-z0-9_.:-]{1,64}$")]
Count = Annotated[int, Field(ge=0, lt=2**31)]
# Far below what a column holds, so that a conversation can be gone on with.
Number = Annotated[int, Field(ge=1, le=10**9)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Instant = Annotated[AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(2200, 1, 1, tzinfo=UTC))]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


class ExportedConversation(_Part):
    """`salt` is hexadecimal; it makes the hashes of the messages checkable."""

    reference: Name
    title: Name
    system_prompt_id: Id | None
    model: Name | None
    params: Params
    active_leaf_id: Id | None
    next_seq: Number
    salt: Annotated[str, Field(pattern=r"^([0-9a-f]{2}){1,64}$")]
    archived_at: Instant | None
    created_at: Instant
    updated_at: Instant


class ExportedPrompt(_Part):
    id: Id
    text: Text


class ExportedMessage(_Part):
    id: Id
    parent_id: Id | None
    seq: Number
    role: Literal["user", "assistant"]
    text: Text
    context_note: Note | None
    sent_sha256: Sha256 | None
    selected_child_id: Id | None
    created_at: Instant


class ExportedTurn(_Part):
    """All figures; what was not reported is null."""

    id: Id
    purpose: Literal["chat", "probe"]
    kind: Literal["question", "edit", "regenerate", "continue", "retry"]
    user_message_id: Id | None
    assistant_message_id: Id | None
    base_turn_id: Id | None
    prefill_chars: Count | None
    system_prompt_id: Id | None
    history_start_message_id: Id | None
    model: Name | None
    params: Annotated[dict[str, JsonValue], AfterValidator(_small)]
    prompt_format: Count
    request_sha256: Sha256 | None
    backend: Name | None
    serving_id: Name | None
    backend_message_id: Name | None
    status: Literal["queued", "running", "completed", "stopped", "interrupted", "failed"]
    stop_requested_at: Instant | None
    input_tokens: Count | None
    cache_creation_input_tokens: Count | None
    cache_read_input_tokens: Count | None
    output_tokens: Count | None
    expected_read_tokens: Count | None
    expected_is_minimum: bool | None
    shortfall_tokens: Count | None
    known_cause: Annotated[str, Field(pattern=r"^[a-z_]{1,32}$")] | None = None
    server_outcome: Annotated[str, Field(pattern=r"^[a-z_]{1,32}$")] | None = None
    server_expected_tokens: Count | None = None
    diverged_token: Count | None = None
    outcome: Annotated[str, Field(pattern=r"^[a-z_]{1,32}$")] | None
    fault: bool | None
    law_mismatch: bool | None = None
    diverged_where: Annotated[Name, Field(max_length=64)] | None
    diverged_offset: Count | None
    diverged_kind: Annotated[str, Field(pattern=r"^[a-z_]{1,16}$")] | None
    stop_reason: Name | None
    stop_sequence: Text | None
    error_type: Word | None
    error_message: Name | None
    queued_ms: Count | None
    admission_ms: Count | None
    prefill_ms: Count | None
    time_to_first_token_ms: Count | None
    duration_ms: Count | None
    created_at: Instant
    finished_at: Instant | None


class ExportFile(_Part):
    """`seal` tells the instance that wrote the file for an owner that it comes back unchanged, to the same one."""

    format: Literal["recount-conversation"]
    version: Literal[1]
    conversation: ExportedConversation
    system_prompts: Annotated[list[ExportedPrompt], Field(max_length=MOST_ROWS)]
    messages: Annotated[list[ExportedMessage], Field(max_length=MOST_ROWS)]
    turns: Annotated[list[ExportedTurn], Field(max_length=MOST_ROWS)]
    seal: Sha256 | None = None
