"""From the JSON of the Messages API to our values. Ignores unknown fields; null is as good as absent."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import from_json

from inference_client.errors import ProtocolError, StatusError, class_for_status
from inference_client.messages import Message, Model, PrefixCache, Usage

Shape = TypeVar("Shape", bound=BaseModel)


class BlockShape(BaseModel):
    """A content block or the delta of one; only text has a text."""

    type: str
    text: str | None = None

    def shown_text(self) -> str:
        return (self.text or "") if self.type in ("text", "text_delta") else ""


Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]


class _PrefixCacheShape(BaseModel):
    outcome: Word | None = None
    expected_tokens: int | None = None
    matched_tokens: int | None = None
    diverged_at_token: int | None = None
    diverged_in: Word | None = None
    serving_id: Word | None = None


class _MissReasonShape(BaseModel):
    type: str


class _DiagnosticsShape(BaseModel):
    cache_miss_reason: _MissReasonShape | None = None


def _or_none(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    """What is only told beside an answer never spoils it."""
    try:
        return handler(value)
    except ValidationError:
        return None


class MessageShape(BaseModel):
    id: str
    model: str
    content: list[BlockShape] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None
    prefix_cache: Annotated[_PrefixCacheShape | None, WrapValidator(_or_none)] = None
    diagnostics: Annotated[_DiagnosticsShape | None, WrapValidator(_or_none)] = None

    def value(self) -> Message:
        text = "".join(block.shown_text() for block in self.content or ())
        return Message(
            self.id,
            self.model,
            text,
            self.stop_reason,
            self.stop_sequence,
            self.usage or Usage(),
            PrefixCache(**dict(self.prefix_cache)) if self.prefix_cache else None,
            self._previous_found(),
        )

    def _previous_found(self) -> bool | None:
        if "diagnostics" not in self.model_fields_set:
            return None
        reason = self.diagnostics.cache_miss_reason if self.diagnostics else None
        return reason is None or reason.type != "previous_message_not_found"


class ErrorDetail(BaseModel):
    type: str | None = None
    message: str | None = None


class ErrorShape(BaseModel):
    error: ErrorDetail
    request_id: str | None = None


class _ModelShape(BaseModel):
    id: str
    display_name: str | None = None
    max_input_tokens: int | None = None

    def value(self) -> Model:
        return Model(self.id, self.display_name or self.id, self.max_input_tokens)


class _ForgottenShape(BaseModel):
    running: list[str]


class _HealthShape(BaseModel):
    serving_id: Word | None = None


class _ModelListShape(BaseModel):
    data: list[_ModelShape]


class _TokenCountShape(BaseModel):
    input_tokens: int


def parse_message(body: bytes) -> Message:
    return fit(MessageShape, parse_json(body)).value()


def parse_models(body: bytes) -> list[Model]:
    return [model.value() for model in fit(_ModelListShape, parse_json(body)).data]


def parse_token_count(body: bytes) -> int:
    return fit(_TokenCountShape, parse_json(body)).input_tokens


def parse_running(body: bytes) -> list[str]:
    return fit(_ForgottenShape, parse_json(body)).running


def parse_serving_id(body: bytes) -> str | None:
    """None for any other page: what stands at `/health` is nowhere agreed upon."""
    try:
        return fit(_HealthShape, parse_json(body)).serving_id
    except ProtocolError:
        return None


def parse_status_error(status: int, headers: Mapping[str, str], body: bytes) -> StatusError:
    """The error of a response without success. A body that is no error of this API is not quoted."""
    try:
        shape = fit(ErrorShape, parse_json(body))
    except ProtocolError:
        shape = ErrorShape(error=ErrorDetail())
    error_type = shape.error.type or "unknown_error"
    return class_for_status(status, error_type)(
        status,
        error_type,
        shape.error.message or f"The backend answered with HTTP status {status}.",
        headers.get("request-id") or shape.request_id,
        parse_retry_after(headers.get("retry-after")),
    )


def parse_retry_after(value: str | None) -> float | None:
    """Seconds from now, given as such or as an HTTP date; None for anything else."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def parse_json(text: bytes | str) -> Any:
    """Raises ProtocolError. Never quotes the text, which may be somebody's conversation."""
    try:
        return from_json(text)
    except ValueError as error:
        raise ProtocolError("the backend sent something that is not JSON") from error


def fit(shape: type[Shape], payload: object) -> Shape:
    """Raises ProtocolError that names the first wrong field, without its value."""
    try:
        return shape.model_validate(payload)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the body"
        raise ProtocolError(f"unexpected JSON from the backend: {field}: {first['msg']}") from None
