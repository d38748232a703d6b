"""What an open page asks for after each turn, and when its reader comes back.

The meter, from where on messages are sent, and with which message the active branch ends now.
"""

from starlette.requests import Request
from starlette.responses import Response

from app.web.context_meter import meter_of
from app.web.conversation_pages import view_of
from app.web.pages import pages_of
from app.web.visit import house_of, visit_of

LEAF_HEADER = "conversation-leaf"


async def context(request: Request) -> Response:
    view = await view_of(request)
    await house_of(request).turns.learn_windows()  # Nobody waits for a piece of a page that is open.
    window = house_of(request).turns.context_window(view.model, view.id, view.backend)
    meter = meter_of(view, window, visit_of(request).language)
    return pages_of(request).response(
        request,
        "fragments/context.html",
        headers={LEAF_HEADER: str(view.leaf_id or "")},
        meter=meter,
        history_start_id=view.history_start_id,
    )
