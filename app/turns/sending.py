"""The rows that a send makes, in the caller's one transaction: question, answer, turn, submission."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app import prompt
from app.accounting import expected_read
from app.context_note import write_note
from app.conversations import TurnFigures
from app.conversations.conversations import store_system_prompt
from app.conversations.ownership import owned_conversation, system_prompt_of
from app.conversations.params import Params, canonical_json
from app.conversations.references import new_reference
from app.conversations.temporary import KEPT_FOR
from app.conversations.tree import Node, active_path, load_nodes
from app.database.types import new_id
from app.errors import Conflict, NotFound, TooMany
from app.models import TURN_IS_LIVE, Conversation, Message, Submission, SystemPrompt, Turn, User
from app.text import first_words, is_blank
from app.turns import workers
from app.turns.plan import Plan
from app.turns.question import Question
from app.turns.requests import SentTurn

SYSTEM_PROMPT_EDITED = "system_prompt_edited"
_RETRY_AFTER_S = 5


@dataclass(frozen=True, slots=True)
class SendLimits:
    max_message_characters: int
    live_turns_per_user: int
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class Acceptance:
    """When, where and how a question is accepted; `accepted_at` is monotonic; all in seconds."""

    now: datetime
    accepted_at: float
    worker_id: UUID
    stale_after: float
    limits: SendLimits


async def locked_user(session: AsyncSession, owner_id: UUID) -> User:
    """Sends of one owner follow each other, so keys and limits need no second look."""
    user = await session.scalar(select(User).where(User.id == owner_id).with_for_update(key_share=True))
    if user is None or user.disabled_at is not None:
        raise NotFound
    return user


async def find_submission(session: AsyncSession, owner_id: UUID, question: Question) -> SentTurn | None:
    """What the same form made before; Conflict if it said something else then."""
    submission = await session.get(Submission, (owner_id, question.submission_key))
    if submission is None:
        return None
    if submission.body_sha256 != question.body_sha256:
        raise Conflict("This form was sent before with another text.", submission.turn_id)
    query = select(Turn.conversation_id, Turn.id, Turn.user_message_id, Turn.assistant_message_id).where(
        Turn.id == submission.turn_id
    )
    conversation_id, turn_id, user_message_id, assistant_message_id = (await session.execute(query)).one()
    # Deleting the messages takes the submissions of their turns along.
    assert conversation_id is not None
    assert user_message_id is not None
    assert assistant_message_id is not None
    return SentTurn(conversation_id, turn_id, user_message_id, assistant_message_id)


async def store_question(
    session: AsyncSession, user: User, question: Question, acceptance: Acceptance
) -> tuple[SentTurn, Plan]:
    """Conflict while a turn is live here, TooMany at the owner's limit of live turns."""
    conversation = await _conversation(session, user, question, acceptance)
    await _check_live(session, user.id, conversation.id, acceptance)
    history = active_path(await load_nodes(session, conversation.id), conversation.active_leaf_id)
    asked, answer = _messages(conversation, history, question, user, acceptance.now)
    system_prompt = await system_prompt_of(session, conversation)
    turn = await _turn(session, conversation, history, question, acceptance, system_prompt)
    turn.user_message_id, turn.assistant_message_id = asked.id, answer.id
    conversation.next_seq += 2
    conversation.active_leaf_id = answer.id
    conversation.updated_at = acceptance.now
    if conversation.expires_at is not None:
        conversation.expires_at = acceptance.now + KEPT_FOR
    plan = _plan(conversation, history, asked, turn, system_prompt, user.id, acceptance)
    asked.sent_sha256 = prompt.message_sha256(plan.salt, plan.path[-1])
    await _hash_history(session, history, plan.salt)
    submission = Submission(
        owner_id=user.id,
        submission_key=question.submission_key,
        body_sha256=question.body_sha256,
        turn_id=turn.id,
    )
    # Step by step: without relationships the session does not know which row must come first.
    for rows in ((asked, answer), (turn,), (submission,)):
        session.add_all(rows)
        await session.flush()
    return SentTurn(conversation.id, turn.id, asked.id, answer.id), plan


async def _conversation(session: AsyncSession, user: User, question: Question, acceptance: Acceptance) -> Conversation:
    """The owner's conversation, locked; or a new one, titled with the first words."""
    if question.conversation_id is not None:
        return await owned_conversation(session, user.id, question.conversation_id, lock=True)
    conversation = Conversation(
        id=new_id(),
        owner_id=user.id,
        reference=new_reference(),
        title=first_words(question.text),
        system_prompt_id=await store_system_prompt(session, question.system_prompt),
        params="{}",
        expires_at=acceptance.now + KEPT_FOR if question.temporary else None,
        next_seq=1,
        salt=secrets.token_bytes(16),
        created_at=acceptance.now,
        updated_at=acceptance.now,
    )
    session.add(conversation)
    await session.flush()
    return conversation


async def _check_live(session: AsyncSession, owner_id: UUID, conversation_id: UUID, acceptance: Acceptance) -> None:
    if not await _blocked(session, owner_id, conversation_id, acceptance):
        return
    # Perhaps only turns of a dead worker stand in the way.
    await workers.reap(session, acceptance.worker_id, acceptance.now, acceptance.stale_after)
    refusal = await _blocked(session, owner_id, conversation_id, acceptance)
    if refusal is not None:
        raise refusal


