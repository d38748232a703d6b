"""What is published about an answer's HTML while its text comes, and that it never gets in the text's way."""

import logging
from uuid import UUID

import anyio
import anyio.lowlevel
import pytest

from app.markdown import AnswerStream, BlockStreamer, Markdown
from app.markdown.rendering import MAX_RENDERED_CHARACTERS
from app.markdown.streaming import Change
from app.turns.bus import MemoryBus
from app.turns.events import TurnEvent
from app.turns.live_markdown import RenderingRoom
from app.turns.publisher import Publisher
from app.turns.rhythm import Rhythm

pytestmark = pytest.mark.anyio

TURN = UUID(int=1)
TEXT = "# Title\n\nSome **bold** words\n\n```py\nx = 1\n```\n\n- one\n- two"
AT_ONCE = Rhythm(coalesce=0, preview=0)


class Log:
    """A publisher of one turn, and what a reader of its log gets."""

    def __init__(self, rhythm: Rhythm = AT_ONCE, room: RenderingRoom | None = None) -> None:
        self._bus = MemoryBus(keep_seconds=60)
        self._bus.open(TURN)
        self.publisher = Publisher(self._bus, TURN, rhythm, room or RenderingRoom())

    async def until(self, kind: str) -> TurnEvent:
        log = await self._bus.follow(TURN, 0)
        assert log is not None
        async for event in log:
            if event.kind == kind:
                return event
        raise AssertionError(f"no {kind} came")

    async def ended(self) -> list[TurnEvent]:
        await self.publisher.finish()
        self.publisher.event("end", {})
        log = await self._bus.follow(TURN, 0)
        assert log is not None
        return [event async for event in log]


def html_of(events: list[TurnEvent]) -> str:
    return "".join(str(event.data["html"]) for event in events if event.kind == "block")


async def test_blocks_follow_their_text_and_are_all_there_before_the_end() -> None:
    log = Log()
    for character in TEXT:
        log.publisher.text(character)
        await anyio.lowlevel.checkpoint()
    events = await log.ended()
    written = 0
    for event in events:
        if event.kind == "delta":
            written += len(str(event.data["text"]))
        elif event.kind in ("block", "open", "preview"):
            assert int(str(event.data["chars"])) <= written
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[-1].kind == "end"
    assert html_of(events) == Markdown().render(TEXT)


async def test_open_code_is_told_before_its_end() -> None:
    log = Log()
    log.publisher.text(TEXT[: TEXT.index("= 1")])
    code = await log.until("open")
    start = TEXT.index("\n\n```") + 1
    assert code.data == {"start": start, "chars": TEXT.index("x ="), "language": "py", "fence": "```"}
    log.publisher.close()


async def test_hidden_text_is_previewed_without_more_text_and_not_too_often() -> None:
    log = Log(Rhythm(coalesce=0, preview=0.05))
    for _ in range(40):
        log.publisher.text("*a* ")
        await anyio.sleep(0.005)
    await anyio.sleep(0.2)
    events = await log.ended()
    previews = [event for event in events if event.kind == "preview"]
    assert 1 < len(previews) < 20
    assert previews[-1].data["chars"] == 160


async def test_text_that_is_too_long_is_sent_again_as_plain_text_once() -> None:
    log = Log()
    log.publisher.text("Begun\n\n")
    await log.until("block")
    for _ in range(3):
        log.publisher.text("x" * MAX_RENDERED_CHARACTERS)
    reset = await log.until("reset")
    log.publisher.text("more\n\n")
    events = await log.ended()
    assert [event.kind for event in events].count("reset") == 1
    before = [str(event.data["text"]) for event in events if event.kind == "delta" and event.seq < reset.seq]
    assert reset.data == {"text": "".join(before), "cursor": reset.seq}
    assert not [event for event in events if event.kind in ("block", "preview") and event.seq > reset.seq]


class BrokenStream(AnswerStream):
    def advance(self) -> list[Change]:
        raise ZeroDivisionError


class BrokenStreamer(BlockStreamer):
    def begin(self) -> AnswerStream:
        return BrokenStream(self._markdown, self._blocks, self._completion)


async def test_renderer_that_breaks_costs_the_answer_its_html_only(caplog: pytest.LogCaptureFixture) -> None:
    log = Log(room=RenderingRoom(BrokenStreamer(Markdown())))
    log.publisher.text("One\n\n")
    await log.until("reset")
    log.publisher.text("two")
    events = await log.ended()
    assert [event.data["text"] for event in events if event.kind in ("delta", "reset")] == ["One\n\n", "One\n\n", "two"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_renderer_that_hangs_does_not_hold_the_end_up() -> None:
    room = RenderingRoom()
    await room.limiter.acquire_on_behalf_of("another answer")
    log = Log(Rhythm(last_render=0.01), room)
    log.publisher.text("One\n\n")
    assert [event.kind for event in await log.ended()] == ["delta", "end"]
