"""What can be done with one message, by its place in the branch and by how its turn ended; pure."""

from dataclasses import dataclass

from app.conversations.views import MessageView
from app.text import is_blank
from app.turns.placement import may_continue


@dataclass(frozen=True, slots=True)
class Actions:
    """The page hides all but copying while an answer is written in the conversation.

    `answer` is for a question that has no answer on this branch. `no_prefill` says that the answer broke off and the
    model server cannot continue it.
    """

    copy: bool = False
    edit: bool = False
    answer: bool = False
    regenerate: bool = False
    retry: bool = False
    continue_: bool = False
    no_prefill: bool = False
    delete: bool = False


def actions_of(message: MessageView, *, is_leaf: bool, takes_prefill: bool) -> Actions:
    has_text = not is_blank(message.text)
    if message.role == "user":
        return Actions(copy=True, edit=True, answer=is_leaf, delete=True)
    turn = message.turn
    broke_off = turn is not None and is_leaf and has_text and may_continue(turn)
    failed = turn is not None and (turn.status in ("failed", "interrupted") or not has_text)
    return Actions(
        copy=has_text,
        regenerate=not failed,
        retry=failed,
        continue_=broke_off and takes_prefill,
        no_prefill=broke_off and not takes_prefill,
        delete=True,
    )
