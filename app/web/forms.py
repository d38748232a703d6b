"""What the forms send, as values. Views read only what the form guard has checked."""

from typing import cast
from urllib.parse import urlsplit
from uuid import UUID

from starlette.requests import Request

from app.web.languages import LANGUAGE_TAGS

MAX_BODY_BYTES = 1_048_576
FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str] | None:
    """Every field as it came, kept for `typed_of`; None where the body is no form of ours. HTTPException 413."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != FORM_MEDIA_TYPE:
        return None
    request.state.typed = {name: str(value) for name, value in (await request.form()).items()}
    return dict(request.state.typed)


def typed_of(request: Request) -> dict[str, str] | None:
    """The unchecked fields of a message that was being sent, only to show them to its writer again."""
    typed: dict[str, str] = getattr(request.state, "typed", {})
    if not typed.get("text") or "submission_key" not in typed:
        return None
    return {name: typed.get(name, "") for name in ("submission_key", "time_zone", "system_prompt", "text")}


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
