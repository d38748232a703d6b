"""One flipped byte anywhere in what a request is built from is found, and nothing else is called wrong."""

from uuid import UUID, uuid4

import pytest
from sqlalchemy import delete, update

from app import prompt
from app.database import Database
from app.errors import NotFound
from app.house import House
from app.instance_secret import instance_secret
from app.models import Conversation, Message, StoredSetting, SystemPrompt, Turn
from app.verification import Findings, Verification
from tests.app.houses import ask, question
from tests.app.verification import golden
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, error_reply, message_start

pytestmark = pytest.mark.anyio


async def verified(database: Database, named: str | None = None, secret: bytes | None = None) -> Findings:
    total = Findings()
    verification = Verification(database, await instance_secret(database) if secret is None else secret)
    async for findings in verification.conversations(named):
        total.add(findings)
    return total


def lines(findings: Findings) -> list[str]:
    return [str(problem) for problem in findings.problems]


@pytest.fixture
async def stored(database: Database) -> golden.Golden:
    conversation = golden.load(1)
    async with database.write() as session:
        await conversation.store(session)
    return conversation


def flipped(text: str) -> str:
    """With one bit of its last byte turned over."""
    return text[:-1] + chr(ord(text[-1]) ^ 1)


async def test_what_the_app_sends_can_be_built_again(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    """Blank, failed, stopped and cut answers, a changed system prompt, and a turn that is running."""
    sent = await ask(house, anna, "One", system_prompt="Be nice.")
    backend.script(error_reply(400, "invalid_request_error"))
    await ask(house, anna, "Two", sent.conversation_id)
    backend.script(message_start(), delta(" half an answer\n\n"))
    await ask(house, anna, "Three\r\n", sent.conversation_id)
    await house.conversations.set_system_prompt(anna, sent.conversation_id, "Be terse.")
    backend.script(*answer(" ", "\n"))
    await ask(house, anna, "<context-note>Four", sent.conversation_id)
    gate = Gate()
    backend.script(message_start(), delta("Wri"), gate, *answer("ting"))
    await house.turns.send(anna, question("Five", sent.conversation_id))
    await gate.arrived()
    assert lines(await verified(house.database)) == []
    assert (await verified(house.database)).matching == 5
    gate.open()


async def test_a_turn_that_was_never_sent_has_nothing_to_compare(
    house: House, anna: UUID, backend: ScriptedBackend
) -> None:
    backend.models = []
    await ask(house, anna)
    findings = await verified(house.database)
    assert (findings.unhashed, findings.matching, findings.problems) == (1, 0, [])


async def test_a_deleted_conversation_cannot_be_rebuilt_and_is_no_problem(house: House, anna: UUID) -> None:
    sent = await ask(house, anna)
    await house.conversations.delete(anna, sent.conversation_id)
    findings = await verified(house.database)
    assert findings.summary() == (
        "1 turns: 0 match, 0 differ, 1 cannot be rebuilt (deleted), 0 have no hash (never sent, or imported)"
    )
    assert findings.problems == []


async def test_a_backend_without_isolation_is_sent_no_scope_and_matches(
    stored: golden.Golden, database: Database
) -> None:
    """Whether it was is stored nowhere: both requests are tried."""
    assert sum(b'"metadata"' not in body for body in stored.bodies.values()) == 1
    assert (await verified(database, secret=stored.secret)).matching == len(stored.bodies)
    assert (await verified(database, secret=b"another")).matching == 1


@pytest.mark.parametrize(
    ("message", "name", "expected"),
    [
        (11, "text", {31, 32, 33, 34, 35, 36, 38}),
        (11, "context_note", {31, 32, 33, 34, 35, 36, 38}),
        (12, "text", {33, 34, 35, 36, 38}),
        (13, "context_note", {33, 34, 35, 36}),
        (16, "text", {37}),
        (17, "text", {37}),
        (21, "context_note", {39}),
    ],
)
async def test_a_flipped_byte_of_a_message_is_found_in_all_its_turns(
    stored: golden.Golden, database: Database, message: int, name: str, expected: set[int]
) -> None:
    async with database.write() as session:
        row = await session.get_one(Message, UUID(int=message))
        seq, role = row.seq, row.role
        setattr(row, name, flipped(getattr(row, name)))
    findings = await verified(database, secret=stored.secret)
    kind = "question" if role == "user" else "answer"
    assert lines(findings)[0] == f"g2ld3n22 message {seq} ({kind}) is not what was sent"
    found = {int(line.split()[2].rstrip(":")) + 30 for line in lines(findings)[1:]}
    assert found == expected
    assert (findings.mismatching, findings.matching) == (len(expected), 9 - len(expected))
    assert all(f"message {seq} ({kind}) differs, bytes " in line for line in lines(findings)[1:])


async def test_the_bytes_named_are_those_of_the_message(stored: golden.Golden, database: Database) -> None:
    """A flip leaves the length as it is, so the place in the request that was sent is the same."""
    async with database.write() as session:
        row = await session.get_one(Message, UUID(int=15))
        row.text = "Thirt\n\n"
    (line,) = [each for each in lines(await verified(database, secret=stored.secret)) if " turn 5:" in each]
    first, behind = (int(word) for word in line.split(" bytes ")[1].split(" of ")[0].split(" to "))
    part = stored.bodies[UUID(int=35)][first:behind].decode()
    assert part.startswith("Third\\n\\n\\n\\n<context-note>Monday")
    assert part.endswith("</context-note>")


@pytest.mark.parametrize("name", ["model", "params", "request_sha256"])
async def test_a_flipped_byte_of_a_turn_is_found(stored: golden.Golden, database: Database, name: str) -> None:
    async with database.write() as session:
        turn = await session.get_one(Turn, UUID(int=37))
        value = getattr(turn, name)
        setattr(turn, name, value.replace("1024", "1025") if name == "params" else flipped(value))
    findings = await verified(database, secret=stored.secret)
    assert lines(findings) == [
        "g2ld3n22 turn 7: no message differs that has a hash, so the system prompt, the model, a parameter or the "
        "hash itself does"
    ]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"params": "{}"}, "its parameters cannot be read"),
        ({"params": '{"max_tokens":"many"}'}, "its parameters cannot be read"),
        ({"params": "{"}, "its parameters cannot be read"),
        ({"prompt_format": 2}, "its prompt format 2 is not known"),
        ({"history_start_message_id": UUID(int=19)}, "its first sent message is not among those before it"),
        ({"system_prompt_id": None}, "no message differs"),
        ({"kind": "continue", "prefill_chars": 1}, "no message differs"),
    ],
)
async def test_a_turn_whose_rows_do_not_fit_is_named(
    stored: golden.Golden, database: Database, values: dict[str, object], words: str
) -> None:
    async with database.write() as session:
        await session.execute(update(Turn).where(Turn.id == UUID(int=37)).values(**values))
    (line,) = lines(await verified(database, secret=stored.secret))
    assert line.startswith(f"g2ld3n22 turn 7: {words}")


