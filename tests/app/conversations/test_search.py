import unicodedata
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversations.highlighting import highlight, snippet
from app.conversations.paging import PageMark
from app.conversations.search import LONGEST_QUERY, MOST_WORDS, Search, words_of
from app.errors import InvalidInput
from app.house import House
from app.models import Conversation
from app.text import search_key
from tests.app.houses import MovingClock, add_user, ask
from tests.scripted_backend import ScriptedBackend, answer


def marked(parts: object) -> list[str]:
    return [part.text for part in parts if part.marked]  # type: ignore[attr-defined]


async def titles(house: House, owner: UUID, query: str) -> list[str]:
    page = await house.search.find(owner, query)
    return ["".join(part.text for part in hit.title) for hit in page.hits]


@pytest.mark.anyio
async def test_every_word_must_be_in_the_title_or_in_some_message(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.script(*answer("Bake it for an hour"))
    sent = await ask(house, anna, "How do I make bread?")
    await ask(house, anna, "And with rye?", sent.conversation_id)
    backend.script(*answer("Use yeast"))
    await ask(house, anna, "Another bread")
    assert await titles(house, anna, "BREAD") == ["Another bread", "How do I make bread?"]
    assert await titles(house, anna, "rye bread hour") == ["How do I make bread?"]
    assert await titles(house, anna, "rye yeast") == []
    assert await titles(house, anna, " ") == []


@pytest.mark.anyio
async def test_korean_words_of_two_letters_are_found_in_either_composition(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    decomposed = unicodedata.normalize("NFD", "오늘 서울 날씨가 어때?")
    await ask(house, anna, decomposed)
    await ask(house, anna, "부산 날씨")
    assert [unicodedata.normalize("NFC", title) for title in await titles(house, anna, "서울")] == [
        "오늘 서울 날씨가 어때?"
    ]
    assert len(await titles(house, anna, unicodedata.normalize("NFD", "날씨"))) == 2
    hit = (await house.search.find(anna, "서울")).hits[0]
    assert [unicodedata.normalize("NFC", word) for word in marked(hit.snippets[0].parts)] == ["서울"]


@pytest.mark.anyio
async def test_case_is_ignored_beyond_ascii_and_wildcards_are_plain_characters(house: House, anna: UUID) -> None:
    await ask(house, anna, "ÄPFEL und Ｆｕｌｌ")
    await ask(house, anna, "100% of a_b and c/d")
    assert await titles(house, anna, "äpfel full") == ["ÄPFEL und Ｆｕｌｌ"]
    for plain in ("0%", "a_b", "c/d"):
        assert await titles(house, anna, plain) == ["100% of a_b and c/d"]
    for wild in ("1%f", "a__", "_", "%"):
        assert len(await titles(house, anna, wild)) == (wild in ("_", "%"))


@pytest.mark.anyio
async def test_search_finds_archived_ones_but_nothing_temporary_deleted_or_foreign(house: House, anna: UUID) -> None:
    await ask(house, await add_user(house.database, "Berta"), "needle of another")
    archived = await ask(house, anna, "needle one")
    temporary = await ask(house, anna, "needle two")
    gone = await ask(house, anna, "needle three")
    async with house.database.write() as session:
        (await session.get_one(Conversation, archived.conversation_id)).archived_at = house.clock()
        (await session.get_one(Conversation, temporary.conversation_id)).expires_at = house.clock()
    await house.conversations.delete(anna, gone.conversation_id)
    page = await house.search.find(anna, "needle")
    assert [(hit.id, hit.archived) for hit in page.hits] == [(archived.conversation_id, True)]


@pytest.mark.anyio
async def test_snippets_are_few_and_of_the_messages_with_the_most_words(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(house, anna, "apple pear")
    for text in ("apple 1", "apple 2", "apple 3", "plum"):
        await ask(house, anna, text, sent.conversation_id)
    hit = (await house.search.find(anna, "apple pear")).hits[0]
    texts = ["".join(part.text for part in found.parts) for found in hit.snippets]
    assert texts == ["apple pear", "apple 3", "apple 2"]
    assert hit.snippets[0].message_id == sent.user_message_id
    assert (await house.search.find(anna, "answer 5")).hits[0].snippets[0].role == "assistant"


@pytest.mark.anyio
async def test_pages_follow_each_other_without_gaps(house: House, anna: UUID, clock: MovingClock) -> None:
    for number in range(5):
        await ask(house, anna, f"needle {number}")
        clock.advance(minutes=number % 2)  # Some have the same time.
    search, before, seen = Search(house.database, page_length=2), None, []
    for _ in range(3):
        page = await search.find(anna, "needle", before)
        seen += [hit.id for hit in page.hits]
        before = PageMark.parse(str(page.more)) if page.more else None
    assert before is None
    assert len(seen) == len(set(seen)) == 5


def test_a_query_has_limits() -> None:
    assert words_of("  One  ONE two\x00") == ("one", "two\ufffd")
    for query in ("x" * (LONGEST_QUERY + 1), " ".join(map(str, range(MOST_WORDS + 1)))):
        with pytest.raises(InvalidInput) as caught:
            words_of(query)
        assert caught.value.field == "q"


@pytest.mark.parametrize("text", ["", "x", "2026-11-29T09:30:00~x", "2026-11-29T09:30:00~" + "0" * 32])
def test_what_is_no_mark_of_a_page_is_none(text: str) -> None:
    assert PageMark.parse(text) is None


def test_highlight_marks_whole_characters() -> None:
    assert marked(highlight("Cafe\u0301 CAFÉ cafe", ["café"])) == ["Cafe\u0301", "CAFÉ"]
    assert marked(highlight("ﬁne", ["i"])) == ["ﬁ"]
    assert marked(highlight("abcabc", ["ab", "abc"])) == ["abc", "abc"]
    assert highlight("", ["x"]) == ()


def test_snippet_is_one_line_around_the_first_word() -> None:
    text = "a\n" * 200 + "needle" + " b" * 200
    parts = snippet(text, ["needle"])
    line = "".join(part.text for part in parts)
    assert line.startswith("…")
    assert line.endswith("…")
    assert "\n" not in line
    assert len(line) < 300
    assert marked(parts) == ["needle"]


@given(st.text(), st.text(min_size=1))
def test_highlight_keeps_every_character_and_marks_only_what_matches(text: str, word: str) -> None:
    key = search_key(word)
    parts = highlight(text, [key])
    assert "".join(part.text for part in parts) == text
    assert all(key in search_key(part) or search_key(part) for part in marked(parts))
