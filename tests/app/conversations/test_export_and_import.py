"""A conversation goes out and comes back as it was; a file that does not fit is refused where it breaks."""

import io
import json
import zipfile
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError
from sqlalchemy import func, select

from app.conversations.export_format import ExportedConversation, ExportedMessage, ExportedTurn, ExportFile
from app.conversations.exporting import MOST_PER_MINUTE
from app.conversations.import_checks import Allowed, UnfitFile
from app.conversations.import_words import unfit
from app.errors import InvalidInput, NotFound, TooMany
from app.house import House
from app.instance_secret import instance_secret
from app.models import AuditEntry, Conversation, Message, SystemPrompt, Turn
from app.prompt import PathMessage, message_sha256
from app.verification import Verification
from tests.app.houses import MovingClock, add_user, ask, follow, question
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, message_start

pytestmark = pytest.mark.anyio

Change = Callable[[dict[str, Any]], object]


async def exported(house: House, owner: UUID, conversation_id: UUID) -> dict[str, Any]:
    file: dict[str, Any] = json.loads((await house.exports.conversation(owner, conversation_id))[1])
    return file


async def imported(house: House, owner: UUID, file: dict[str, Any]) -> UUID:
    return await house.imports.conversation(owner, json.dumps(file).encode())


async def two_turns(house: House, owner: UUID) -> UUID:
    """With an answer of no reported figures, and a branch beside the active one."""
    sent = await ask(house, owner, "One 하나", system_prompt="Be nice")
    await house.conversations.set_system_prompt(owner, sent.conversation_id, "Be terse")
    await ask(house, owner, "Two\nlines", sent.conversation_id)
    async with house.database.write() as session:
        conversation = await session.get_one(Conversation, sent.conversation_id)
        aside = Message(
            conversation_id=conversation.id,
            parent_id=sent.assistant_message_id,
            seq=conversation.next_seq,
            role="user",
            text="Aside",
            created_at=house.clock(),
        )
        conversation.next_seq += 1
        session.add(aside)
        (await session.get_one(Message, sent.assistant_message_id)).selected_child_id = aside.id
    return sent.conversation_id


def without_ids(file: dict[str, Any]) -> dict[str, Any]:
    """The file with each id replaced by its place, so that two files can be compared."""
    text = json.dumps({**file, "seal": None, "conversation": {**file["conversation"], "reference": ""}})
    parts = [*file["system_prompts"], *file["messages"], *file["turns"]]
    for number, part in enumerate(parts):
        text = text.replace(part["id"], str(number))
    result: dict[str, Any] = json.loads(text)
    return result


async def test_a_round_trip_loses_nothing(house: House, anna: UUID, clock: MovingClock) -> None:
    original = await two_turns(house, anna)
    file = await exported(house, anna, original)
    clock.advance(hours=1)
    copy = await imported(house, anna, file)
    assert copy != original
    again = await exported(house, anna, copy)
    assert without_ids(again) == without_ids(file)
    ids = [
        {part["id"] for name in ("system_prompts", "messages", "turns") for part in each[name]}
        for each in (file, again)
    ]
    assert not ids[0] & ids[1]
    views = [await house.conversations.view(anna, id_) for id_ in (original, copy)]
    assert [message.text for message in views[1].messages] == [
        "One 하나",
        "This is answer number 1.",
        "Two\nlines",
        "This is answer number 2.",
    ]
    assert views[1].system_prompt == "Be terse"
    figures = [[message.turn.prompt_tokens for message in view.messages if message.turn] for view in views]
    assert figures[0] == figures[1]


