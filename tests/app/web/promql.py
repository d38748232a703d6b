"""As much of PromQL as it takes to see which metrics an expression reads, through which functions, by which labels."""

import re
from dataclasses import dataclass
from itertools import pairwise

AGGREGATIONS = frozenset({"sum", "min", "max", "avg", "count", "topk"})
WORDS = frozenset({"unless", "and", "or", "offset", "bool"})
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[a-zA-Z_:][a-zA-Z0-9_:]*|\$\w+|[0-9][0-9.]*[a-z]*|[=!<>]=|[=!]~|\S)')


@dataclass(frozen=True)
class Frame:
    """A function or an aggregation around something; `by` is None where it keeps all labels or none."""

    name: str
    by: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Selector:
    """`around` from the outside to the inside; `matched` are the labels between braces."""

    metric: str
    matched: tuple[str, ...]
    around: tuple[Frame, ...]

    @property
    def functions(self) -> set[str]:
        return {frame.name for frame in self.around}

    @property
    def labels(self) -> set[str]:
        """All that the expression asks of the metric's labels."""
        return {*self.matched, *(label for frame in self.around for label in frame.by or ())}


def selectors_of(expression: str) -> list[Selector]:
    tokens = _TOKEN.findall(expression)
    found: list[Selector] = []
    frames: list[Frame] = []
    place = 0
    while place < len(tokens):
        token, place = tokens[place], place + 1
        if token == "(":
            frames.append(Frame(""))
        elif token == ")":
            frames.pop()
        elif token == "[":
            place = tokens.index("]", place) + 1
        elif re.fullmatch(r"[a-zA-Z_:][\w:]*", token) and token not in WORDS:
            if token in AGGREGATIONS:
                by, place = _by(tokens, place)
                frames.append(Frame(token, by))
                assert tokens[place] == "(", expression
                place += 1
            elif tokens[place : place + 1] == ["("]:
                frames.append(Frame(token))
                place += 1
            else:
                matched, place = _matchers(tokens, place)
                found.append(Selector(token, matched, tuple(frames)))
    assert frames == [], expression
    assert found, expression
    return found


def _by(tokens: list[str], place: int) -> tuple[tuple[str, ...], int]:
    if tokens[place] != "by":
        return (), place
    end = tokens.index(")", place)
    return tuple(token for token in tokens[place + 2 : end] if token != ","), end + 1


def _matchers(tokens: list[str], place: int) -> tuple[tuple[str, ...], int]:
    if tokens[place : place + 1] != ["{"]:
        return (), place
    end = tokens.index("}", place)
    inside = tokens[place + 1 : end]
    return tuple(name for name, operator in pairwise(inside) if operator[0] in "=!"), end + 1
