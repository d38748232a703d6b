"""Writes a tiny random Llama-family GGUF file on which the whole inference server runs in milliseconds.

The file has the metadata keys of the bundled model: a byte-level BPE tokenizer (control tokens, all 256
bytes, a few merges, among them "\\n" + "\\n") and a ChatML template. Its weights are random but large enough
that every earlier token matters: a greedy answer depends on the whole prompt and does not settle on one
token. The same arguments give the same bytes. It knows nothing of the server.
"""

from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

END_OF_TEXT, MESSAGE_START, MESSAGE_END, REPOSITORY_NAME = range(4)
CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>")
MERGES = (
    ("\n", "\n"),
    (" ", "t"),
    ("h", "e"),
    (" t", "he"),
    ("i", "n"),
    ("e", "r"),
    ("a", "n"),
    ("o", "u"),
    ("in", "g"),
    (" ", "a"),
    ("an", "d"),
    (" ", "s"),
    (" ", " "),
    ("o", "n"),
    ("o", "r"),
    ("e", "s"),
)
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a tiny test model<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@dataclass(frozen=True)
class TinyShape:
    """Sizes of the model. `architecture` is llama, qwen2 (with Q, K, V biases) or qwen3 (Q and K norms)."""

    architecture: str = "llama"
    layers: int = 2
    dim: int = 64
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    ffn: int = 96
    context: int = 1024
    rope_base: float = 10_000.0
    norm_epsilon: float = 1e-5
    tied: bool = False

    @property
    def vocabulary(self) -> int:
        return len(CONTROL_TOKENS) + 256 + len(MERGES)


def write_tiny_model(path: Path, shape: TinyShape | None = None, *, seed: int = 0) -> Path:
    """Writes the file and returns its path. Of the 276 tokens, the ids 0..3 are control tokens."""
    shape = shape or TinyShape()
    writer = gguf.GGUFWriter(path, shape.architecture)
    _write_shape(writer, shape)
    _write_tokenizer(writer)
    for name, values in tiny_weights(shape, seed=seed).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tiny_weights(shape: TinyShape, *, seed: int = 0) -> dict[str, np.ndarray]:
    """GGUF tensor name -> float32 values, [out, in] or [n]."""
    rng = np.random.default_rng(seed)

    def matrix(out_features: int, in_features: int, gain: float = 1.0) -> np.ndarray:
        scale = gain / np.sqrt(in_features)
        return (rng.standard_normal((out_features, in_features)) * scale).astype(np.float32)

    def norm(size: int) -> np.ndarray:
        return (1.0 + 0.1 * rng.standard_normal(size)).astype(np.float32)

    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    weights = {"token_embd.weight": matrix(shape.vocabulary, shape.dim, gain=np.sqrt(shape.dim))}
    for layer in range(shape.layers):
        block = {
            "attn_norm.weight": norm(shape.dim),
            "attn_q.weight": matrix(queries, shape.dim, gain=1.5),
            "attn_k.weight": matrix(keys, shape.dim, gain=1.5),
            "attn_v.weight": matrix(keys, shape.dim, gain=2.0),
            "attn_output.weight": matrix(shape.dim, queries, gain=2.0),
            "ffn_norm.weight": norm(shape.dim),
            "ffn_gate.weight": matrix(shape.ffn, shape.dim, gain=1.5),
            "ffn_up.weight": matrix(shape.ffn, shape.dim, gain=1.5),
            "ffn_down.weight": matrix(shape.dim, shape.ffn, gain=1.5),
        }
        if shape.architecture == "qwen2":
            block |= {
                "attn_q.bias": norm(queries) - 1.0,
                "attn_k.bias": norm(keys) - 1.0,
                "attn_v.bias": norm(keys) - 1.0,
            }
        if shape.architecture == "qwen3":
            block |= {"attn_q_norm.weight": norm(shape.head_dim), "attn_k_norm.weight": norm(shape.head_dim)}
        weights |= {f"blk.{layer}.{name}": values for name, values in block.items()}
    weights["output_norm.weight"] = norm(shape.dim)
    if not shape.tied:
        weights["output.weight"] = matrix(shape.vocabulary, shape.dim, gain=2.0)
    return weights


def _write_shape(writer: gguf.GGUFWriter, shape: TinyShape) -> None:
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name("Tiny test model")
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.dim)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_rope_dimension_count(shape.head_dim)
    if shape.heads * shape.head_dim != shape.dim:
        writer.add_key_length(shape.head_dim)
        writer.add_value_length(shape.head_dim)


def _write_tokenizer(writer: gguf.GGUFWriter) -> None:
    letters = _byte_letters()

    def spell(text: str) -> str:
        return "".join(letters[byte] for byte in text.encode())

    tokens = [*CONTROL_TOKENS, *sorted(letters.values()), *(spell(left + right) for left, right in MERGES)]
    control = len(CONTROL_TOKENS)
    types = [gguf.TokenType.CONTROL] * control + [gguf.TokenType.NORMAL] * (len(tokens) - control)
    writer.add_add_space_prefix(False)
    writer.add_add_bos_token(False)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([f"{spell(left)} {spell(right)}" for left, right in MERGES])
    writer.add_bos_token_id(MESSAGE_START)
    writer.add_eos_token_id(MESSAGE_END)
    writer.add_unk_token_id(END_OF_TEXT)
    writer.add_pad_token_id(MESSAGE_END)
    writer.add_chat_template(CHAT_TEMPLATE)


def _byte_letters() -> dict[int, str]:
    """The printable letter by which byte-level BPE writes each byte (GPT-2's table)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    others = [byte for byte in range(256) if byte not in letters]
    return letters | {byte: chr(256 + index) for index, byte in enumerate(others)}
