"""A conversation's turns beside the same turns sent in another way: for operators, and for the conversation's owner.

Both see the same numbers, and nobody's words.
"""

from starlette.requests import Request
from starlette.responses import Response

from app.web.conversation_pages import conversation_id_of, id_of_query
from app.web.operator.what_if_chart import what_if_chart_of
from app.web.operator.what_if_words import cells_of, obstacles_in_words, summary_of, verdict_of
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import account_of, house_of, visit_of
from app.what_if import ConversationWhatIf


async def operator_what_if(request: Request) -> Response:
    operator_of(request)
    conversation_id = conversation_id_of(request)
    found = await house_of(request).what_ifs.of_conversation(conversation_id, id_of_query(request, "leaf"))
    return _page(request, found, "operator/layout.html", f"/operator/conversations/{conversation_id}")


async def own_what_if(request: Request) -> Response:
    owner, conversation_id = account_of(request).id, conversation_id_of(request)
    found = await house_of(request).what_ifs.of_owner(owner, conversation_id, id_of_query(request, "leaf"))
    return _page(request, found, "account/layout.html", f"/conversations/{conversation_id}")


def _page(request: Request, found: ConversationWhatIf, layout: str, back: str) -> Response:
    language, zone = visit_of(request).language, visit_of(request).time_zone
    return pages_of(request).response(
        request,
        "operator/what_if.html",
        layout=layout,
        back=back,
        found=found,
        verdict=verdict_of(found, language),
        obstacles=obstacles_in_words(found, language),
        summary=summary_of(found, language),
        chart=what_if_chart_of(found.turns),
        rows=[cells_of(turn, language, zone) for turn in found.turns],
    )
