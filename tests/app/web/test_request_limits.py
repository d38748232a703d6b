"""How often somebody may send, export and follow; and who is counted."""

from uuid import UUID

import pytest

from app.auth import RequestLimits
from app.database.types import new_id
from app.errors import TooMany
from app.web.request_limits import costly_of
from tests.app.web.conftest import OpenSite


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_too_many_messages_are_refused_with_the_text_kept(open_site: OpenSite) -> None:
    site = open_site(sends_per_minute=2)
    mina = site.set_up()
    jun = site.user("jun")
    path = site.ask(mina, "One")
    refused = None
    for _ in range(3):  # Where the window turns over in the middle, one more is let through.
        mina.open(path)
        site.wait_idle(mina)
        refused = mina.submit(f"{path}/messages", text="Keep this text")
        if refused.status_code == 429:
            break
    assert refused is not None
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert "Keep this text" in refused.text
    assert "too often" in refused.text
    site.ask(jun, "Somebody else may send")


def test_form_without_a_token_counts_for_nobody(open_site: OpenSite) -> None:
    site = open_site(sends_per_minute=1)
    mina = site.set_up()
    for _ in range(3):
        assert mina.post("/conversations", text="forged").status_code == 403
    site.ask(mina, "One")


@pytest.mark.parametrize(
    ("method", "path", "costly"),
    [
        ("POST", "/conversations", "send"),
        ("POST", "/conversations/1/messages", "send"),
        ("POST", "/conversations/1/messages/2/regenerate", "send"),
        ("POST", "/conversations/1/messages/2/select", None),
        ("POST", "/conversations/1/pinned", None),
        ("POST", "/conversations/1/delete", None),
        ("POST", "/import", "export"),
        ("HEAD", "/account/data", "export"),
        ("GET", "/conversations/1", None),
        ("GET", "/account/data", "export"),
        ("GET", "/conversations/1/export", "export"),
        ("GET", "/operator/export/turns.csv", "export"),
        ("HEAD", "/operator/conversations/1/turns.jsonl", "export"),
        ("GET", "/conversations/1/cache/turns.csv", "export"),
        ("GET", "/operator/conversations/1", None),
        ("GET", "/turns/1/events", "stream"),
        ("POST", "/turns/1/stop", None),
        ("POST", "/sign-out", None),
    ],
)
def test_stopping_and_reading_are_never_limited(method: str, path: str, costly: str | None) -> None:
    assert costly_of(method, path) == costly


@pytest.mark.anyio
async def test_requests_go_on_where_redis_is_away() -> None:
    limits = RequestLimits("redis://127.0.0.1:1/0", sends_per_minute=1)
    user = new_id()
    await count_sends(limits, user, 3)
    await limits.close()


async def count_sends(limits: RequestLimits, user: UUID, times: int) -> None:
    for _ in range(times):
        await limits.count("send", user)


@pytest.mark.anyio
async def test_each_person_and_each_kind_is_counted_alone() -> None:
    limits = RequestLimits(None, sends_per_minute=1)
    user = new_id()
    with pytest.raises(TooMany):
        await count_sends(limits, user, 3)
    await limits.count("send", new_id())
    await limits.count("export", user)
