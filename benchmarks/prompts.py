"""Plain English of any length, made from a seed: the same seed is the same text, on every machine.

Knows no tokenizer. The bundled model's needs about TOKENS_PER_WORD for such text; another model may need more or fewer.
"""

import random

TOKENS_PER_WORD = 1.083
"""Full stops included."""
MARKER_TOKENS = 8
"""What a ChatML template adds to a question and to the opening of its answer."""

_WHO = ("My neighbor", "The old teacher", "A young sailor", "The baker", "Our cousin", "The doctor", "Her brother")
_DID = ("found", "painted", "repaired", "carried", "described", "sold", "remembered", "borrowed", "measured")
_WHAT = ("a wooden boat", "the kitchen table", "a letter", "an apple tree", "the garden wall", "a blue bicycle")
_WHERE = ("near the river", "behind the station", "in the market", "on the hill", "under the bridge", "by the school")
_WHEN = ("last summer", "before the rain", "in the early morning", "after lunch", "on a cold evening", "two days ago")
_ASK = ("Tell me what may happen next.", "Explain why that is useful.", "Describe how it felt.", "Write a short story.")


def question(seed: str, tokens: int) -> str:
    """A question whose message has about so many tokens, its markers included."""
    chance = random.Random(seed)
    ask = chance.choice(_ASK)
    words = round((tokens - MARKER_TOKENS) / TOKENS_PER_WORD) - len(ask.split())
    return f"{_story(chance, words)} {ask}"


def _story(chance: random.Random, words: int) -> str:
    """At least one sentence; the last one ends within the words as well as it can."""
    sentences: list[str] = []
    while (missing := words - sum(len(sentence.split()) for sentence in sentences)) > 0:
        parts = [chance.choice(choices) for choices in (_WHO, _DID, _WHAT, _WHERE, _WHEN)]
        sentences.append(" ".join(" ".join(parts).split()[: max(missing, 2)]) + ".")
    return " ".join(sentences)
