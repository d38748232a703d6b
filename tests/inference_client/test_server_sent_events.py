import tracemalloc
from collections.abc import AsyncIterator, Iterable

import pytest

from inference_client import ProtocolError
from inference_client.server_sent_events import ServerSentEvent, server_sent_events
from tests.inference_client.recordings import recording

pytestmark = pytest.mark.anyio


async def chunked(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def read(*chunks: bytes, limit: int = 4096) -> list[ServerSentEvent]:
    return [event async for event in server_sent_events(chunked(chunks), limit)]


@pytest.mark.parametrize(("line_end", "bom"), [("\n", False), ("\r\n", True), ("\r", False)])
async def test_events_are_the_same_for_every_cut(line_end: str, bom: bool) -> None:
    expected = await read(recording())
    assert len(expected) == 12
    body = recording(line_end, bom=bom)
    for cut in range(len(body) + 1):
        assert await read(body[:cut], body[cut:]) == expected


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
async def test_events_are_the_same_byte_by_byte(line_end: str) -> None:
    body = recording(line_end, bom=True)
    assert await read(*(body[i : i + 1] for i in range(len(body)))) == await read(recording())


async def test_byte_order_mark_is_no_part_of_the_first_field() -> None:
    event = ServerSentEvent("message", "\ufeff1", complete=True)
    assert await read(b"\xef", b"\xbb", b"\xbfdata: \xef\xbb\xbf1\n\n") == [event]


async def test_last_event_without_its_blank_line_is_marked() -> None:
    events = await read(b"data: 1\n\ndata: 2")
    assert events == [
        ServerSentEvent("message", "1", complete=True),
        ServerSentEvent("message", "2", complete=False),
    ]


async def test_event_without_data_is_left_out() -> None:
    assert await read(b"id: 1\nevent: ping\n\n\n\n: only a comment\n\n") == []


async def test_data_keeps_all_but_one_leading_space() -> None:
    events = await read(b"data:  a \ndata:\ndata:b\n\n")
    assert [event.data for event in events] == [" a \n\nb"]


@pytest.mark.parametrize("body", [b"data: \xff\n\n", b"data: \xed\x95\n\n", b"data: \xc0\x80\n\n"])
async def test_text_that_is_not_utf8_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError, match="UTF-8"):
        await read(body)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n", b"\r\n\n", b"\r\n\r", b"\n\r"])
async def test_size_limit_counts_from_blank_line_to_blank_line(end: bytes) -> None:
    event = b"data: " + b"x" * 60 + end
    for step in (1, 7, len(event), 1000):
        stream = event * 20 + b"\n"
        chunks = [stream[i : i + step] for i in range(0, len(stream), step)]
        assert len(await read(*chunks, limit=80)) == 20


async def test_whole_event_over_the_limit_is_refused_in_one_chunk() -> None:
    with pytest.raises(ProtocolError, match="larger than 100 bytes"):
        await read(b"data: ok\n\ndata: " + b"x" * 93 + b"\n\ndata: ok\n\n", limit=100)
    assert len(await read(b"data: ok\n\ndata: " + b"x" * 92 + b"\n\ndata: ok\n\n", limit=100)) == 3


@pytest.mark.parametrize("line", [b"x", b"data: x\n", b": comment\n", b"\r\n: "])
async def test_event_over_the_limit_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError, match="larger than 100 bytes"):
        await read(b"data: ok\n\n", *[line] * 101, limit=100)


async def test_event_at_the_limit_of_two_mebibytes_is_read_in_small_chunks() -> None:
    limit = 2 * 1024 * 1024
    event = b"data: " + b"x" * (limit - 8)
    chunks = [event[i : i + 4096] for i in range(0, len(event), 4096)]
    events = await read(*chunks, b"\n", b"\n", limit=limit)
    assert [len(event.data) for event in events] == [limit - 8]


async def test_memory_is_bounded_while_a_line_never_ends() -> None:
    limit = 256 * 1024
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 4096
            yield b"x" * 4096

    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            await anext(server_sent_events(endless(), limit))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken == limit + 4096
    assert peak < 4 * limit
