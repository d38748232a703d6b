"""The model and the parameters of one conversation. A page of its own, because it asks the model server."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.conversations.param_fields import shown_params
from app.errors import InvalidInput
from app.web.choice_fields import choice_values, offered_models, read_choice, typed_choice
from app.web.conversation_pages import conversation_id_of, view_of
from app.web.error_pages import status_of
from app.web.pages import pages_of
from app.web.problem_words import error_words
from app.web.sidebar import around
from app.web.system_prompt_hints import cost_words, tokens_after
from app.web.visit import account_of, house_of, visit_of


async def choices(request: Request) -> Response:
    choice = await house_of(request).choices.of(account_of(request).id, conversation_id_of(request))
    return await _page(request, {"model": choice.model or "", **shown_params(choice.params)})


async def choose(request: Request) -> Response:
    house, owner, conversation_id = house_of(request), account_of(request).id, conversation_id_of(request)
    offered = [model.id for model in await offered_models(request)]
    try:
        await house.choices.choose(owner, conversation_id, read_choice(request), offered)
    except InvalidInput as error:
        return await _refused(request, error)
    return RedirectResponse(f"/conversations/{conversation_id}", 303)


async def _refused(request: Request, error: InvalidInput) -> Response:
    words = error_words(error, visit_of(request).language)
    return await _page(request, typed_choice(request), words, error.field, status=status_of(error))


async def _page(
    request: Request,
    fields: Mapping[str, str],
    problem: str | None = None,
    problem_field: str | None = None,
    *,
    status: int = 200,
) -> Response:
    house, view = house_of(request), await view_of(request)
    tokens = tokens_after(view.last_counted_turn)
    speed = await house.turns.prefill_speed(view.backend) if tokens else None
    return pages_of(request).response(
        request,
        "choices.html",
        status=status,
        **{
            **await around(request),
            "conversation": view,
            "cost_of_change": cost_words(tokens, speed, visit_of(request).language),
            "problem": problem,
            **await choice_values(request, fields, problem_field),
        },
    )
