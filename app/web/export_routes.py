"""Downloads of one's own conversations: a file to import again, Markdown to read, an archive of everything."""

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.web.conversation_pages import conversation_id_of
from app.web.markdown_export import markdown_of
from app.web.visit import account_of, house_of, visit_of


async def export_file(request: Request) -> Response:
    owner = account_of(request).id
    reference, content = await house_of(request).exports.conversation(owner, conversation_id_of(request))
    return Response(content, headers=_headers(f"recount-{reference}.json"), media_type="application/json")


async def export_markdown(request: Request) -> Response:
    owner = account_of(request).id
    branch = await house_of(request).exports.branch(owner, conversation_id_of(request))
    visit = visit_of(request)
    text = await anyio.to_thread.run_sync(markdown_of, branch, visit.language, visit.time_zone)
    return Response(text, headers=_headers(f"recount-{branch.reference}.md"), media_type="text/markdown")


async def export_everything(request: Request) -> Response:
    pieces = await house_of(request).exports.everything(account_of(request).id)
    return StreamingResponse(pieces, headers=_headers("recount-data.zip"), media_type="application/zip")


def _headers(name: str) -> dict[str, str]:
    """`name` has letters, digits and dashes only: titles do not become names of files."""
    return {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
