"""What people do with single messages: edit, ask again, continue, choose a branch, copy, delete.

Our script gets the whole branch as a piece of HTML, other browsers a redirect to the message.
"""

from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from app.conversations import TurnKind
from app.errors import Conflict, InvalidInput, RecountError, TooMany
from app.turns import SendRequest
from app.web.conversation_pages import (
    conversation_id_of,
    conversation_page,
    editing_values,
    view_of,
)
from app.web.error_pages import headers_of, status_of
from app.web.forms import field, optional_field
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.sidebar import around, server_memory
from app.web.transcript import transcript_values
from app.web.visit import account_of, house_of, visit_of, wants_fragment

_AGAIN: Final[tuple[TurnKind, ...]] = ("regenerate", "retry", "continue")


async def edit_message(request: Request) -> Response:
    """The edited words become a question of their own beside the old one, with a note and an answer of its own."""
    message_id = message_id_of(request)
    wanted = SendRequest(
        submission_key=field(request, "submission_key"),
        kind="edit",
        text=field(request, "text"),
        conversation_id=conversation_id_of(request),
        message_id=message_id,
        time_zone=optional_field(request, "time_zone"),
    )
    try:
        sent = await house_of(request).turns.send(account_of(request).id, wanted)
    except (InvalidInput, Conflict, TooMany) as error:
        view = await view_of(request, through=message_id)
        words = error_words(error, visit_of(request).language)
        typed = {**editing_values(view, message_id, wanted.text), "edit_problem": words}
        if "editing" not in typed:  # While an answer is written nothing is open for editing; the words come back below.
            typed = {"problem": words, "text": wanted.text}
        return await conversation_page(request, view, status=status_of(error), headers=headers_of(error), **typed)
    return _to_message(request, sent.user_message_id)


async def ask_again(request: Request) -> Response:
    """Regenerate, retry or continue: the last part of the address says which."""
    kind = next(kind for kind in _AGAIN if request.url.path.endswith(f"/{kind}"))
    wanted = SendRequest(
        submission_key=field(request, "submission_key"),
        kind=kind,
        conversation_id=conversation_id_of(request),
        message_id=message_id_of(request),
    )
    try:
        sent = await house_of(request).turns.send(account_of(request).id, wanted)
    except (InvalidInput, Conflict, TooMany) as error:
        return await _refused(request, error)
    return await _branch(request, sent.assistant_message_id)


async def select_branch(request: Request) -> Response:
    message_id = message_id_of(request)
    await house_of(request).branches.select(account_of(request).id, conversation_id_of(request), message_id)
    return await _branch(request, message_id)


async def message_text(request: Request) -> Response:
    """The message's source, for the copy button; without script, to be selected and copied by hand."""
    text = await house_of(request).branches.text(
        account_of(request).id, conversation_id_of(request), message_id_of(request)
    )
    return PlainTextResponse(text, headers={"content-disposition": "inline"})


async def confirm_delete_message(request: Request) -> Response:
    owner, conversation_id, message_id = account_of(request).id, conversation_id_of(request), message_id_of(request)
    count = await house_of(request).branches.count_below(owner, conversation_id, message_id)
    view = await view_of(request, through=message_id)
    shown = next(message for message in view.messages if message.id == message_id)
    values = {**await around(request), **server_memory(request), "conversation": view, "message": shown, "count": count}
    return pages_of(request).response(request, "delete_message.html", **values)


async def delete_message(request: Request) -> Response:
    conversation_id = conversation_id_of(request)
    await house_of(request).branches.delete(account_of(request).id, conversation_id, message_id_of(request))
    return RedirectResponse(f"/conversations/{conversation_id}", 303)


def message_id_of(request: Request) -> UUID:
    message_id: UUID = request.path_params["message_id"]
    return message_id


async def _branch(request: Request, message_id: UUID) -> Response:
    if not wants_fragment(request):
        return _to_message(request, message_id)
    values = await transcript_values(request, await view_of(request))
    return pages_of(request).response(request, "fragments/messages.html", **values)


def _to_message(request: Request, message_id: UUID) -> Response:
    return RedirectResponse(f"/conversations/{conversation_id_of(request)}#message-{message_id}", 303)


async def _refused(request: Request, error: RecountError) -> Response:
    words = error_words(error, visit_of(request).language)
    status, headers = status_of(error), headers_of(error)
    if wants_fragment(request):
        return pages_of(request).response(
            request, "fragments/problem.html", status=status, headers=headers, problem=words
        )
    return await conversation_page(request, await view_of(request), status=status, headers=headers, problem=words)
