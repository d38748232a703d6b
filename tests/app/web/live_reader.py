"""What our script makes of a page and of the events behind its cursor, without a browser."""

import json
import re
from collections.abc import Iterable
from html import unescape

from httpx_sse import ServerSentEvent


class LiveReader:
    """`html` of the finished blocks, and the open text behind them."""

    def __init__(self, page: str) -> None:
        answer = re.search(r'data-live="([^"]*)">(.*?)<div class="open"', page, re.DOTALL)
        cursor = re.search(r'data-cursor="(\d+)"', page)
        assert answer is not None
        assert cursor is not None
        state = json.loads(unescape(answer[1]))
        self.html: str = answer[2]
        self.end: int = state["chars"]
        self.tail: str = state["tail"]
        self.cursor = int(cursor[1])

    @property
    def length(self) -> int:
        return self.end + len(self.tail)

    def take(self, events: Iterable[ServerSentEvent]) -> None:
        """Fails on a block that begins anywhere but at the end of what is finished, or that is ahead of the text."""
        for event in events:
            data = json.loads(event.data)
            if event.event == "delta":
                self.tail += data["text"]
            elif event.event == "reset":
                self.html, self.end, self.tail = data["html"], data["chars"], data["tail"]
            elif event.event == "block" and data["start"] >= self.end:
                assert data["start"] == self.end
                assert data["chars"] <= self.length
                self.html += data["html"]
                self.tail = self.tail[data["chars"] - self.end :]
                self.end = data["chars"]
