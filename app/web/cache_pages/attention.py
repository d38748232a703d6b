"""Where one position of a message looks: what was asked in the address, and the answer as rows; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from app.web.cache_pages.strip import state_words, visible
from app.web.languages import Language
from app.web.place_words import segment_words
from inference_client import AttentionRow
from inference_client.inspection import WeighedToken

TOP: Final = 16
BAR_WIDTH: Final = 200.0
MEAN: Final = "mean"
FIELDS: Final = ("position", "layer", "head")


@dataclass(frozen=True, slots=True)
class Asked:
    position: int
    layer: int
    head: int | Literal["mean"]


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """`typed` is what the fields show. `asked` is None where nothing was asked, and where a `problem` is to be told."""

    typed: Mapping[str, str]
    last_position: int
    asked: Asked | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class WeightRow:
    """`id` and `text` are None for a reader who may not read; `width` is that of a bar."""

    position: int
    segment: str
    state: str
    state_class: str
    id: int | None
    text: str | None
    weight: str
    width: float


@dataclass(frozen=True, slots=True)
class AttentionView:
    """Weights in words, as percentages; `total` is all of them together, which is 1 but for rounding."""

    asked: Asked
    layers: int
    heads: int
    rows: tuple[WeightRow, ...]
    rest_positions: int
    rest: str
    cached: str
    computed: str
    cached_width: float
    total: str


def read_form(query: Mapping[str, str], kv_tokens: int, language: Language) -> AttentionForm:
    """Positions are those whose KV the server has held; who asks for nothing looks at the last one first."""
    last = max(0, kv_tokens - 1)
    given = {name: query.get(name, "").strip() for name in FIELDS}
    typed = {"position": str(last), "layer": "0", "head": MEAN, **{name: text for name, text in given.items() if text}}
    if not any(given.values()) or not kv_tokens:
        return AttentionForm(typed, last)
    position, layer = _number(typed["position"]), _number(typed["layer"])
    head = MEAN if typed["head"] == MEAN else _number(typed["head"])
    if position is None or position > last:
        return AttentionForm(typed, last, problem=refusal("position", f"0–{last}", language))
    if layer is None:
        return AttentionForm(typed, last, problem=refusal("layer", language.gettext("a number from 0 on"), language))
    if head is None:
        allowed = language.gettext("a number from 0 on, or mean")
        return AttentionForm(typed, last, problem=refusal("head", allowed, language))
    return AttentionForm(typed, last, Asked(position, layer, "mean" if isinstance(head, str) else head))


def beyond(asked: Asked, layers: int, heads: int, language: Language) -> str:
    """What is wrong with a layer or head that the model does not have."""
    if asked.layer >= layers:
        return refusal("layer", f"0–{layers - 1}", language)
    numbers = f"0–{heads - 1}"
    return refusal("head", language.gettext("%(numbers)s, or mean", numbers=numbers), language)


def view_of(row: AttentionRow, asked: Asked, language: Language, *, readable: bool) -> AttentionView:
    heaviest = max((token.weight for token in row.top), default=0.0)
    total = sum(token.weight for token in row.top) + row.remainder.weight
    computed = max(0.0, total - row.cached_weight)
    return AttentionView(
        asked=asked,
        layers=row.layers,
        heads=row.heads,
        rows=tuple(_row(token, heaviest, language, readable) for token in row.top),
        rest_positions=row.remainder.positions,
        rest=_percent(row.remainder.weight, language),
        cached=_percent(row.cached_weight, language),
        computed=_percent(computed, language),
        cached_width=round(BAR_WIDTH * row.cached_weight / total, 2) if total else 0.0,
        total=language.number(total, 3),
    )


def _row(token: WeighedToken, heaviest: float, language: Language, readable: bool) -> WeightRow:
    return WeightRow(
        position=token.position,
        segment=segment_words(token.segment, language),
        state=state_words(token.state, language),
        state_class=token.state,
        id=token.id if readable else None,
        text=visible(token.text) if readable else None,
        weight=_percent(token.weight, language),
        width=round(BAR_WIDTH * token.weight / heaviest, 2) if heaviest else 0.0,
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None


def _percent(weight: float, language: Language) -> str:
    return f"{language.number(100 * weight, 2)}%"


def refusal(field: str, allowed: str, language: Language) -> str:
    """What is wrong with a parameter of the address, and what is allowed there."""
    words = language.gettext("“%(field)s” in the address is not usable. Allowed: %(allowed)s.")
    return words % {"field": field, "allowed": allowed}
