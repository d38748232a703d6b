"""What the forms send, as values. Views read only what the form guard has checked."""

from typing import cast
from urllib.parse import urlsplit
from uuid import UUID

from starlette.datastructures import UploadFile
from starlette.requests import Request

from app.web.languages import LANGUAGE_TAGS

MAX_BODY_BYTES = 1_048_576
UPLOAD_PATH = "/import"
MAX_UPLOAD_BYTES = 20 * 1_048_576
UPLOAD_MEDIA_TYPE = "multipart/form-data"
FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
CHOICE_FIELDS = ("model", "max_tokens", "temperature", "top_p", "stop_sequences")


async def read_form(request: Request) -> dict[str, str] | None:
    """Every field as it came, kept for `typed_of`; None where the body is no form of ours. HTTPException 413."""
    if _media_type(request) != FORM_MEDIA_TYPE:
        return None
    request.state.typed = {name: str(value) for name, value in (await request.form()).items()}
    return dict(request.state.typed)


async def read_upload(request: Request) -> dict[str, str] | None:
    """The fields of a form with one file, whose bytes `upload_of` has then; None where the body is no such form."""
    if _media_type(request) != UPLOAD_MEDIA_TYPE:
        return None
    fields: dict[str, str] = {}
    request.state.upload = b""
    async with request.form(max_files=1, max_fields=8) as form:
        for name, value in form.items():
            if isinstance(value, UploadFile):
                request.state.upload = await value.read()
            else:
                fields[name] = value
    return fields


def upload_of(request: Request) -> bytes:
    """The file of the form; empty where none was chosen."""
    return cast("bytes", request.state.upload)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def typed_of(request: Request) -> dict[str, str] | None:
    """The unchecked fields of a message that was being sent, only to show them to its writer again."""
    typed: dict[str, str] = getattr(request.state, "typed", {})
    if not typed.get("text") or "submission_key" not in typed:
        return None
    names = ("submission_key", "time_zone", "system_prompt", "temporary", "text", *CHOICE_FIELDS)
    return {name: typed.get(name, "") for name in names}


def form_of(request: Request) -> dict[str, str]:
    return cast("dict[str, str]", request.state.form)


def field(request: Request, name: str) -> str:
    """The field's value; empty where the form lacks it."""
    return form_of(request).get(name, "")


def optional_field(request: Request, name: str) -> str | None:
    return field(request, name) or None


def id_field(request: Request, name: str) -> UUID | None:
    """None where the field is empty or no id."""
    try:
        return UUID(field(request, name))
    except ValueError:
        return None


def locale_field(request: Request) -> str | None:
    """One of our languages, or None: the browser's own."""
    tag = field(request, "locale")
    return tag if tag in LANGUAGE_TAGS else None


def local_path(candidate: str) -> str:
    """The path to go to after signing in, or `/` where it would lead away from this site."""
    try:
        parts = urlsplit(candidate)
    except ValueError:  # A broken host in brackets.
        return "/"
    safe = candidate.startswith("/") and not candidate.startswith("//") and "\\" not in candidate
    return candidate if safe and not parts.netloc and not parts.scheme and candidate.isprintable() else "/"
