"""The active branch of a conversation as one Markdown document, in the reader's language; pure."""

from markdown_it import MarkdownIt

from app.conversations.exporting import Branch
from app.conversations.tree import Node
from app.markdown.documents import make_document_parser, part_of_document, plain_line
from app.web.languages import Language


def markdown_of(branch: Branch, language: Language, zone: str) -> str:
    """Texts stand as they are stored where that is harmless, else as code; the system prompt is a quotation."""
    parser = make_document_parser()
    parts = [f"# {plain_line(branch.title)}"]
    if branch.system_prompt:
        told = part_of_document(branch.system_prompt, parser)
        quoted = "\n".join(f"> {line}".rstrip() for line in told.split("\n"))
        parts.append(f"**{language.gettext('System prompt')}**\n\n{quoted}")
    parts += [_message(node, language, zone, parser) for node in branch.messages]
    return "\n\n".join(parts) + "\n"


def _message(node: Node, language: Language, zone: str, parser: MarkdownIt) -> str:
    name = language.gettext("You asked") if node.role == "user" else language.gettext("Answer")
    text = part_of_document(node.text, parser) if node.text else f"*{language.gettext('No text was written.')}*"
    return f"## {name} · {language.moment(node.created_at, zone)}\n\n{text}"
