"""A conversation's turns beside the same turns sent in another way, for its owner and for operators.

Both see the same numbers, and nobody's words.
"""

from starlette.requests import Request
from starlette.responses import Response

from app.web.cache_pages.branch_choice import Choice, branch_label
from app.web.cache_pages.places import Places, operators_places, owners_places
from app.web.cache_pages.what_if_chart import what_if_chart_of
from app.web.cache_pages.what_if_words import cells_of, obstacles_in_words, prompt_length_words, summary_of, verdict_of
from app.web.conversation_pages import conversation_id_of, id_of_query
from app.web.languages import Language
from app.web.operator_pages import operator_of
from app.web.pages import pages_of
from app.web.visit import account_of, house_of, visit_of
from app.what_if import ConversationWhatIf


async def operator_what_if(request: Request) -> Response:
    operator_of(request)
    conversation_id = conversation_id_of(request)
    found = await house_of(request).what_ifs.of_conversation(conversation_id, id_of_query(request, "branch"))
    return _page(request, found, operators_places(found.id))


async def own_what_if(request: Request) -> Response:
    owner, conversation_id = account_of(request).id, conversation_id_of(request)
    found = await house_of(request).what_ifs.of_owner(owner, conversation_id, id_of_query(request, "branch"))
    return _page(request, found, owners_places(found.id))


def _page(request: Request, found: ConversationWhatIf, places: Places) -> Response:
    language, zone = visit_of(request).language, visit_of(request).time_zone
    asked = request.query_params.get("branch", "")
    unknown = bool(asked) and asked != str(found.leaf_id)
    problem = language.gettext(
        "“branch” is not one of this conversation. The branch that is shown in the chat is compared; choose one here."
    )
    return pages_of(request).response(
        request,
        "cache/what_if.html",
        status=400 if unknown else 200,
        places=places,
        problem=problem if unknown else None,
        choices=_choices(found, language),
        found=found,
        verdict=verdict_of(found, language),
        prompt_length=prompt_length_words(found, language),
        obstacles=obstacles_in_words(found, language),
        summary=summary_of(found, language),
        chart=what_if_chart_of(found.turns),
        rows=[cells_of(turn, language, zone) for turn in found.turns],
    )


def _choices(found: ConversationWhatIf, language: Language) -> list[Choice]:
    """None where there is one branch at most."""
    if len(found.branches) < 2:
        return []
    return [
        Choice(str(branch.leaf_id), branch_label(number, branch, language), branch.leaf_id == found.leaf_id)
        for number, branch in enumerate(found.branches, start=1)
    ]
