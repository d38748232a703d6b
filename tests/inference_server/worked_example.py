"""The worked example: its conversation, its tokenizer, which is a table, and a server whose model is a script."""

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inference_server.api.generation import ServedModel
from inference_server.text.chat_template import ChatTemplate
from inference_server.text.tokenizer import TextTokenizer
from tests.inference_server.oracle_runner import OracleRunner
from tests.inference_server.serving import Served, serve_runner

EXAMPLE = json.loads((Path(__file__).parents[1] / "data" / "worked_example.json").read_text())
IDS: dict[str, int] = EXAMPLE["token_ids"]
END_ID = 11
TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}</{{ message.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
CLOCK = " 현재 시각 14:"


class TableTokenizer:
    """Longest piece first, from the example's table. Control tokens are the role markers."""

    bos_id = None
    longest_token = 100
    pieces = {number: piece for piece, number in IDS.items()}  # noqa: RUF012 - never changed

    def __init__(self) -> None:
        longest_first = sorted(IDS, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def encode_content(self, text: str) -> "array[int]":
        found = self._pattern.findall(text)
        assert "".join(found) == text, f"no pieces for {text!r}"
        return array("i", (IDS[piece] for piece in found))

    encode_template = encode_content

    def token_bytes(self, token: int) -> bytes:
        return self.pieces[token].encode()

    def text(self, tokens: Iterable[int]) -> str:
        return "".join(self.pieces[token] for token in tokens)


def script() -> dict[tuple[int, ...], int]:
    """Every prefix of the example's conversations -> the next token that the model says."""
    variant = EXAMPLE["time_in_system"]
    said = [(turn["prompt_pieces"], turn["answer_pieces"]) for turn in EXAMPLE["turns"]]
    said.append((variant["previous_prompt_pieces"], variant["previous_answer_pieces"]))
    said.append((variant["prompt_pieces"], EXAMPLE["turns"][3]["answer_pieces"]))
    table = {}
    for prompt, answer in said:
        tokens = [IDS[piece] for piece in prompt]
        for token in [*(IDS[piece] for piece in answer), END_ID]:
            table[tuple(tokens)] = token
            tokens.append(token)
    return table


class MadeUpAttention(OracleRunner):
    """Every head has the example's row."""

    def attention(self, token: int, slots: Sequence[int], layer: int) -> "list[array[float]]":
        made_up = EXAMPLE["attention_row"]
        assert len(slots) == made_up["position"] + 1
        rest = made_up["other_weight"] / made_up["other_positions"]
        row = array("f", (made_up["weights"].get(str(position), rest) for position in range(len(slots))))
        return [row] * self.heads


@contextmanager
def serve_worked_example(tokenizer: TextTokenizer | None = None) -> Iterator[Served]:
    """With another tokenizer, whose further tokens the model does not look at."""
    answers, known = script(), {*IDS.values(), END_ID}

    def next_token(prefix: tuple[int, ...]) -> int:
        return answers[tuple(token for token in prefix if token in known)]

    model = ServedModel("table", "Table", 1024, frozenset([END_ID]))
    template = ChatTemplate(TEMPLATE, bos_token="", eos_token="")
    with serve_runner(model, tokenizer or TableTokenizer(), template, MadeUpAttention(1024, next_token)) as served:
        yield served
