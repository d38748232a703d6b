"""What was deleted is forgotten by the model server too: by a scripted one, and by the real one."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from app.house import House, open_house
from app.settings import Backend
from tests.app.databases import SqliteFactory
from tests.app.houses import QUICK, add_user, ask, settings_for
from tests.inference_server.serving import KEY, serve_model
from tests.scripted_backend import FORGET, Reply, ScriptedBackend, error_reply
from tests.tiny_model import write_tiny_model

pytestmark = pytest.mark.anyio


@pytest.fixture
async def forgetful(database_url: str, backend_url: str) -> AsyncIterator[House]:
    served = Backend(name="scripted", base_url=backend_url, early_message_start=True, forgets=True)
    async with open_house(settings_for(database_url, backend_url, backends=(served,)), rhythm=QUICK) as house:
        yield house


@pytest.fixture
async def owner(forgetful: House) -> UUID:
    return await add_user(forgetful.database)


def asked_to_forget(backend: ScriptedBackend) -> list[list[str]]:
    return [request.json()["ids"] for request in backend.requests if request.path == FORGET]


async def test_a_deleted_conversation_names_every_message_of_it(
    forgetful: House, owner: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(forgetful, owner)
    await ask(forgetful, owner, "More", first.conversation_id)
    other = await ask(forgetful, owner, "Something else")
    await forgetful.conversations.delete(owner, first.conversation_id)
    (ids,) = asked_to_forget(backend)
    assert len(set(ids)) == 2
    await forgetful.conversations.delete(owner, other.conversation_id)
    assert len(asked_to_forget(backend)[1]) == 1
    assert not set(asked_to_forget(backend)[1]) & set(ids)


async def test_a_deleted_message_names_itself_and_what_is_below(
    forgetful: House, owner: UUID, backend: ScriptedBackend
) -> None:
    first = await ask(forgetful, owner)
    second = await ask(forgetful, owner, "More", first.conversation_id)
    await forgetful.branches.delete(owner, first.conversation_id, second.user_message_id)
    assert [len(ids) for ids in asked_to_forget(backend)] == [1]


async def test_one_that_still_runs_is_asked_about_again(
    forgetful: House, owner: UUID, backend: ScriptedBackend
) -> None:
    sent = await ask(forgetful, owner)
    backend.script(Reply(200, b'{"running": ["msg_1"]}'), path=FORGET)
    await forgetful.conversations.delete(owner, sent.conversation_id)
    assert asked_to_forget(backend)[1] == ["msg_1"]
    assert len(asked_to_forget(backend)) == 2


async def test_a_server_that_is_away_keeps_nobody_from_deleting(
    forgetful: House, owner: UUID, backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    sent = await ask(forgetful, owner)
    backend.script(error_reply(400, "invalid_request_error"), path=FORGET)
    await forgetful.conversations.delete(owner, sent.conversation_id)
    assert await forgetful.conversations.list(owner) == []
    assert "may still remember 1 deleted messages" in caplog.text


async def test_a_server_that_cannot_forget_is_not_asked(house: House, anna: UUID, backend: ScriptedBackend) -> None:
    sent = await ask(house, anna)
    await house.conversations.delete(anna, sent.conversation_id)
    assert asked_to_forget(backend) == []


async def test_the_bundled_server_has_nothing_left_of_it(tmp_path: Path, sqlite_factory: SqliteFactory) -> None:
    with serve_model(write_tiny_model(tmp_path / "tiny.gguf")) as server:
        served = Backend(name="bundled", base_url=server.url, api_key=KEY, early_message_start=True, forgets=True)
        settings = settings_for(sqlite_factory.migrated(), server.url, backends=(served,), answer_tokens=20)
        async with open_house(settings, rhythm=QUICK) as house:
            anna = await add_user(house.database)
            first = await ask(house, anna)
            await ask(house, anna, "More", first.conversation_id)
            assert server.http.get("/v1/cache").json()["records"] == 2
            await house.conversations.delete(anna, first.conversation_id)
            cache = server.http.get("/v1/cache").json()
            assert (cache["records"], cache["slots"]["cached"], cache["slots"]["live"]) == (0, 0, 0)