async def _blocked(
    session: AsyncSession, owner_id: UUID, conversation_id: UUID, acceptance: Acceptance
) -> Conflict | TooMany | None:
    query = (
        select(Turn.conversation_id, Turn.id)
        .join(Conversation, Conversation.id == Turn.conversation_id)
        .where(Conversation.owner_id == owner_id, TURN_IS_LIVE)
    )
    live = {row[0]: row[1] for row in await session.execute(query)}
    if conversation_id in live:
        return Conflict("An answer is being written here.", live[conversation_id])
    limit = acceptance.limits.live_turns_per_user
    if len(live) >= limit:
        message = f"{limit} answers are being written for you; wait for one or stop it."
        return TooMany(message, _RETRY_AFTER_S)
    return None


def _messages(
    conversation: Conversation, history: Sequence[Node], question: Question, user: User, now: datetime
) -> tuple[Message, Message]:
    """The question with its frozen note, and the empty answer below it."""
    asked = Message(
        id=new_id(),
        conversation_id=conversation.id,
        parent_id=history[-1].id if history else None,
        seq=conversation.next_seq,
        role="user",
        text=question.text,
        context_note=write_note(now, question.time_zone, user.time_zone),
        created_at=now,
    )
    answer = Message(
        id=new_id(),
        conversation_id=conversation.id,
        parent_id=asked.id,
        seq=conversation.next_seq + 1,
        role="assistant",
        text="",
        created_at=now,
    )
    return asked, answer


async def _turn(
    session: AsyncSession,
    conversation: Conversation,
    history: Sequence[Node],
    question: Question,
    acceptance: Acceptance,
    system_prompt: str,
) -> Turn:
    base = await _base_turn(session, history)
    expected = expected_read(
        TurnFigures.of(base).reported if base else None, stop_reason=base.stop_reason if base else None
    )
    return Turn(
        id=question.turn_id,
        conversation_id=conversation.id,
        purpose="chat",
        kind="question",
        base_turn_id=base.id if base else None,
        system_prompt_id=conversation.system_prompt_id,
        params=_params(conversation, acceptance.limits),
        prompt_format=prompt.PROMPT_FORMAT,
        status="queued",
        worker_id=acceptance.worker_id,
        expected_read_tokens=expected.tokens,
        expected_is_minimum=expected.minimum,
        outcome=SYSTEM_PROMPT_EDITED if base and await _edited_since(session, base, system_prompt) else None,
        created_at=acceptance.now,
    )


async def _edited_since(session: AsyncSession, base: Turn, system_prompt: str) -> bool:
    """By the texts: an edit that was taken back makes a new row and the same prompt."""
    earlier = await session.get(SystemPrompt, base.system_prompt_id) if base.system_prompt_id else None
    return system_prompt != (earlier.text if earlier else "")


def _params(conversation: Conversation, limits: SendLimits) -> str:
    """What this turn is sent with, as canonical JSON: the conversation's choices over the settings."""
    return canonical_json({"max_tokens": limits.answer_tokens, **json.loads(conversation.params)})


async def _base_turn(session: AsyncSession, history: Sequence[Node]) -> Turn | None:
    """The last turn of the nearest answer that is sent again; one with usage before one without."""
    answer = next((n for n in reversed(history) if n.role == "assistant" and not is_blank(n.text)), None)
    if answer is None:
        return None
    query = (
        select(Turn)
        .where(Turn.assistant_message_id == answer.id)
        .order_by(Turn.input_tokens.is_(None), Turn.id.desc())
        .limit(1)
    )
    return await session.scalar(query)


def _plan(
    conversation: Conversation,
    history: Sequence[Node],
    asked: Message,
    turn: Turn,
    system_prompt: str,
    owner_id: UUID,
    acceptance: Acceptance,
) -> Plan:
    assert turn.assistant_message_id is not None
    path = [prompt.PathMessage(node.role, node.text, node.context_note) for node in history]
    return Plan(
        turn_id=turn.id,
        conversation_id=conversation.id,
        assistant_message_id=turn.assistant_message_id,
        owner_id=owner_id,
        system_prompt=system_prompt,
        path=(*path, prompt.PathMessage("user", asked.text, asked.context_note)),
        model=conversation.model,
        max_tokens=json.loads(turn.params)["max_tokens"],
        salt=conversation.salt or b"",
        expected_read_tokens=turn.expected_read_tokens,
        accepted_at=acceptance.accepted_at,
        params=Params.parse(conversation.params),
    )


async def _hash_history(session: AsyncSession, history: Sequence[Node], salt: bytes) -> None:
    """An answer gets the hash of what is sent when it is sent for the first time."""
    for node in history:
        if node.sent_sha256 is None and not is_blank(node.text):
            sent = prompt.PathMessage(node.role, node.text, node.context_note)
            digest = prompt.message_sha256(salt, sent)
            await session.execute(update(Message).where(Message.id == node.id).values(sent_sha256=digest))
