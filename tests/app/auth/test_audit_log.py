from uuid import UUID, uuid4

import pytest

from app.auth import AuditLog
from app.auth.audit import record
from tests.app.auth.persons import PASSWORD, REMOTE, Office

pytestmark = pytest.mark.anyio


async def test_lines_name_people_by_the_names_that_they_have_now(office: Office, mina: UUID, jun: UUID) -> None:
    invite = uuid4()
    async with office.database.write() as session:
        record(session, office.clock(), mina, "invite_made", subject=invite, remote="r" * 100)
        record(session, office.clock(), None, "account_made", subject=jun)
    await office.profiles.delete(jun, PASSWORD, REMOTE)
    deleted, made, invited = await AuditLog(office.database, office.clock).page()
    assert deleted.actor is not None
    assert deleted.actor.startswith("deleted-")
    assert deleted.subject == made.subject == deleted.actor
    assert (made.actor, made.remote) == (None, None)
    assert (invited.actor, invited.subject, invited.remote) == ("Mina", str(invite), "r" * 64)


async def test_pages_hold_every_line_once_while_new_ones_come(office: Office, mina: UUID) -> None:
    log = AuditLog(office.database, office.clock)

    async def add(action: str) -> None:
        async with office.database.write() as session:
            record(session, office.clock(), mina, action)

    for number in range(5):
        await add(f"action_{number}")
    seen: list[str] = []
    before = None
    while page := await log.page(limit=2, before=before):
        seen += [row.action for row in page]
        before = page[-1].id
        await add("later")
    assert seen == ["action_4", "action_3", "action_2", "action_1", "action_0"]