async def test_a_flipped_system_prompt_salt_or_hash_is_found(stored: golden.Golden, database: Database) -> None:
    async with database.write() as session:
        await session.execute(update(SystemPrompt).values(text=SystemPrompt.text + " "))
    assert (await verified(database, secret=stored.secret)).mismatching == 7
    async with database.write() as session:
        await session.execute(update(Conversation).values(salt=b"other"))
    assert (await verified(database, secret=stored.secret)).mismatching == 9


async def test_a_flipped_message_hash_is_found_although_every_turn_matches(
    stored: golden.Golden, database: Database
) -> None:
    async with database.write() as session:
        row = await session.get_one(Message, UUID(int=13))
        row.sent_sha256 = flipped(row.sent_sha256 or "")
    findings = await verified(database, secret=stored.secret)
    assert lines(findings) == ["g2ld3n22 message 3 (question) is not what was sent"]
    assert findings.matching == 9


async def test_an_answer_that_was_hashed_before_it_grew_is_no_problem(
    stored: golden.Golden, database: Database
) -> None:
    async with database.write() as session:
        row = await session.get_one(Message, UUID(int=16))
        shorter = prompt.PathMessage("assistant", row.text[:11])
        row.sent_sha256 = prompt.message_sha256(bytes(range(16)), shorter)
    assert lines(await verified(database, secret=stored.secret)) == []


async def test_a_message_moved_elsewhere_is_found(stored: golden.Golden, database: Database) -> None:
    """The question of turn 7 now stands below another answer."""
    async with database.write() as session:
        await session.execute(update(Message).where(Message.id == UUID(int=17)).values(parent_id=UUID(int=22)))
    assert any(" turn 7: " in line for line in lines(await verified(database, secret=stored.secret)))


async def test_a_circle_of_messages_ends(stored: golden.Golden, database: Database) -> None:
    async with database.write() as session:
        await session.execute(update(Message).where(Message.id == UUID(int=11)).values(parent_id=UUID(int=17)))
    assert "g2ld3n22 turn 7: a message before it is missing" in lines(await verified(database, secret=stored.secret))


async def test_one_conversation_is_verified_by_reference_or_id(house: House, anna: UUID) -> None:
    first, second = await ask(house, anna, "One"), await ask(house, anna, "Two")
    await ask(house, anna, "Three", second.conversation_id)
    references = {each.id: each.reference for each in await house.conversations.list(anna)}
    assert (await verified(house.database)).matching == 3
    assert (await verified(house.database, references[second.conversation_id])).matching == 2
    assert (await verified(house.database, str(first.conversation_id))).matching == 1
    for named in ("nothing", str(uuid4())):
        with pytest.raises(NotFound, match=f"There is no conversation {named}"):
            await verified(house.database, named)


async def test_another_instance_secret_is_found(house: House, anna: UUID) -> None:
    await ask(house, anna)
    async with house.database.write() as session:
        await session.execute(delete(StoredSetting))
    assert (await verified(house.database)).mismatching == 1
