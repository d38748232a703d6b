"""Stop strings over a growing text: nothing of one is delivered, and only a possible beginning is held back."""

from collections.abc import Sequence


class StopStrings:
    """Watches one request's text. Of several stop strings, the one that is complete first wins."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""

    def push(self, text: str) -> tuple[str, str | None]:
        """Add text; returns (what may be delivered, the stop string that is now complete)."""
        text = self._held + text
        found = [(at + len(stop), at, stop) for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            _, at, stop = min(found)
            self._held = ""
            return text[:at], stop
        keep = max((self._beginning(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep], None

    def finish(self) -> str:
        """The held text, which is part of the answer after all."""
        held, self._held = self._held, ""
        return held

    @staticmethod
    def _beginning(text: str, stop: str) -> int:
        """Length of the longest end of ``text`` with which ``stop`` begins."""
        longest = min(len(text), len(stop) - 1)
        return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
