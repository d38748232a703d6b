"""Bringing in a conversation from a file of one's own."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.conversations.import_checks import UnfitFile
from app.web.error_pages import status_of
from app.web.forms import MAX_UPLOAD_BYTES, upload_of
from app.web.languages import Language
from app.web.pages import pages_of
from app.web.problem_words import error_words, translated
from app.web.sidebar import around
from app.web.visit import account_of, house_of, visit_of


async def import_page(request: Request) -> Response:
    account_of(request)
    return await _page(request)


async def import_conversation(request: Request) -> Response:
    owner = account_of(request).id
    try:
        conversation_id = await house_of(request).imports.conversation(owner, upload_of(request))
    except UnfitFile as error:
        return await _page(request, status_of(error), _words(error, visit_of(request).language))
    return RedirectResponse(f"/conversations/{conversation_id}", 303)


def _words(error: UnfitFile, language: Language) -> str:
    """Names the place in the file as the format does, and what would fit there."""
    place = "" if error.field == "file" else f"{error.field}: "
    parts = [error_words(error, language)]
    if error.allowed:
        parts.append(translated(error.allowed.sentence, language))
        parts += [f"({error.allowed.words})"] if error.allowed.words else []
    return place + " ".join(parts)


async def _page(request: Request, status: int = 200, problem: str | None = None) -> Response:
    return pages_of(request).response(
        request,
        "import.html",
        status=status,
        **await around(request),
        problem=problem,
        max_megabytes=MAX_UPLOAD_BYTES // 1_048_576,
    )
