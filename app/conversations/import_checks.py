"""What must hold among the parts of an export before it may become rows; pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from app.conversations.export_format import ExportedMessage, ExportFile
from app.errors import InvalidInput
from app.prompt import PathMessage, message_sha256


@dataclass(frozen=True, slots=True)
class Allowed:
    """What would fit: a sentence, and words of the format that no language changes."""

    sentence: str
    words: str = ""


class UnfitFile(InvalidInput):
    """`field` is the place in the file, `allowed` what would fit there, where that needs to be said."""

    def __init__(self, place: str, message: str, allowed: Allowed | None = None) -> None:
        super().__init__(place, message)
        self.allowed = allowed


def check_references(file: ExportFile) -> None:
    """UnfitFile where an id is doubled, or refers to nothing of the file.

    Parents stand before their children, and base turns before the turns on them, so nothing runs in a circle.
    """
    _unique("system_prompts", "id", [prompt.id for prompt in file.system_prompts])
    _unique("messages", "id", [message.id for message in file.messages])
    _unique("messages", "seq", [message.seq for message in file.messages])
    _unique("turns", "id", [turn.id for turn in file.turns])
    prompts = {prompt.id for prompt in file.system_prompts}
    messages = {message.id: message for message in file.messages}
    _known("conversation.system_prompt_id", file.conversation.system_prompt_id, prompts)
    _known("conversation.active_leaf_id", file.conversation.active_leaf_id, messages)
    for number, message in enumerate(file.messages):
        _check_message(f"messages.{number}", message, messages)
    for number, message in enumerate(file.messages):
        _check_selected(f"messages.{number}.selected_child_id", message, messages)
    _check_turns(file, prompts, messages)


def check_hashes(file: ExportFile) -> None:
    """UnfitFile where a message is not what its hash says was sent.

    An answer that was continued may have been sent when it was shorter.
    """
    salt = bytes.fromhex(file.conversation.salt)
    cuts: dict[str | None, list[int | None]] = {}
    for turn in file.turns:
        if turn.kind == "continue":
            cuts.setdefault(turn.assistant_message_id, []).append(turn.prefill_chars)
    for number, message in enumerate(file.messages):
        sent = [message.text[:cut] for cut in (None, *cuts.get(message.id, ()))]
        paths = [PathMessage(message.role, text, message.context_note) for text in sent]
        if message.sent_sha256 not in (None, *(message_sha256(salt, path) for path in paths)):
            raise UnfitFile(f"messages.{number}.sent_sha256", "This hash does not fit the message.")


def _check_message(place: str, message: ExportedMessage, messages: dict[str, ExportedMessage]) -> None:
    parent = messages.get(message.parent_id) if message.parent_id else None
    _known(f"{place}.parent_id", message.parent_id, messages)
    if parent is not None and parent.seq >= message.seq:
        raise UnfitFile(f"{place}.parent_id", "A message must come after its parent.")
    if message.role == "assistant" and (parent is None or parent.role != "user"):
        raise UnfitFile(f"{place}.role", "An answer needs a question as its parent.")
    if message.role == "assistant" and message.context_note is not None:
        raise UnfitFile(f"{place}.context_note", "Only questions have a context note.")


def _check_selected(place: str, message: ExportedMessage, messages: dict[str, ExportedMessage]) -> None:
    child = messages.get(message.selected_child_id) if message.selected_child_id else None
    if message.selected_child_id is not None and (child is None or child.parent_id != message.id):
        raise UnfitFile(place, "This is not a child of the message.")


def _check_turns(file: ExportFile, prompts: Collection[str], messages: dict[str, ExportedMessage]) -> None:
    questions = {id_ for id_, message in messages.items() if message.role == "user"}
    earlier: set[str] = set()
    for number, turn in enumerate(file.turns):
        place = f"turns.{number}"
        _known(f"{place}.user_message_id", turn.user_message_id, questions)
        _known(f"{place}.assistant_message_id", turn.assistant_message_id, messages.keys() - questions)
        _known(f"{place}.history_start_message_id", turn.history_start_message_id, messages)
        _known(f"{place}.system_prompt_id", turn.system_prompt_id, prompts)
        _known(f"{place}.base_turn_id", turn.base_turn_id, earlier)
        earlier.add(turn.id)


def _unique(part: str, name: str, values: Iterable[str | int]) -> None:
    seen: set[str | int] = set()
    for number, value in enumerate(values):
        if value in seen:
            raise UnfitFile(f"{part}.{number}.{name}", "This stands in the file twice.")
        seen.add(value)


def _known(place: str, wanted: str | None, known: Collection[str]) -> None:
    if wanted is not None and wanted not in known:
        raise UnfitFile(place, "This refers to nothing that fits in the file.")
