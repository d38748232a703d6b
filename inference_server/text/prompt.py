"""From messages to prompt tokens: remembered ids where the conversation is known, freshly encoded text where not.

Each content block and each stretch of template text is encoded by itself, so that the ids of a message do not depend
on its neighbours.
"""

import itertools
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from inference_server.text.chat_template import ChatMessage, ChatTemplate, Piece
from inference_server.text.tokenizer import TextTokenizer
from inference_server.text.transcripts import Answer, Part, Question, Transcripts, chain, chain_start


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's prompt.

    ``keys`` are the conversation up to each of its questions; ``question_ids`` and ``question_parts`` are the tokens
    behind the previous question, ``prefill`` those of a last assistant message, None without one. ``parts`` covers
    ``tokens`` from the first on.
    """

    tokens: "array[int]"
    parts: tuple[Part, ...]
    keys: tuple[bytes, ...]
    question_ids: "array[int]"
    question_parts: tuple[Part, ...]
    prefill: "array[int] | None" = None

    @property
    def key(self) -> bytes:
        """The conversation up to its last question."""
        return self.keys[-1]

    @property
    def answer_start(self) -> int:
        """Where the answer's tokens begin, those that the request brings along included."""
        return len(self.tokens) - len(self.prefill or ())

    def message_at(self, position: int) -> int | None:
        """The message that a token belongs to; None for the template's own."""
        end = 0
        for part in self.parts:
            end += part.length
            if position < end:
                return part.message
        raise IndexError(position)

    def tokens_of(self, message: int) -> "array[int]":
        """The tokens of a message's content."""
        end, tokens = 0, array("i")
        for part in self.parts:
            end += part.length
            if part.message == message:
                tokens += self.tokens[end - part.length : end]
        return tokens

    def end_of(self, message: int, block: int) -> int:
        """Number of tokens up to the end of a content block (of its whole message where blocks are not told apart)."""
        end = found = 0
        for part in self.parts:
            end += part.length
            if part.message == message and (part.block is None or part.block <= block):
                found = end
        return found


class PromptBuilder:
    """Builds prompts of one model. Thread-safe."""

    def __init__(
        self,
        tokenizer: TextTokenizer,
        template: ChatTemplate,
        transcripts: Transcripts,
        model: str,
        *,
        resends_seen: bool = True,
    ) -> None:
        """With ``resends_seen`` the model sees again what it saw; without, what the template makes of it now."""
        self._tokenizer = tokenizer
        self._template = template
        self._transcripts = transcripts
        self._resends_seen = resends_seen
        self._identity = (model.encode(), template.source.encode())

    def build(self, scope: bytes, messages: Sequence[ChatMessage]) -> Prompt:
        """Build the prompt of one message or more; neighbours of one role have been merged.

        Raises InvalidRequest when the chat template refuses or rewrites them.
        """
        pieces = self._template.pieces(messages)
        tokens, parts = self._beginning(pieces[0].text)
        key, chained = chain_start(*self._identity, scope), 0
        keys: list[bytes] = []
        answered: Question | None = None
        answer: list[Piece] = []
        pending: list[Piece] = []
        for index, group in itertools.groupby(pieces, key=lambda piece: piece.message):
            if index is None or messages[index].role != "assistant":
                pending.extend(group)
                continue
            key = _chain(key, messages[chained:index])
            keys.append(key)
            question = self._question(key)
            ids, question_parts = self._question_tokens(question, answered, answer, pending)
            tokens += ids
            parts += question_parts
            if index == len(messages) - 1:
                prefill = self._answer_tokens(question, list(group))
                parts.append(Part(index, None, len(prefill)))
                return Prompt(tokens + prefill, tuple(parts), tuple(keys), ids, question_parts, prefill)
            answered, answer, pending, chained = question, list(group), [], index
        keys.append(_chain(key, messages[chained:]))
        ids, question_parts = self._question_tokens(self._question(keys[-1]), answered, answer, pending)
        return Prompt(tokens + ids, (*parts, *question_parts), tuple(keys), ids, question_parts)

    def remember(self, prompt: Prompt, output: "array[int]") -> None:
        """Remember a request that is about to run, with the array that its sampled tokens will be appended to."""
        answer = Answer(prompt.prefill or array("i"), output)
        self._transcripts.remember(prompt.key, prompt.question_parts, prompt.question_ids, answer)

    def settle(self, prompt: Prompt) -> None:
        """Count the memory of a request that has ended."""
        self._transcripts.measure(prompt.key)

    def forget(self, prompt: Prompt, output: "array[int]") -> None:
        """Forget what was sampled behind this prompt, by the array that :meth:`remember` got."""
        self._transcripts.forget(prompt.key, output)

    def _beginning(self, first_text: str) -> "tuple[array[int], list[Part]]":
        """The beginning-of-sequence token, where the model file wants one and the template has none."""
        bos = self._tokenizer.bos_id
        if bos is None or first_text.startswith(self._tokenizer.pieces[bos]):
            return array("i"), []
        return array("i", [bos]), [Part(None, None, 1)]

    def _question(self, key: bytes) -> Question | None:
        return self._transcripts.question(key) if self._resends_seen else None

    def _question_tokens(
        self, question: Question | None, answered: Question | None, answer: Sequence[Piece], pending: Sequence[Piece]
    ) -> "tuple[array[int], tuple[Part, ...]]":
        """The tokens behind the previous question: its answer and the pieces that follow.

        A known question tells which ids the answer had when the model saw it, though others may read the same.
        """
        if question is not None:
            return question.ids, question.parts
        ids, parts = array("i"), []
        if answer:
            ids += self._answer_tokens(answered, answer)
            parts.append(Part(answer[0].message, None, len(ids)))
        for piece in pending:
            is_content = piece.message is not None
            encode = self._tokenizer.encode_content if is_content else self._tokenizer.encode_template
            encoded = encode(piece.text)
            ids += encoded
            parts.append(Part(piece.message, piece.block, len(encoded)))
        return ids, tuple(parts)

    def _answer_tokens(self, question: Question | None, pieces: Sequence[Piece]) -> "array[int]":
        texts = [piece.text for piece in pieces]
        if question is not None:
            return self._transcripts.answer_ids(question, "".join(texts))
        ids = array("i")
        for text in texts:
            ids += self._tokenizer.encode_content(text)
        return ids


def _chain(key: bytes, messages: Sequence[ChatMessage]) -> bytes:
    for message in messages:
        key = chain(key, message.role, message.text)
    return key