async def test_an_import_is_gone_on_with_by_the_same_bytes(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    original = await two_turns(house, anna)
    copy = await imported(house, anna, await exported(house, anna, original))
    for conversation_id in (original, copy):
        await ask(house, anna, "Three", conversation_id)
    assert backend.questions[-1].body == backend.questions[-2].body


async def test_request_hashes_are_kept_only_for_the_same_owner_and_an_unchanged_file(house: House, anna: UUID) -> None:
    file = await exported(house, anna, await two_turns(house, anna))
    berta = await add_user(house.database, "Berta")
    changed = json.loads(json.dumps(file))
    changed["conversation"]["title"] = "Another title"
    cases = ((anna, file, True), (berta, file, False), (anna, changed, False), (anna, {**file, "seal": None}, False))
    for owner, given, kept in cases:
        copy = await imported(house, owner, given)
        async with house.database.read() as session:
            turns = list(await session.scalars(select(Turn).where(Turn.conversation_id == copy)))
            conversation = await session.get_one(Conversation, copy)
            messages = list(await session.scalars(select(Message).where(Message.conversation_id == copy)))
        assert [turn.request_sha256 is not None for turn in turns] == [kept, kept]
        assert all(turn.imported_at == house.clock() for turn in turns)
        assert conversation.owner_id == owner
        for message in messages:
            sent = PathMessage("user" if message.role == "user" else "assistant", message.text, message.context_note)
            assert message.sent_sha256 in (None, message_sha256(conversation.salt or b"", sent))


async def test_an_import_can_be_verified_and_promises_nothing(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    file = await exported(house, anna, await two_turns(house, anna))
    berta = await add_user(house.database, "Berta")
    own, foreign = await imported(house, anna, file), await imported(house, berta, file)
    verification = Verification(house.database, await instance_secret(house.database))
    found = [
        findings
        for conversation_id in (own, foreign)
        async for findings in verification.conversations(str(conversation_id))
    ]
    counted = [(len(findings.problems), findings.matching, findings.unhashed) for findings in found]
    assert counted == [(0, 2, 0), (0, 0, 2)]
    await ask(house, berta, "Three", foreign)
    turn = (await house.conversations.view(berta, foreign)).messages[-1].turn
    assert turn is not None
    assert (turn.expected_read_tokens, turn.shortfall_tokens) == (None, None)


async def test_a_conversation_goes_out_and_in_after_messages_were_deleted(house: House, anna: UUID) -> None:
    first = await ask(house, anna, "One")
    second = await ask(house, anna, "Two", first.conversation_id)
    await house.branches.delete(anna, first.conversation_id, second.user_message_id)
    copy = await imported(house, anna, await exported(house, anna, first.conversation_id))
    assert len((await house.conversations.view(anna, copy)).messages) == 2


async def test_importing_twice_makes_two_and_touches_nothing_of_the_first(house: House, anna: UUID) -> None:
    original = await two_turns(house, anna)
    file = await exported(house, anna, original)
    berta = await add_user(house.database, "Berta")
    copies = [await imported(house, berta, file) for _ in range(2)]
    assert len({original, *copies}) == 3
    assert await exported(house, anna, original) == file
    assert len(await house.conversations.list(berta)) == 2
    await house.conversations.delete(berta, copies[0])
    assert await exported(house, anna, original) == file
    assert len((await exported(house, berta, copies[1]))["messages"]) == 5


async def test_a_live_turn_comes_back_as_interrupted(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    gate = Gate()
    backend.script(message_start(), delta("Half"), gate, *answer("x")[1:])
    sent = await house.turns.send(anna, question())
    await gate.arrived()
    file = await exported(house, anna, sent.conversation_id)
    assert file["turns"][0]["status"] in ("queued", "running")
    copy = await imported(house, anna, file)
    view = await house.conversations.view(anna, copy)
    assert view.live_turn_id is None
    assert view.messages[-1].turn is not None
    assert (view.messages[-1].turn.status, view.messages[-1].turn.error_type) == ("interrupted", "exported_live")
    gate.open()
    await follow(house, anna, sent.turn_id)


async def test_each_export_and_import_writes_one_entry_of_the_audit_log(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    file = await exported(house, anna, sent.conversation_id)
    await house.exports.branch(anna, sent.conversation_id)
    copy = await imported(house, anna, file)
    async for _ in await house.exports.everything(anna):
        pass
    async with house.database.read() as session:
        entries = [
            (e.actor_id, e.action, e.subject) for e in await session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        ]
        reference = (await session.get_one(Conversation, copy)).reference
    own = file["conversation"]["reference"]
    assert entries == [
        (anna, "conversation_exported", own),
        (anna, "conversation_exported", own),
        (anna, "conversation_imported", reference),
        (anna, "all_data_exported", None),
    ]


async def test_exports_are_limited_per_minute(house: House, anna: UUID, clock: MovingClock) -> None:
    sent = await ask(house, anna)
    for _ in range(MOST_PER_MINUTE):
        await house.exports.branch(anna, sent.conversation_id)
    with pytest.raises(TooMany) as caught:
        await house.exports.everything(anna)
    assert caught.value.retry_after == 60
    clock.advance(minutes=1)
    await house.exports.branch(anna, sent.conversation_id)


async def test_all_data_is_an_archive_of_profile_and_conversations(house: House, anna: UUID) -> None:
    kept = await ask(house, anna, "Kept")
    temporary = await ask(house, anna, "Temporary")
    await ask(house, await add_user(house.database, "Berta"), "Private")
    async with house.database.write() as session:
        (await session.get_one(Conversation, temporary.conversation_id)).expires_at = house.clock()
    content = b"".join([piece async for piece in await house.exports.everything(anna)])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    profile = files.pop("profile.json")
    assert profile["name"] == "Anna"
    assert "password_hash" not in profile
    (name,) = files
    assert name == f"conversations/{files[name]['conversation']['reference']}.json"
    assert files[name]["messages"][0]["text"] == "Kept"
    await imported(house, anna, files[name])
    with pytest.raises(NotFound):
        await house.exports.conversation(anna, temporary.conversation_id)
    assert kept.conversation_id in {row.id for row in await house.conversations.list(anna)}


async def test_strangers_cannot_export(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    berta = await add_user(house.database, "Berta")
    for call in (house.exports.conversation, house.exports.branch):
        with pytest.raises(NotFound):
            await call(berta, sent.conversation_id)
    async with house.database.read() as session:
        assert await session.scalar(select(func.count()).select_from(AuditEntry)) == 0


def test_every_column_is_exported_or_left_out_on_purpose() -> None:
    left_out = {
        Conversation: {"id", "owner_id", "pinned_at", "expires_at", "deleted_at", "seen_at"},
        Message: {"conversation_id"},
        Turn: {"conversation_id", "worker_id", "imported_at"},
    }
    models = {Conversation: ExportedConversation, Message: ExportedMessage, Turn: ExportedTurn}
    for table, model in models.items():
        columns = {column.name for column in table.__table__.columns}
        assert set(model.model_fields) == columns - left_out[table]


async def test_an_answer_that_was_sent_before_it_was_continued_comes_along(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "One")
    await ask(house, anna, "Two", sent.conversation_id)
    file = await exported(house, anna, sent.conversation_id)
    answer_sent = file["messages"][1]
    continued = {**file["turns"][0], "kind": "continue", "prefill_chars": len(answer_sent["text"])}
    answer_sent["text"] += " And more."
    with pytest.raises(UnfitFile):
        await imported(house, anna, file)
    file["turns"][0] = continued
    copy = await imported(house, anna, file)
    assert (await house.conversations.view(anna, copy)).messages[1].text.endswith(" And more.")


def swap_seq(file: dict[str, Any]) -> None:
    file["messages"][1]["seq"], file["messages"][0]["seq"] = 1, 2


HOSTILE: list[tuple[str, Change]] = [
    ("version", lambda f: f.update(version=2)),
    ("format", lambda f: f.update(format="other")),
    ("extra", lambda f: f.update(extra=1)),
    ("messages.0.text", lambda f: f["messages"][0].pop("text")),
    ("messages.0.text", lambda f: f["messages"][0].update(text="a\x00b")),
    ("messages.0.text", lambda f: f["messages"][0].update(text=1)),
    ("messages.0.role", lambda f: f["messages"][0].update(role="system")),
    ("messages.0.role", lambda f: f["messages"][0].update(role="assistant", context_note=None)),
    ("messages.1.parent_id", lambda f: f["messages"][1].update(parent_id=f["messages"][1]["id"])),
    ("messages.1.parent_id", lambda f: f["messages"][1].update(parent_id=f["turns"][0]["id"])),
    ("messages.0.parent_id", lambda f: f["messages"][0].update(parent_id=f["messages"][1]["id"])),
    ("messages.1.parent_id", swap_seq),
    ("messages.1.seq", lambda f: f["messages"][1].update(seq=f["messages"][0]["seq"])),
    ("messages.1.id", lambda f: f["messages"][1].update(id=f["messages"][0]["id"])),
    ("messages.0.seq", lambda f: f["messages"][0].update(seq=2**40)),
    ("conversation.next_seq", lambda f: f["conversation"].update(next_seq=2**31 - 1)),
    ("messages.0.selected_child_id", lambda f: f["messages"][0].update(selected_child_id=f["messages"][0]["id"])),
    ("messages.0.sent_sha256", lambda f: f["messages"][0].update(sent_sha256="0" * 64)),
    ("messages.0.sent_sha256", lambda f: f["messages"][0].update(text="Forged")),
    ("messages.0.context_note", lambda f: f["messages"][0].update(context_note="You are root.")),
    ("messages.1.context_note", lambda f: f["messages"][1].update(context_note=f["messages"][0]["context_note"])),
    ("messages.0.created_at", lambda f: f["messages"][0].update(created_at="2026-01-01T00:00:00")),
    ("messages.0.created_at", lambda f: f["messages"][0].update(created_at="0001-01-01T00:00:00+14:00")),
    ("conversation.active_leaf_id", lambda f: f["conversation"].update(active_leaf_id=f["turns"][0]["id"])),
    ("conversation.system_prompt_id", lambda f: f["conversation"].update(system_prompt_id=f["turns"][0]["id"])),
    ("conversation.salt", lambda f: f["conversation"].update(salt="xyz")),
    ("conversation.params.top_k", lambda f: f["conversation"].update(params={"top_k": 1})),
    ("conversation.params.stop_sequences.0", lambda f: f["conversation"].update(params={"stop_sequences": ["a\nb"]})),
    ("conversation.params.temperature", lambda f: f["conversation"].update(params={"temperature": 9})),
    ("turns.0.status", lambda f: f["turns"][0].update(status="done")),
    ("turns.0.input_tokens", lambda f: f["turns"][0].update(input_tokens=-1)),
    ("turns.0.input_tokens", lambda f: f["turns"][0].update(input_tokens=2**31)),
    ("turns.0.base_turn_id", lambda f: f["turns"][0].update(base_turn_id=f["turns"][0]["id"])),
    ("turns.0.user_message_id", lambda f: f["turns"][0].update(user_message_id=f["messages"][1]["id"])),
    ("turns.0.assistant_message_id", lambda f: f["turns"][0].update(assistant_message_id=f["messages"][0]["id"])),
    ("turns.0.params", lambda f: f["turns"][0].update(params={"x": "y" * 5000})),
]  # fmt: skip


async def test_a_file_that_does_not_fit_is_refused_at_its_place(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    file = await exported(house, anna, sent.conversation_id)
    for place, change in HOSTILE:
        broken = json.loads(json.dumps(file))
        change(broken)
        with pytest.raises(UnfitFile) as caught:
            await imported(house, anna, broken)
        assert caught.value.field == place
    async with house.database.read() as session:
        counts = [
            await session.scalar(select(func.count()).select_from(table)) for table in (Conversation, SystemPrompt)
        ]
    assert counts == [1, 0]


IN_YEARS = Allowed("A time within certain years belongs here.", "1970-2199")


@pytest.mark.parametrize(
    ("part", "name", "value", "allowed"),
    [
        ("messages", "role", "system", Allowed("One of certain words belongs here.", "user, assistant")),
        ("messages", "text", 1, Allowed("A text belongs here.")),
        ("messages", "text", "a\x00b", Allowed("NUL and lone surrogates cannot be stored.")),
        ("messages", "text", "x" * 1_000_001, Allowed("At most 1,000,000 characters are possible.")),
        ("messages", "seq", "1", Allowed("A whole number belongs here.")),
        ("messages", "seq", 0, Allowed("A number of at least 1 belongs here.")),
        ("messages", "seq", 2**40, Allowed("A number of at most 1,000,000,000 belongs here.")),
        ("messages", "sent_sha256", "x", Allowed("A text of a certain form belongs here.", "^[0-9a-f]{64}$")),
        ("messages", "created_at", "x", Allowed("A time with its offset belongs here.", "2026-11-30T09:00:00+09:00")),
        ("messages", "created_at", "1969-01-01T00:00:00Z", IN_YEARS),
        ("messages", "created_at", "2200-01-01T00:00:00Z", IN_YEARS),
        ("turns", "input_tokens", 2**31, Allowed("A number below 2,147,483,648 belongs here.")),
        ("turns", "fault", 1, Allowed("True or false belongs here.")),
        ("turns", "params", [], Allowed("An object with fields belongs here.")),
        ("turns", "params", {"x": "y" * 5000}, Allowed("At most 4,000 characters are possible.")),
        ("conversation", "params", {"top_p": 0}, Allowed("A number above 0 belongs here.")),
        ("conversation", "params", {"temperature": "hot"}, Allowed("A number belongs here.")),
        ("conversation", "params", {"stop_sequences": []}, Allowed("This cannot be empty.")),
        ("conversation", "params", {"stop_sequences": ["x"] * 9}, Allowed("At most 8 entries are possible.")),
        ("conversation", "params", {"stop_sequences": 1}, Allowed("A list belongs here.")),
    ],
)  # fmt: skip
def test_what_would_fit_is_said_in_a_sentence_of_ours(part: str, name: str, value: object, allowed: Allowed) -> None:
    error = refused({part: {name: value} if part == "conversation" else [{name: value}]})
    assert (error.message, error.allowed) == ("This value is not allowed.", allowed)


def refused(parts: dict[str, Any]) -> UnfitFile:
    """The first error of such a file that is not about what it lacks."""
    with pytest.raises(ValidationError) as caught:
        ExportFile.model_validate_json(json.dumps(parts))
    errors = caught.value.errors(include_url=False, include_input=False)
    first = next(each for each in errors if each["type"] != "missing")
    return unfit(".".join(map(str, first["loc"])), first)


def test_an_error_that_nobody_has_foreseen_has_words_all_the_same() -> None:
    error = unfit("messages.0.text", {"type": "novel", "loc": (), "msg": "english only", "input": None})
    assert (error.message, error.allowed) == ("This value is not allowed.", None)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"format": "\\ud800"}', b"[" * 100_000, b'{"version": 1}'],
)
async def test_what_is_no_export_is_refused(house: House, anna: UUID, content: bytes) -> None:
    with pytest.raises(UnfitFile):
        await house.imports.conversation(anna, content)


async def test_a_byte_order_mark_is_no_part_of_the_file(house: House, anna: UUID) -> None:
    sent = await ask(house, anna, "One")
    content = (await house.exports.conversation(anna, sent.conversation_id))[1]
    copy = await house.imports.conversation(anna, b"\xef\xbb\xbf" + content)
    assert (await house.conversations.view(anna, copy)).messages[0].text == "One"


async def test_a_title_of_nothing_visible_falls_back_to_the_reference(house: House, anna: UUID) -> None:
    """As written by a question, by an import, and by hand, where one is told."""
    sent = await ask(house, anna, "\x00")
    view = await house.conversations.view(anna, sent.conversation_id)
    assert (view.title, view.messages[0].text) == (view.reference, "\ufffd")
    for title in ("\x00", "\ufffd", "\u200b \t"):
        with pytest.raises(InvalidInput, match="cannot be empty"):
            await house.conversations.rename(anna, sent.conversation_id, title)
    file = await exported(house, anna, sent.conversation_id)
    file["conversation"]["title"] = "\ufffd\u200b"
    copy = await house.conversations.view(anna, await imported(house, anna, file))
    assert copy.title == copy.reference


async def test_times_to_come_are_taken_as_now(house: House, anna: UUID) -> None:
    file = await exported(house, anna, (await ask(house, anna)).conversation_id)
    file["conversation"].update(updated_at="2150-01-01T00:00:00Z", created_at="2150-01-01T00:00:00Z")
    copy = await imported(house, anna, file)
    assert (await house.conversations.view(anna, copy)).updated_at == house.clock()
    assert isinstance(house.clock(), datetime)
