"""What our script asks while a system prompt is written. The answer is a hint; nothing is stored."""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from app.conversations.figures import TurnFigures
from app.errors import NotFound
from app.web.forms import field, optional_field
from app.web.pages import pages_of
from app.web.system_prompt_hints import hints_of
from app.web.visit import account_of, house_of, visit_of


async def check_system_prompt(request: Request) -> Response:
    """With a `conversation_id` it says what a turn costs there; NotFound for somebody else's."""
    account_of(request)
    last = await _last_turn(request)
    speed = await house_of(request).turns.prefill_speed(last.backend) if last else None
    hints = hints_of(field(request, "system_prompt"), last, speed, visit_of(request).language)
    return pages_of(request).response(request, "fragments/system_prompt_check.html", hints=hints)


async def _last_turn(request: Request) -> TurnFigures | None:
    named = optional_field(request, "conversation_id")
    if named is None:
        return None
    try:
        conversation_id = UUID(named)
    except ValueError:
        raise NotFound from None
    view = await house_of(request).conversations.view(account_of(request).id, conversation_id)
    return view.last_counted_turn
