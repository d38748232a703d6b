"""The oracle: a Hugging Face transformers model that computes in float32 with the dequantised weights of a file."""

import numpy as np
import torch
from torch import Tensor
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from inference_server.gguf_file import GgufFile

CLASSES = {
    "llama": (LlamaConfig, LlamaForCausalLM),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
}
NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


class HuggingFaceModel:
    """Built from the metadata of the file; Q and K of llama files are put back into the order of Hugging Face."""

    def __init__(self, file: GgufFile) -> None:
        self._file = file
        self._architecture = file.metadata["general.architecture"]
        config_class, model_class = CLASSES[self._architecture]
        self._heads, self._kv_heads = self._field("attention.head_count"), self._field("attention.head_count_kv")
        tied = "output.weight" not in file.tensor_names
        config = config_class(
            vocab_size=len(file.metadata["tokenizer.ggml.tokens"]),
            hidden_size=self._field("embedding_length"),
            intermediate_size=self._field("feed_forward_length"),
            num_hidden_layers=self._field("block_count"),
            num_attention_heads=self._heads,
            num_key_value_heads=self._kv_heads,
            head_dim=self._field("rope.dimension_count"),
            max_position_embeddings=self._field("context_length"),
            rms_norm_eps=self._field("attention.layer_norm_rms_epsilon"),
            rope_parameters={"rope_type": "default", "rope_theta": self._field("rope.freq_base")},
            tie_word_embeddings=tied,
        )
        self._model: PreTrainedModel = model_class(config).eval()
        state = {self._their_name(name): self._values(name) for name in file.tensor_names}
        if tied:
            state["lm_head.weight"] = state["model.embed_tokens.weight"]
        self._model.load_state_dict(state)

    @torch.inference_mode()
    def logits(self, tokens: list[int]) -> Tensor:
        """[tokens, vocabulary] float32."""
        output: Tensor = self._model(torch.tensor([tokens])).logits[0]
        return output

    @torch.inference_mode()
    def attention(self, tokens: list[int], layer: int) -> Tensor:
        """Weights [heads, tokens, tokens] float32 of one layer."""
        self._model.set_attn_implementation("eager")  # The faster ones keep no weights.
        output: Tensor = self._model(torch.tensor([tokens]), output_attentions=True).attentions[layer][0]
        return output

    def _field(self, name: str) -> int | float:
        value: int | float = self._file.metadata[f"{self._architecture}.{name}"]
        return value

    def _their_name(self, name: str) -> str:
        outer = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
        stem, kind = name.rsplit(".", 1)
        if stem in outer:
            return f"{outer[stem]}.{kind}"
        _, layer, part = stem.split(".")
        return f"model.layers.{layer}.{NAMES[part]}.{kind}"

    def _values(self, name: str) -> Tensor:
        values = self._file.tensor(name)
        if self._architecture == "llama" and ("attn_q." in name or "attn_k." in name):
            heads = self._heads if "attn_q." in name else self._kv_heads
            rows = values.reshape(heads, values.shape[0] // heads // 2, 2, *values.shape[1:])
            values = rows.swapaxes(1, 2).reshape(values.shape)
        return torch.from_numpy(np.array(values))
