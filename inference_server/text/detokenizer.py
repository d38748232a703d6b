"""Token ids to text as they are sampled: text only grows, and no character is ever split."""

import codecs
from collections.abc import Iterable

from inference_server.text.stop_strings import StopStrings
from inference_server.text.tokenizer import TextTokenizer


class Detokenizer:
    """Incremental UTF-8 decoding of token bytes. Bytes of an incomplete last character are held, never emitted."""

    def __init__(self, tokenizer: TextTokenizer, seed: Iterable[int] = ()) -> None:
        """``seed`` are the tokens before the first: their incomplete last character is completed, not repeated."""
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for token in seed:
            self.push(token)

    def push(self, token: int) -> str:
        """The text that this token completes."""
        return self._decoder.decode(self._tokenizer.token_bytes(token))

    @property
    def is_between_characters(self) -> bool:
        """Whether no bytes of a further character are held."""
        return not self._decoder.getstate()[0]


class TextReader:
    """A request's output as text: detokenized, and ended by a stop string (the engine's ``TokenReader``)."""

    def __init__(self, detokenizer: Detokenizer, stops: StopStrings) -> None:
        self._detokenizer = detokenizer
        self._stops = stops

    def push(self, token: int) -> tuple[str, str | None]:
        """Take one sampled token; returns (text to deliver, the stop string that it completed)."""
        return self._stops.push(self._detokenizer.push(token))

    def finish(self) -> str:
        """Text that was held back as a possible stop string."""
        return self._stops.finish()
