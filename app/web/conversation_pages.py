"""A conversation to read and to write in, a new one, and what can be done with it as a whole."""

from typing import Any
from uuid import UUID

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.conversations.conversations import LONGEST_TITLE
from app.conversations.views import ConversationView
from app.errors import Conflict, InvalidInput
from app.volatile_values import find_volatile_values
from app.web.choice_fields import NOTHING_TYPED, choice_values
from app.web.context_meter import meter_of
from app.web.error_pages import status_of
from app.web.forms import field
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.sidebar import around, server_memory
from app.web.system_prompt_hints import hints_of
from app.web.transcript import transcript_values
from app.web.visit import account_of, house_of, visit_of, wants_fragment


async def new_conversation(request: Request) -> Response:
    account_of(request)
    return await new_conversation_page(request)


async def new_conversation_page(
    request: Request, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> Response:
    """The empty page; after a failed send with the text and what went wrong."""
    first_prompt = await house_of(request).choices.first_system_prompt(account_of(request).id)
    values = {"text": "", "system_prompt": first_prompt, "temporary": False, "problem": None, **values}
    choice = await choice_values(request, values.pop("fields", NOTHING_TYPED), values.pop("problem_field", None))
    return pages_of(request).response(
        request,
        "new_conversation.html",
        status=status,
        headers=headers,
        hints=hints_of(values["system_prompt"], None, None, visit_of(request).language),
        backend_away=house_of(request).backend_watch.away,
        **{**await around(request), **choice, **values},
    )


async def conversation(request: Request) -> Response:
    """The page; our script gets only the messages, to catch up with what happened in another window."""
    view = await view_of(request, through=id_of_query(request, "leaf") or id_of_query(request, "edit"))
    await house_of(request).lifecycle.mark_seen(account_of(request).id, view.id)
    if not wants_fragment(request):
        return await conversation_page(request, view, **editing_values(view, id_of_query(request, "edit")))
    return pages_of(request).response(request, "fragments/messages.html", **await transcript_values(request, view))


def editing_values(view: ConversationView, message_id: UUID | None, text: str | None = None) -> dict[str, Any]:
    """For the page on which this question is open for editing, with its own words or those typed so far."""
    for message in view.messages:
        if message.id == message_id and message.role == "user" and view.live_turn_id is None:
            return {"editing": message.id, "edit_text": message.text if text is None else text, "edit_problem": None}
    return {}


async def conversation_page(
    request: Request,
    view: ConversationView,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    """The page of the conversation; after a failed change with what was typed and what went wrong.

    It does not wait for the context window: where that was not asked for yet, the meter comes behind the page.
    """
    language, turns = visit_of(request).language, house_of(request).turns
    speed = await turns.prefill_speed(view.backend)
    meter_comes = view.last_counted_turn is not None and turns.window_unasked
    response = pages_of(request).response(
        request,
        "conversation.html",
        status=status,
        headers=headers,
        **{
            **await around(request),
            **await transcript_values(request, view),
            "system_prompt": view.system_prompt,
            "title": view.title,
            "max_title": LONGEST_TITLE,
            "text": "",
            "problem": None,
            "settings_problem": None,
            "backend_away": house_of(request).backend_watch.away,
            "settings_open": "settings" in request.query_params,
            "standing": await house_of(request).lifecycle.standing(account_of(request).id, view.id),
            "hints": hints_of(values.get("system_prompt", view.system_prompt), view.last_counted_turn, speed, language),
            "meter": meter_of(view, turns.context_window(view.model, view.id, view.backend), language),
            "meter_comes": meter_comes,
            **values,
        },
    )
    if meter_comes:
        response.background = BackgroundTask(turns.learn_windows)
    return response


async def change_system_prompt(request: Request) -> Response:
    owner, conversation_id = account_of(request).id, conversation_id_of(request)
    text = field(request, "system_prompt")
    try:
        await house_of(request).conversations.set_system_prompt(owner, conversation_id, text)
    except (InvalidInput, Conflict) as error:
        return await _settings_refused(request, error, system_prompt=text)
    opened = "?settings=open" if find_volatile_values(text) else ""
    return RedirectResponse(f"/conversations/{conversation_id}{opened}", 303)


async def rename(request: Request) -> Response:
    owner, conversation_id = account_of(request).id, conversation_id_of(request)
    title = " ".join(field(request, "title").split())
    try:
        # The service would cut it to that length, which nobody has asked for here.
        if len(title) > LONGEST_TITLE:
            raise InvalidInput("title", f"At most {LONGEST_TITLE} characters are possible.")
        await house_of(request).conversations.rename(owner, conversation_id, title)
    except InvalidInput as error:
        return await _settings_refused(request, error, title=title)
    return RedirectResponse(f"/conversations/{conversation_id}", 303)


async def confirm_delete(request: Request) -> Response:
    view = await view_of(request)
    count = await house_of(request).branches.count_all(account_of(request).id, view.id)
    values = {**await around(request), **server_memory(request), "conversation": view, "count": count}
    return pages_of(request).response(request, "delete_conversation.html", **values)


async def delete(request: Request) -> Response:
    await house_of(request).conversations.delete(account_of(request).id, conversation_id_of(request))
    return RedirectResponse("/", 303)


async def view_of(request: Request, through: UUID | None = None) -> ConversationView:
    """The conversation that the path names; NotFound for everybody but its owner."""
    owner = account_of(request).id
    return await house_of(request).conversations.view(owner, conversation_id_of(request), through)


def conversation_id_of(request: Request) -> UUID:
    conversation_id: UUID = request.path_params["conversation_id"]
    return conversation_id


def id_of_query(request: Request, name: str) -> UUID | None:
    """None where the address has no such id, or none that is one."""
    try:
        return UUID(request.query_params.get(name, ""))
    except ValueError:
        return None


async def _settings_refused(request: Request, error: InvalidInput | Conflict, **typed: Any) -> Response:
    words = error_words(error, visit_of(request).language)
    view = await view_of(request)
    return await conversation_page(request, view, status=status_of(error), settings_problem=words, **typed)
