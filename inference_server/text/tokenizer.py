"""Text to token ids and token ids to bytes, from the vocabulary in a GGUF file.

Two encoders with one vocabulary: the chat template's own text may contain control tokens, content never does. What a
user types as ``<|im_end|>`` is seven ordinary tokens.
"""

import codecs
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from inference_server.errors import ModelFileError

_CONTROL = 3  # tokenizer.ggml.token_type of a control token
_PRE_TOKENIZERS = ("gpt-2", "smollm")


class TextTokenizer:
    """A byte-level BPE tokenizer. Encoding is thread-safe: neither encoder is changed after construction."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "gpt-2")
        if kind != "gpt2" or pre not in _PRE_TOKENIZERS:
            supported = ", ".join(_PRE_TOKENIZERS)
            raise ModelFileError(
                f"tokenizer {kind!r} with pre-tokenizer {pre!r} is not supported; supported: 'gpt2' with {supported}"
            )
        self.pieces: list[str] = metadata["tokenizer.ggml.tokens"]
        types: list[int] = metadata["tokenizer.ggml.token_type"]
        self.control_ids = frozenset(index for index, kind in enumerate(types) if kind == _CONTROL)
        self.bos_id: int | None = (
            metadata.get("tokenizer.ggml.bos_token_id") if metadata.get("tokenizer.ggml.add_bos_token") else None
        )
        self.eos_ids = frozenset(
            metadata[key] for key in ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id") if key in metadata
        )
        self._template = self._encoder(metadata["tokenizer.ggml.merges"], pre)
        self._content = self._encoder(metadata["tokenizer.ggml.merges"], pre)
        self._content.encode_special_tokens = True
        self._bytes = [
            piece.encode() if index in self.control_ids else _piece_bytes(piece)
            for index, piece in enumerate(self.pieces)
        ]
        self.longest_token = max(map(len, self._bytes))
        """Bytes that one token can stand for, at most."""

    def encode_template(self, text: str) -> "array[int]":
        """Encode text of the chat template, with control tokens."""
        return _encode(self._template, text)

    def encode_content(self, text: str) -> "array[int]":
        """Encode content, in which nothing is a control token.

        Bytes that the vocabulary has no token for are left out: the model has no way to see them.
        """
        return _encode(self._content, text)

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for; for a control token, its name."""
        return self._bytes[token]

    def text(self, tokens: Iterable[int]) -> str:
        """The text of a run of tokens, without the bytes of an incomplete last character."""
        return codecs.getincrementaldecoder("utf-8")("replace").decode(b"".join(map(self.token_bytes, tokens)))

    def _encoder(self, merges: list[str], pre: str) -> Tokenizer:
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
        vocabulary = {piece: index for index, piece in enumerate(self.pieces)}
        encoder = Tokenizer(models.BPE(vocabulary, pairs))
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        encoder.pre_tokenizer = (
            pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])
            if pre == "smollm"
            else byte_level
        )
        encoder.decoder = decoders.ByteLevel()
        encoder.add_special_tokens(
            [AddedToken(self.pieces[index], special=True, normalized=False) for index in sorted(self.control_ids)]
        )
        return encoder


def _encode(encoder: Tokenizer, text: str) -> "array[int]":
    # Encoding a batch lets other threads run meanwhile; encoding one text does not.
    return array("i", encoder.encode_batch_fast([text], add_special_tokens=False)[0].ids)


def _byte_characters() -> dict[str, int]:
    """The byte that each character of a byte-level piece stands for (the mapping that GPT-2 introduced)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTES = _byte_characters()


def _piece_bytes(piece: str) -> bytes:
    """The bytes of a byte-level piece; a piece with other characters is taken literally."""
    try:
        return bytes(_BYTES[character] for character in piece)
    except KeyError:
        return piece.encode()
