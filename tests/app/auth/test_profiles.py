from collections.abc import Sequence
from typing import Any
from uuid import UUID

import anyio
import pytest
from sqlalchemy import Integer, String, Text, select

from app.auth import NewAccount
from app.errors import Conflict, InvalidInput, TooMany
from app.house import House
from app.models import Conversation, Message, Submission, SystemPrompt, Turn, User
from tests.app.auth.persons import PASSWORD, REMOTE, Office
from tests.app.houses import ask, follow, question, until_kind
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio


async def test_a_changed_password_ends_every_session(office: Office, jun: UUID) -> None:
    tokens = [await office.sessions.start(jun) for _ in range(2)]
    await office.profiles.change_password(jun, PASSWORD, "a new long one", REMOTE)
    assert [await office.sessions.resolve(token) for token in tokens] == [None, None]
    with pytest.raises(InvalidInput):
        await office.accounts.sign_in("jun", PASSWORD, REMOTE)
    assert (await office.accounts.sign_in("jun", "a new long one", REMOTE)).id == jun
    assert (await office.actions())[0] == "password_changed"


@pytest.mark.parametrize(
    ("current", "new", "field"),
    [
        ("wrong", "a new long one", "current_password"),
        (PASSWORD + " ", "a new long one", "current_password"),
        (PASSWORD, "short", "new_password"),
        (PASSWORD, "junjunjun", "new_password"),
    ],
)
async def test_a_refused_password_changes_nothing(
    office: Office, jun: UUID, current: str, new: str, field: str
) -> None:
    token = await office.sessions.start(jun)
    with pytest.raises(InvalidInput) as caught:
        await office.profiles.change_password(jun, current, new, REMOTE)
    assert caught.value.field == field
    assert await office.sessions.resolve(token) is not None
    assert (await office.accounts.sign_in("jun", PASSWORD, REMOTE)).id == jun


async def test_of_two_changes_at_the_same_time_one_wins(office: Office, jun: UUID) -> None:
    refused: list[InvalidInput] = []

    async def change(new: str) -> None:
        try:
            await office.profiles.change_password(jun, PASSWORD, new, REMOTE)
        except InvalidInput as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(change, "a new long one")
        group.start_soon(change, "another long one")
    assert [error.field for error in refused] == ["current_password"]
    assert (await office.actions()).count("password_changed") == 1


async def test_an_open_session_is_no_place_to_guess_passwords(office: Office, jun: UUID) -> None:
    refused = None
    for _ in range(12):
        try:
            await office.accounts.confirm(jun, "wrong", REMOTE)
        except TooMany as error:
            refused = error
        except InvalidInput:
            continue
    assert refused is not None
    with pytest.raises(TooMany):
        await office.accounts.confirm(jun, PASSWORD, REMOTE)


async def test_profile_is_stored_as_typed(office: Office, jun: UUID) -> None:
    await office.profiles.change(
        jun, locale="ko", time_zone="Asia/Seoul", default_system_prompt="Be terse.\r\n", context_notes=False
    )
    profile = await office.profiles.view(jun)
    assert (profile.name, profile.locale, profile.time_zone) == ("Jun", "ko", "Asia/Seoul")
    assert (profile.default_system_prompt, profile.context_notes) == ("Be terse.\n", False)
    account = await office.sessions.resolve(await office.sessions.start(jun))
    assert account is not None
    assert (account.locale, account.time_zone) == ("ko", "Asia/Seoul")
    await office.profiles.change(jun, locale=None, time_zone=None, default_system_prompt="", context_notes=True)
    stored = await office.user(jun)
    assert (stored.default_system_prompt, stored.context_notes) == (None, True)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"time_zone": "No/Where"}, "time_zone"),
        ({"time_zone": "../etc/passwd"}, "time_zone"),
        ({"default_system_prompt": "x" * 101}, "default_system_prompt"),
    ],
)
async def test_unusable_profiles_are_refused(office: Office, jun: UUID, change: dict[str, Any], field: str) -> None:
    values = {"locale": None, "time_zone": None, "default_system_prompt": "", "context_notes": True, **change}
    with pytest.raises(InvalidInput) as caught:
        await office.profiles.change(jun, **values)
    assert caught.value.field == field


async def test_deleting_takes_the_right_password(office: Office, jun: UUID) -> None:
    with pytest.raises(InvalidInput) as caught:
        await office.profiles.delete(jun, "wrong", REMOTE)
    assert caught.value.field == "password"
    assert (await office.user(jun)).disabled_at is None


async def test_the_last_operator_cannot_delete_its_account(office: Office, mina: UUID) -> None:
    with pytest.raises(Conflict):
        await office.profiles.delete(mina, PASSWORD, REMOTE)
    assert (await office.user(mina)).name == "Mina"
    other = await office.add("Other", "operator")
    await office.profiles.delete(mina, PASSWORD, REMOTE)
    with pytest.raises(Conflict):
        await office.profiles.delete(other, PASSWORD, REMOTE)


