"""The active branch of a conversation as one Markdown document, in the reader's language; pure."""

from app.conversations.exporting import Branch
from app.conversations.tree import Node
from app.web.languages import Language


def markdown_of(branch: Branch, language: Language, zone: str) -> str:
    """Texts stand as they are stored; the system prompt is a quotation."""
    parts = [f"# {branch.title}"]
    if branch.system_prompt:
        quoted = "\n".join(f"> {line}".rstrip() for line in branch.system_prompt.split("\n"))
        parts.append(f"**{language.gettext('System prompt')}**\n\n{quoted}")
    parts += [_message(node, language, zone) for node in branch.messages]
    return "\n\n".join(parts) + "\n"


def _message(node: Node, language: Language, zone: str) -> str:
    name = language.gettext("You asked") if node.role == "user" else language.gettext("Answer")
    text = node.text or f"*{language.gettext('No text was written.')}*"
    return f"## {name} · {language.moment(node.created_at, zone)}\n\n{text}"
