"""What stands around every page of somebody who has signed in."""

import uuid
from typing import Any

from starlette.requests import Request

from app.web.visit import account_of, house_of


async def around(request: Request) -> dict[str, Any]:
    house, owner = house_of(request), account_of(request).id
    return {
        "pinned": await house.conversations.list(owner, "pinned"),
        "conversations": await house.conversations.list(owner),
        "here": _here(request),
        "submission_key": new_submission_key(),
        "max_characters": house.settings.max_message_characters,
    }


def server_memory(request: Request) -> dict[str, bool]:
    """What a page tells whoever is about to delete: whether every model server drops what it remembers."""
    return {"server_forgets": all(backend.forgets for backend in house_of(request).settings.resolved_backends())}


def new_submission_key() -> str:
    return uuid.uuid4().hex


def _here(request: Request) -> str:
    """The page to come back to from a menu; a form that was refused is shown at the address of its conversation."""
    if "conversation_id" in request.path_params:
        return f"/conversations/{request.path_params['conversation_id']}"
    if request.method != "GET":
        return "/"
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
