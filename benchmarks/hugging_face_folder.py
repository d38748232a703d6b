"""Writes a GGUF model of the Llama family as a Hugging Face folder, for servers that read no GGUF.

The weights are the dequantised ones, in bfloat16. Knows nothing of who reads the folder.
"""

import json
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoTokenizer

from inference_server.errors import ModelFileError
from inference_server.gguf_file import GgufFile

_OUTER = MappingProxyType({"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"})
_PARTS = MappingProxyType(
    {
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
)


def write_folder(model: Path, folder: Path) -> None:
    """Weights, configuration and tokenizer. Raises ModelFileError for another architecture."""
    file = GgufFile.open(model)
    if file.metadata["general.architecture"] != "llama":
        raise ModelFileError(f"{model.name} is not of the Llama family")
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {_name(name): _values(file, name) for name in file.tensor_names}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(_configuration(file), indent=2))
    tokenizer = AutoTokenizer.from_pretrained(model.parent, gguf_file=model.name)
    tokenizer.save_pretrained(folder)


def _configuration(file: GgufFile) -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "hidden_act": "silu",
        "vocab_size": len(file.metadata["tokenizer.ggml.tokens"]),
        "hidden_size": file.metadata["llama.embedding_length"],
        "intermediate_size": file.metadata["llama.feed_forward_length"],
        "num_hidden_layers": file.metadata["llama.block_count"],
        "num_attention_heads": file.metadata["llama.attention.head_count"],
        "num_key_value_heads": file.metadata["llama.attention.head_count_kv"],
        "head_dim": file.metadata["llama.rope.dimension_count"],
        "max_position_embeddings": file.metadata["llama.context_length"],
        "rms_norm_eps": file.metadata["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": file.metadata["llama.rope.freq_base"],
        "tie_word_embeddings": "output.weight" not in file.tensor_names,
        "bos_token_id": file.metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": file.metadata["tokenizer.ggml.eos_token_id"],
    }


def _name(name: str) -> str:
    stem, kind = name.rsplit(".", 1)
    if stem in _OUTER:
        return f"{_OUTER[stem]}.{kind}"
    _, layer, part = stem.split(".")
    return f"model.layers.{layer}.{_PARTS[part]}.{kind}"


def _values(file: GgufFile, name: str) -> Tensor:
    """Q and K are put back into the order of Hugging Face: the file has them permuted for interleaved rotation."""
    values = file.tensor(name)
    if "attn_q." in name or "attn_k." in name:
        kind = "head_count" if "attn_q." in name else "head_count_kv"
        heads = file.metadata[f"llama.attention.{kind}"]
        pairs = values.reshape(heads, values.shape[0] // heads // 2, 2, *values.shape[1:])
        values = pairs.swapaxes(1, 2).reshape(values.shape)
    return torch.from_numpy(np.array(values)).to(torch.bfloat16).contiguous()