async def test_a_deleted_account_frees_its_name_and_nobody_signs_in_with_it(
    office: Office, mina: UUID, jun: UUID
) -> None:
    await office.profiles.change(
        jun, locale="ko", time_zone="Asia/Seoul", default_system_prompt="Private", context_notes=False
    )
    token = await office.sessions.start(jun)
    await office.profiles.delete(jun, PASSWORD, REMOTE)
    assert await office.sessions.resolve(token) is None
    blank = await office.user(jun)
    assert blank.name.startswith("deleted-")
    assert len(blank.name) == len("deleted-") + 8
    assert (blank.locale, blank.time_zone, blank.default_system_prompt) == (None, None, None)
    assert blank.context_notes
    for name in ("jun", blank.name):
        for password in (PASSWORD, ""):
            with pytest.raises(InvalidInput):
                await office.accounts.sign_in(name, password, REMOTE)
    successor = await office.people.create(NewAccount("Jun", "another long one"), "user")
    assert successor.id != jun
    assert ("account_deleted", jun, str(jun), REMOTE) in await office.audited()


async def stored_words(house: House) -> set[str]:
    """Every text that stands in a table of content, but for what names models and states."""
    words: set[str] = set()
    async with house.database.read() as session:
        for table in (User, Conversation, Message, SystemPrompt, Turn, Submission):
            columns = [column for column in table.__table__.columns if isinstance(column.type, String | Text)]
            for row in await session.execute(select(*columns)):
                words |= {str(value) for value in row if value}
    return words


async def sums(house: House) -> Sequence[int]:
    async with house.database.read() as session:
        columns = [column for column in Turn.__table__.columns if isinstance(column.type, Integer)]
        rows = list(await session.execute(select(*columns)))
    return [len(rows), *(sum(row[place] or 0 for row in rows) for place in range(len(columns)))]


async def test_deleting_removes_every_word_and_keeps_every_number(house: House, backend: ScriptedBackend) -> None:
    office = Office(house.database, house.clock)  # type: ignore[arg-type]
    jun, other = await office.add("Jun"), await office.add("Other")
    usage = {"input_tokens": 8, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 19}
    backend.script(*answer("Secret reply", usage=usage, output_tokens=4))
    sent = await ask(house, jun, "Secret question", system_prompt="Secret prompt")
    backend.script(*answer("Kept reply", usage=usage, output_tokens=4))
    kept = await ask(house, other, "Kept question")
    before = await sums(house)
    await house.profiles.delete(jun, PASSWORD, REMOTE)
    assert await sums(house) == before
    words = await stored_words(house)
    assert not {each for each in words if "Secret" in each or each == "Jun"}
    assert {"Kept question", "Kept reply"} <= words
    assert (await house.conversations.view(other, kept.conversation_id)).messages[-1].text == "Kept reply"
    report = await house.reports.conversation(sent.conversation_id)
    assert report.owner_name.startswith("deleted-")
    assert [row.figures.cached_tokens for row in report.turns] == [19]


async def test_deleting_stops_a_live_answer_and_its_streams(house: House, backend: ScriptedBackend) -> None:
    office = Office(house.database, house.clock)  # type: ignore[arg-type]
    jun = await office.add("Jun")
    gate = Gate()
    backend.script(message_start(), delta("Secret"), gate, *answer("never"))
    sent = await house.turns.send(jun, question())
    events = await house.turns.events(jun, sent.turn_id, 0)
    await until_kind(events, "delta")
    await house.profiles.delete(jun, PASSWORD, REMOTE)
    assert (await until_kind(events, "end")).data["status"] == "stopped"
    await backend.until(lambda: backend.disconnects == 1)
    assert "Secret" not in await stored_words(house)
    assert await house.conversations._live.snapshot(sent.turn_id) is None


async def test_disabling_stops_a_live_answer_and_keeps_its_text(house: House, backend: ScriptedBackend) -> None:
    office = Office(house.database, house.clock)  # type: ignore[arg-type]
    mina, jun = await office.add("Mina", "operator"), await office.add("Jun")
    gate = Gate()
    backend.script(message_start(), delta("Part"), gate, *answer("never"))
    sent = await house.turns.send(jun, question())
    events = await house.turns.events(jun, sent.turn_id, 0)
    await until_kind(events, "delta")
    await house.people.disable(mina, jun, REMOTE)
    assert (await until_kind(events, "end")).data["status"] == "stopped"
    await house.people.enable(mina, jun, REMOTE)
    assert (await house.conversations.view(jun, sent.conversation_id)).messages[-1].text == "Part"
    assert (await follow(house, jun, sent.turn_id))[-1].data["status"] == "stopped"
