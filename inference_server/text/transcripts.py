"""What the model saw and said, as token ids, so that a resent conversation gets the ids that are in the cache.

Encoding is not the inverse of decoding: many sampled answers encode to other ids than were sampled. So prompts and
answers of earlier requests are remembered by a hash chain over (scope, role, content) of the messages, and a resent
history is put together from them. Bounded by bytes; what was forgotten is encoded anew.
"""

import hashlib
import threading
from array import array
from collections import OrderedDict
from dataclasses import dataclass, field

from inference_server.text.detokenizer import Detokenizer
from inference_server.text.tokenizer import TextTokenizer

_ANSWERS_KEPT = 16  # per question: the newest of its regenerated answers
_RECORD_BYTES = 400  # a record's own size, apart from its ids
_ID_BYTES = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of prompt tokens that come from one segment (of ``message``, or of the template)."""

    message: int | None
    block: int | None
    length: int


@dataclass(slots=True)
class Answer:
    """One answer's ids: the prefill that it continues, and what was sampled (still growing while it is written)."""

    prefill: "array[int]"
    output: "array[int]"

    def ids(self, end_tokens: frozenset[int]) -> "array[int]":
        """The ids that stand for the answer's content: an end token is not part of it."""
        sampled = self.output[:]
        if sampled and sampled[-1] in end_tokens:
            sampled.pop()
        return self.prefill + sampled


@dataclass(slots=True)
class Question:
    """The tokens between the previous question and this one's answer, and the answers that it got.

    They begin with the previous answer as the model saw it then: it may have been cut, and since then other answers
    may have come that read the same.
    """

    parts: tuple[Part, ...]
    ids: "array[int]"
    answers: list[Answer] = field(default_factory=list)
    measured: int = 0

    def size(self) -> int:
        """Bytes, roughly."""
        held = len(self.ids) + sum(len(a.prefill) + len(a.output) for a in self.answers)
        return _RECORD_BYTES * (1 + len(self.answers)) + _ID_BYTES * held


class Transcripts:
    """Remembered ids by conversation so far. Thread-safe."""

    def __init__(self, tokenizer: TextTokenizer, end_tokens: frozenset[int], *, max_bytes: int) -> None:
        self._tokenizer = tokenizer
        self._end_tokens = end_tokens
        self._max_bytes = max_bytes
        self._questions: OrderedDict[bytes, Question] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def num_bytes(self) -> int:
        """Approximate memory in use."""
        return self._bytes

    def question(self, key: bytes) -> Question | None:
        """The remembered tokens of the question that ends the conversation ``key``."""
        with self._lock:
            question = self._questions.get(key)
            if question is not None:
                self._questions.move_to_end(key)
            return question

    def remember(self, key: bytes, parts: tuple[Part, ...], ids: "array[int]", answer: Answer) -> None:
        """Remember a request from its start on: its answer may be resent before it has ended."""
        with self._lock:
            question = self._questions.setdefault(key, Question(parts, ids))
            question.answers = [*question.answers[1 - _ANSWERS_KEPT :], answer]
            self._measure(key, question)

    def measure(self, key: bytes) -> None:
        """Count a question's memory again, because its answer has grown, and forget the least recently used."""
        with self._lock:
            question = self._questions.get(key)
            if question is not None:
                self._measure(key, question)

    def forget(self, key: bytes, output: "array[int]") -> None:
        """Forget the answer that this array holds, and its question with the last of its answers."""
        with self._lock:
            question = self._questions.get(key)
            if question is None:
                return
            question.answers = [answer for answer in question.answers if answer.output is not output]
            if question.answers:
                self._measure(key, question)
            else:
                self._bytes -= self._questions.pop(key).measured

    def answer_ids(self, question: Question, content: str) -> "array[int]":
        """Ids for an answer with this content.

        The ids of the newest answer that reads exactly so; else the longest run of remembered ids whose text begins
        the content, and the encoding of the rest (an answer that was cut or edited).
        """
        with self._lock:
            candidates = [answer.ids(self._end_tokens) for answer in reversed(question.answers)]
        for ids in candidates:
            if self._tokenizer.text(ids) == content:
                return ids
        runs = [(self._longest_run(ids, content), ids) for ids in candidates]
        (count, length), ids = max(runs, key=lambda run: run[0][1], default=((0, 0), array("i")))
        return ids[:count] + self._tokenizer.encode_content(content[length:])

    def _longest_run(self, ids: "array[int]", content: str) -> tuple[int, int]:
        """(number of leading ids, their number of characters): the longest run whose text begins ``content``.

        A run ends between characters, since the rest of the content is encoded as characters.
        """
        detokenizer = Detokenizer(self._tokenizer)
        best, length = (0, 0), 0
        for count, token in enumerate(ids, 1):
            text = detokenizer.push(token)
            if not content.startswith(text, length):
                return best
            length += len(text)
            if detokenizer.is_between_characters:
                best = (count, length)
        return best

    def _measure(self, key: bytes, question: Question) -> None:
        size = question.size()
        self._bytes += size - question.measured
        question.measured = size
        self._questions.move_to_end(key)
        while self._bytes > self._max_bytes and len(self._questions) > 1:
            _, forgotten = self._questions.popitem(last=False)
            self._bytes -= forgotten.measured


def chain_start(*identity: bytes) -> bytes:
    """The key of an empty conversation of this (model, template, scope)."""
    return _framed_hash(b"conversation", *identity)


def chain(key: bytes, role: str, content: str) -> bytes:
    """The key of the conversation ``key`` with one more message."""
    return _framed_hash(key, role.encode(), content.encode())


def _framed_hash(*fields: bytes) -> bytes:
    """SHA-256 over fields with their lengths, so that no two lists of fields read the same."""
    digest = hashlib.sha256()
    for value in fields:
        digest.update(len(value).to_bytes(8, "big"))
        digest.update(value)
    return digest.digest()
