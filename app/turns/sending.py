"""The rows that a send makes, in the caller's one transaction: question, answer, turn, submission."""

import json
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app import history as histories
from app import prompt
from app.context_note import write_note
from app.conversations import TurnFigures
from app.conversations.choices import check_offered
from app.conversations.conversations import store_system_prompt
from app.conversations.ownership import owned_conversation, system_prompt_of
from app.conversations.params import Params, canonical_json
from app.conversations.references import new_reference
from app.conversations.temporary import KEPT_FOR
from app.conversations.tree import Node, active_path, load_nodes, remember_path
from app.database.types import new_id
from app.errors import Conflict, NotFound
from app.models import Conversation, Message, Submission, Turn, User
from app.text import first_words
from app.turns.acceptance import Acceptance, SendLimits, check_live
from app.turns.base_turn import find_base
from app.turns.fitting import Cut
from app.turns.known_causes import compare_system_prompts, hash_path, mark_cut
from app.turns.placement import Placement, may_continue, place
from app.turns.plan import Plan
from app.turns.question import Question
from app.turns.requests import SentTurn


async def locked_user(session: AsyncSession, owner_id: UUID) -> User:
    """Sends of one owner follow each other, so keys and limits need no second look."""
    user = await session.scalar(select(User).where(User.id == owner_id).with_for_update(key_share=True))
    if user is None or user.disabled_at is not None:
        raise NotFound
    return user


def note_of(user: User, question: Question, now: datetime) -> str | None:
    """For a message that is accepted now; None where its writer has switched notes off."""
    return write_note(now, question.time_zone, user.time_zone) if user.context_notes else None


async def find_submission(session: AsyncSession, owner_id: UUID, question: Question) -> SentTurn | None:
    """What the same form made before; Conflict if it said something else then."""
    submission = await session.get(Submission, (owner_id, question.submission_key))
    if submission is None:
        return None
    if submission.body_sha256 != question.body_sha256:
        raise Conflict("This form was sent before with other content.", submission.turn_id)
    query = select(Turn.conversation_id, Turn.id, Turn.user_message_id, Turn.assistant_message_id).where(
        Turn.id == submission.turn_id
    )
    conversation_id, turn_id, user_message_id, assistant_message_id = (await session.execute(query)).one()
    # Deleting the messages takes the submissions of their turns along.
    assert conversation_id is not None
    assert user_message_id is not None
    assert assistant_message_id is not None
    return SentTurn(conversation_id, turn_id, user_message_id, assistant_message_id)


async def store_turn(
    session: AsyncSession, user: User, question: Question, acceptance: Acceptance, cut: Cut | None = None
) -> tuple[SentTurn, Plan]:
    """NotFound and Conflict as `place` says; Conflict while a turn is live here, TooMany at the owner's limit.

    Without a `cut` the history begins where that of the base turn began.
    """
    conversation = await _conversation(session, user, question, acceptance)
    await check_live(session, user.id, conversation.id, acceptance)
    nodes = await load_nodes(session, conversation.id)
    placement = place(question.kind, nodes, question.message_id, conversation.active_leaf_id)
    if question.kind == "continue":
        await _check_broke_off(session, placement)
    asked_id, answer_id = await _messages(session, conversation, placement, question, user, acceptance.now)
    system_prompt = await system_prompt_of(session, conversation)
    turn = await _turn(session, conversation, placement, question, acceptance, system_prompt)
    turn.user_message_id, turn.assistant_message_id = asked_id, answer_id
    turn.prefill_chars = len(placement.prefix) if question.kind == "continue" else None
    if cut is not None:
        _trim(turn, cut, placement, asked_id)
    conversation.active_leaf_id = answer_id
    conversation.updated_at = acceptance.now
    if conversation.expires_at is not None:
        conversation.expires_at = acceptance.now + KEPT_FOR
    path = active_path(await load_nodes(session, conversation.id), answer_id)
    await remember_path(session, path)
    base = await session.get(Turn, turn.base_turn_id) if turn.base_turn_id else None
    plan = _plan(conversation, path, placement.prefix, turn, base, system_prompt, user.id, acceptance)
    await hash_path(session, turn, path, plan.salt)
    submission = Submission(
        owner_id=user.id,
        submission_key=question.submission_key,
        body_sha256=question.body_sha256,
        turn_id=turn.id,
    )
    # One after the other: without relationships the session does not know which row must come first.
    for row in (turn, submission):
        session.add(row)
        await session.flush()
    return SentTurn(conversation.id, turn.id, asked_id, answer_id), plan


