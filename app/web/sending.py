"""Sending a message. Our script gets the new messages as a piece of HTML, other browsers a redirect.

Whatever goes wrong, the text that was typed comes back with the answer; for what is not foreseen here, the error
page gives it back.
"""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.conversations.views import ConversationView
from app.errors import Conflict, InvalidInput, NotFound, RecountError, TooMany
from app.turns.requests import SendRequest, SentTurn
from app.web.choice_fields import offered_models, read_choice, typed_choice
from app.web.conversation_pages import (
    conversation_id_of,
    conversation_page,
    new_conversation_page,
    view_of,
)
from app.web.error_pages import headers_of, status_of
from app.web.forms import field, id_field, optional_field
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.sidebar import new_submission_key
from app.web.transcript import transcript_values
from app.web.visit import account_of, house_of, visit_of, wants_fragment

SUBMISSION_KEY_HEADER = "submission-key"


async def start_conversation(request: Request) -> Response:
    """The first message: it makes the conversation."""
    try:
        sent = await house_of(request).turns.send(account_of(request).id, await _first_request(request))
    except (InvalidInput, Conflict, TooMany) as error:
        return await _refused(request, error)
    path = f"/conversations/{sent.conversation_id}"
    if wants_fragment(request):
        return Response(status_code=201, headers={"location": path})
    return RedirectResponse(path, 303)


async def send_message(request: Request) -> Response:
    """A further message in a conversation that is there."""
    wanted = SendRequest(
        submission_key=field(request, "submission_key"),
        text=field(request, "text"),
        conversation_id=conversation_id_of(request),
        message_id=id_field(request, "below"),
        time_zone=optional_field(request, "time_zone"),
    )
    try:
        sent = await house_of(request).turns.send(account_of(request).id, wanted)
    except NotFound:
        return await _conversation_gone(request)
    except (InvalidInput, Conflict, TooMany) as error:
        return await _refused(request, error)
    if wants_fragment(request):
        return await _sent_messages(request, sent)
    return RedirectResponse(f"/conversations/{sent.conversation_id}", 303)


async def _first_request(request: Request) -> SendRequest:
    """InvalidInput for a parameter."""
    choice = read_choice(request)
    return SendRequest(
        submission_key=field(request, "submission_key"),
        text=field(request, "text"),
        time_zone=optional_field(request, "time_zone"),
        system_prompt=optional_field(request, "system_prompt"),
        temporary=bool(field(request, "temporary")),
        choice=choice,
        offered=[model.id for model in await offered_models(request)] if choice.model else (),
    )


async def message(request: Request) -> Response:
    """One message as it stands now: what the page puts in the place of a finished stream."""
    message_id: UUID = request.path_params["message_id"]
    view = await view_of(request, through=message_id)
    if message_id not in {each.id for each in view.messages}:
        raise NotFound
    return await _some_messages(request, view, {message_id})


async def _sent_messages(request: Request, sent: SentTurn) -> Response:
    view = await view_of(request)
    headers = {SUBMISSION_KEY_HEADER: new_submission_key()}
    return await _some_messages(
        request, view, {sent.user_message_id, sent.assistant_message_id}, status=201, headers=headers
    )


async def _some_messages(
    request: Request,
    view: ConversationView,
    ids: set[UUID],
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    values = await transcript_values(request, view)
    values["messages"] = [shown for shown in values["messages"] if shown.message.id in ids]
    return pages_of(request).response(request, "fragments/messages.html", status=status, headers=headers, **values)


async def _conversation_gone(request: Request) -> Response:
    """It was deleted under the open page. The text can start a new one."""
    if wants_fragment(request):
        return pages_of(request).response(request, "fragments/gone.html", status=404)
    words = visit_of(request).language.gettext(
        "This conversation no longer exists. Your text is kept; if you send it, it starts a new conversation."
    )
    return await new_conversation_page(request, status=404, problem=words, text=field(request, "text"))


async def _refused(request: Request, error: RecountError) -> Response:
    words = error_words(error, visit_of(request).language)
    status, headers = status_of(error), headers_of(error)
    if wants_fragment(request):
        headers[SUBMISSION_KEY_HEADER] = new_submission_key()
        return pages_of(request).response(
            request, "fragments/problem.html", status=status, headers=headers, problem=words
        )
    values = {"problem": words, "text": field(request, "text")}
    if "conversation_id" in request.path_params:
        return await conversation_page(request, await view_of(request), status=status, headers=headers, **values)
    return await new_conversation_page(
        request,
        status=status,
        headers=headers,
        system_prompt=field(request, "system_prompt"),
        temporary=bool(field(request, "temporary")),
        fields=typed_choice(request),
        problem_field=error.field if isinstance(error, InvalidInput) else None,
        **values,
    )
