"""What the forms send, as values. The middleware has checked where they came from."""

from typing import cast
from urllib.parse import urlsplit

from starlette.requests import Request

from app.web.languages import LANGUAGE_TAGS

MAX_BODY_BYTES = 1_048_576


def form_of(request: Request) -> dict[str, str]:
    return cast("dict[str, str]", request.state.form)


def field(request: Request, name: str) -> str:
    """The field's value; empty where the form lacks it."""
    return form_of(request).get(name, "")


def optional_field(request: Request, name: str) -> str | None:
    return field(request, name) or None


def locale_field(request: Request) -> str | None:
    """One of our languages, or None: the browser's own."""
    tag = field(request, "locale")
    return tag if tag in LANGUAGE_TAGS else None


def local_path(candidate: str) -> str:
    """The path to go to after signing in, or `/` where it would lead away from this site."""
    parts = urlsplit(candidate)
    safe = candidate.startswith("/") and not candidate.startswith("//") and "\\" not in candidate
    return candidate if safe and not parts.netloc and not parts.scheme and candidate.isprintable() else "/"