async def _conversation(session: AsyncSession, user: User, question: Question, acceptance: Acceptance) -> Conversation:
    """The owner's conversation, locked; or a new one, titled with the first words, or its reference without any.

    InvalidInput for the model of a new one.
    """
    if question.conversation_id is not None:
        return await owned_conversation(session, user.id, question.conversation_id, lock=True)
    check_offered(question.choice.model, question.offered)
    reference = new_reference()
    conversation = Conversation(
        id=new_id(),
        owner_id=user.id,
        reference=reference,
        title=first_words(question.text) or reference,
        system_prompt_id=await store_system_prompt(session, question.system_prompt),
        model=question.choice.model,
        params=question.choice.params.canonical(),
        expires_at=acceptance.now + KEPT_FOR if question.temporary else None,
        next_seq=1,
        salt=secrets.token_bytes(16),
        created_at=acceptance.now,
        updated_at=acceptance.now,
    )
    session.add(conversation)
    await session.flush()
    return conversation


async def _check_broke_off(session: AsyncSession, placement: Placement) -> None:
    assert placement.answer is not None
    newest = select(Turn).where(Turn.assistant_message_id == placement.answer.id).order_by(Turn.id.desc()).limit(1)
    turn = await session.scalar(newest)
    if turn is None or not may_continue(TurnFigures.of(turn)):
        raise Conflict("This answer cannot be continued.")


async def _messages(
    session: AsyncSession,
    conversation: Conversation,
    placement: Placement,
    question: Question,
    user: User,
    now: datetime,
) -> tuple[UUID, UUID]:
    """The ids of question and answer; those that are not there yet are made, the question with its frozen note."""
    asked_id = placement.asked.id if placement.asked else None
    if asked_id is None:
        parent_id = placement.history[-1].id if placement.history else None
        note = note_of(user, question, now)
        asked_id = await _add_message(session, conversation, parent_id, "user", now, question.text, note)
    if placement.answer is None:
        return asked_id, await _add_message(session, conversation, asked_id, "assistant", now)
    # Its hash, if it has one, is that of the text without what is written now.
    await session.execute(update(Message).where(Message.id == placement.answer.id).values(sent_sha256=None))
    return asked_id, placement.answer.id


async def _add_message(
    session: AsyncSession,
    conversation: Conversation,
    parent_id: UUID | None,
    role: Literal["user", "assistant"],
    now: datetime,
    text: str = "",
    note: str | None = None,
) -> UUID:
    message = Message(
        id=new_id(),
        conversation_id=conversation.id,
        parent_id=parent_id,
        seq=conversation.next_seq,
        role=role,
        text=text,
        context_note=note,
        created_at=now,
    )
    conversation.next_seq += 1
    session.add(message)
    await session.flush()
    return message.id


async def _turn(
    session: AsyncSession,
    conversation: Conversation,
    placement: Placement,
    question: Question,
    acceptance: Acceptance,
    system_prompt: str,
) -> Turn:
    base, expected = await find_base(session, question.kind, placement)
    turn = Turn(
        id=question.turn_id,
        conversation_id=conversation.id,
        purpose="chat",
        kind=question.kind,
        base_turn_id=base.id if base else None,
        system_prompt_id=conversation.system_prompt_id,
        history_start_message_id=base.history_start_message_id if base else None,
        params=_params(conversation, acceptance.limits),
        prompt_format=prompt.PROMPT_FORMAT,
        status="queued",
        worker_id=acceptance.worker_id,
        expected_read_tokens=expected.tokens,
        expected_is_minimum=expected.minimum,
        created_at=acceptance.now,
    )
    if base is not None:
        await compare_system_prompts(session, turn, base, system_prompt)
    return turn


def _trim(turn: Turn, cut: Cut, placement: Placement, asked_id: UUID) -> None:
    """Conflict where another window has gone on meanwhile from what the cut was made for."""
    if cut.leaf_id != (placement.history[-1].id if placement.history else None):
        raise Conflict("This conversation has changed in another window; send again.")
    turn.history_start_message_id = cut.start_id or asked_id
    mark_cut(turn)


def _params(conversation: Conversation, limits: SendLimits) -> str:
    """What this turn is sent with, as canonical JSON: the conversation's choices over the settings."""
    return canonical_json({"max_tokens": limits.answer_tokens, **json.loads(conversation.params)})


def _plan(
    conversation: Conversation,
    path: Sequence[Node],
    prefix: str,
    turn: Turn,
    base: Turn | None,
    system_prompt: str,
    owner_id: UUID,
    acceptance: Acceptance,
) -> Plan:
    assert turn.assistant_message_id is not None
    sent = histories.sent_part(path if prefix else path[:-1], turn.history_start_message_id)
    return Plan(
        turn_id=turn.id,
        conversation_id=conversation.id,
        assistant_message_id=turn.assistant_message_id,
        owner_id=owner_id,
        system_prompt=system_prompt,
        path=tuple(prompt.PathMessage(node.role, node.text, node.context_note) for node in sent),
        model=conversation.model,
        max_tokens=json.loads(turn.params)["max_tokens"],
        salt=conversation.salt or b"",
        expected_read_tokens=turn.expected_read_tokens,
        accepted_at=acceptance.accepted_at,
        params=Params.parse(conversation.params),
        prefix=prefix,
        base_backend=base.backend if base else None,
        base_message_id=base.backend_message_id if base else None,
    )
