"""Search in an owner's own titles and messages: several words, each of which must be somewhere in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, cast, exists, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.highlighting import Part, highlight, snippet
from app.conversations.paging import NEWEST_FIRST, PageMark
from app.database import Database
from app.errors import InvalidInput
from app.models import Conversation, Message
from app.text import clean_user_text, search_key

LONGEST_QUERY = 200
MOST_WORDS = 8
PAGE_LENGTH = 20
SNIPPETS = 3


@dataclass(frozen=True, slots=True)
class Snippet:
    message_id: UUID
    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class SearchHit:
    """`snippets` are the messages with the most of the words; none where only the title has them."""

    id: UUID
    title: tuple[Part, ...]
    archived: bool
    updated_at: datetime
    snippets: tuple[Snippet, ...]


@dataclass(frozen=True, slots=True)
class SearchPage:
    """`more` is the mark behind which the next page begins, or None."""

    hits: tuple[SearchHit, ...]
    more: PageMark | None


class Search:
    def __init__(self, database: Database, *, page_length: int = PAGE_LENGTH) -> None:
        self._database = database
        self._page_length = page_length

    async def find(self, owner_id: UUID, query: str, before: PageMark | None = None) -> SearchPage:
        """Newest activity first, archived ones too, temporary ones never. InvalidInput for a too long query."""
        words = words_of(query)
        if not words:
            return SearchPage((), None)
        async with self._database.read() as session:
            rows = await self._conversations(session, owner_id, words, before)
            snippets = await _snippets(session, [row.id for row in rows[: self._page_length]], words)
        hits = tuple(
            SearchHit(
                row.id,
                highlight(row.title, words),
                row.archived_at is not None,
                row.updated_at,
                tuple(snippets.get(row.id, ())),
            )
            for row in rows[: self._page_length]
        )
        last = hits[-1] if len(rows) > self._page_length else None
        return SearchPage(hits, PageMark(last.updated_at, last.id) if last else None)

    async def _conversations(
        self, session: AsyncSession, owner_id: UUID, words: Sequence[str], before: PageMark | None
    ) -> Sequence[Conversation]:
        query = select(Conversation).where(
            Conversation.owner_id == owner_id,
            Conversation.deleted_at.is_(None),
            Conversation.expires_at.is_(None),
            *(_has(word) for word in words),
        )
        if before is not None:
            query = query.where(before.older)
        found = await session.scalars(query.order_by(*NEWEST_FIRST).limit(self._page_length + 1))
        return found.all()


def words_of(query: str) -> tuple[str, ...]:
    """The search keys of the words that were typed, each once. InvalidInput where they are too many."""
    query = clean_user_text(query)
    if len(query) > LONGEST_QUERY:
        raise InvalidInput("q", f"A search has at most {LONGEST_QUERY} characters.")
    words = tuple(dict.fromkeys(search_key(query).split()))
    if len(words) > MOST_WORDS:
        raise InvalidInput("q", f"A search has at most {MOST_WORDS} words.")
    return words


def _has(word: str) -> ColumnElement[bool]:
    in_message = exists().where(Message.conversation_id == Conversation.id, _contains(Message.text, word))
    return or_(_contains(Conversation.title, word), in_message)


def _contains(column: ColumnElement[str] | object, word: str) -> ColumnElement[bool]:
    escaped = word.replace("/", "//").replace("%", "/%").replace("_", "/_")
    # The database lowers the pattern as well, because its rules may differ from Python's.
    return func.search_key(column).like(func.search_key(literal(f"%{escaped}%")), escape="/")


async def _snippets(
    session: AsyncSession, conversation_ids: Sequence[UUID], words: Sequence[str]
) -> dict[UUID, list[Snippet]]:
    """Of each conversation the few messages with the most of the words, newest first among equals."""
    number_of_words = sum((cast(_contains(Message.text, word), Integer) for word in words), literal(0))
    place = func.row_number().over(
        partition_by=Message.conversation_id, order_by=(number_of_words.desc(), Message.seq.desc())
    )
    ranked = (
        select(Message.id, place.label("place"))
        .where(Message.conversation_id.in_(conversation_ids), or_(*(_contains(Message.text, word) for word in words)))
        .subquery()
    )
    query = (
        select(Message)
        .join(ranked, ranked.c.id == Message.id)
        .where(ranked.c.place <= SNIPPETS)
        .order_by(ranked.c.place)
    )
    found: dict[UUID, list[Snippet]] = {}
    for message in await session.scalars(query):
        role: Literal["user", "assistant"] = "user" if message.role == "user" else "assistant"
        found.setdefault(message.conversation_id, []).append(Snippet(message.id, role, snippet(message.text, words)))
    return found
