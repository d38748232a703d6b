"""The sampler against the plain definition of temperature, top_k, top_p and inverse CDF."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from inference_server.model.errors import NonFiniteLogits
from inference_server.model.sampler import HEAD_TOKENS, Sampler
from inference_server.model_runner import SamplingDraw

CPU = torch.device("cpu")
ALMOST_ONE = 0.999999
VOCABULARY = 3 * HEAD_TOKENS

draws = st.builds(
    SamplingDraw,
    temperature=st.sampled_from([0.0, 1e-320, 0.01, 0.2, 1.0, 5.0]),
    top_p=st.sampled_from([1e-9, 0.1, 0.5, 0.9, 0.999999, 1.0]),
    top_k=st.sampled_from([0, 1, 2, 40, 2 * HEAD_TOKENS, 10**9]),
    uniform=st.sampled_from([0.0, 0.1, 0.5, 0.9, ALMOST_ONE, math.nextafter(1.0, 0.0)]),
)


def _logits(seed: int, spread: float, vocabulary: int = VOCABULARY) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0, spread, (1, vocabulary))).float()


def _sample(logits: Tensor, draw: SamplingDraw, banned: tuple[int, ...] = ()) -> int:
    (token,) = Sampler(logits.shape[1], banned, CPU).sample(logits, [draw])
    return token


def _nucleus(logits: Tensor, draw: SamplingDraw, banned: tuple[int, ...] = ()) -> list[tuple[int, float]]:
    """(id, probability) of the tokens that may be drawn, by definition, the likeliest first."""
    row = logits[0].double().numpy().copy()
    row[list(banned)] = -np.inf
    order = sorted(range(len(row)), key=lambda token: -row[token])
    order = order[: draw.top_k] if draw.top_k else order
    with np.errstate(over="ignore"):
        weights = np.exp((row[order] - row[order[0]]) / draw.temperature)
    probabilities = weights / weights.sum()
    kept = len(order) if draw.top_p == 1.0 else int(np.searchsorted(np.cumsum(probabilities), draw.top_p)) + 1
    return [(order[i], probabilities[i]) for i in range(min(kept, len(order))) if probabilities[i] > 0]


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 50), spread=st.sampled_from([0.01, 1.0, 30.0]), draw=draws)
def test_sampled_token_is_the_one_that_the_definition_names(seed: int, spread: float, draw: SamplingDraw) -> None:
    logits, banned = _logits(seed, spread), (3, 77, 200)
    token = _sample(logits, draw, banned)
    assert token not in banned
    if draw.temperature == 0:
        logits[0, list(banned)] = -torch.inf
        assert token == int(logits.argmax())
        return
    nucleus = _nucleus(logits, draw, banned)
    cumulative = np.cumsum([probability for _, probability in nucleus])
    place = [candidate for candidate, _ in nucleus].index(token)
    target = draw.uniform * cumulative[-1]
    assert (cumulative[place - 1] if place else 0.0) <= target + 1e-9
    assert target < cumulative[place] + 1e-9


@pytest.mark.parametrize("spread", [0.01, 3.0])
def test_lowest_uniform_draws_the_likeliest_token(spread: float) -> None:
    logits = _logits(1, spread)
    assert _sample(logits, SamplingDraw(1.0, 1.0, 0, 0.0)) == int(logits.argmax())


def test_highest_uniform_draws_the_last_token_of_the_nucleus() -> None:
    logits = _logits(1, 3.0)
    draw = SamplingDraw(temperature=1.0, top_p=0.9, top_k=0, uniform=ALMOST_ONE)
    assert _sample(logits, draw) == _nucleus(logits, draw)[-1][0]


def test_uniform_draws_reproduce_the_probabilities() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]])
    expected = torch.softmax(logits[0], 0)
    count = 2000
    drawn = [SamplingDraw(1.0, 1.0, 0, (i + 0.5) / count) for i in range(count)]
    tokens = Sampler(4, (), CPU).sample(logits.expand(count, -1), drawn)
    shares = torch.bincount(torch.tensor(tokens), minlength=4) / count
    assert (shares - expected).abs().max() < 2 / count


def test_top_k_one_is_greedy_at_any_uniform() -> None:
    logits = _logits(2, 1.0)
    for uniform in (0.0, 0.5, ALMOST_ONE):
        assert _sample(logits, SamplingDraw(2.0, 1.0, 1, uniform)) == int(logits.argmax())


def test_token_does_not_depend_on_the_rest_of_the_batch() -> None:
    logits = torch.cat([_logits(seed, 1.0) for seed in range(6)])
    settings_of_rows = [
        SamplingDraw(0.0, 1.0, 0, 0.3),
        SamplingDraw(1.0, 1.0, 0, 0.99),
        SamplingDraw(0.7, 0.9, 5, 0.5),
        SamplingDraw(1.0, 1.0, 300, 0.97),
        SamplingDraw(0.0, 0.5, 3, 0.3),
        SamplingDraw(1.5, 0.95, 0, 0.8),
    ]
    together = Sampler(VOCABULARY, (), CPU).sample(logits, settings_of_rows)
    alone = [_sample(logits[row : row + 1], draw) for row, draw in enumerate(settings_of_rows)]
    assert together == alone


def test_equal_logits_are_drawn_by_id_when_greedy() -> None:
    assert _sample(torch.zeros(1, VOCABULARY), SamplingDraw(0.0, 1.0, 0, 0.9), banned=(0, 1)) == 2


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_numbers_raise_and_name_the_row(value: float, temperature: float) -> None:
    logits = torch.zeros(3, 10)
    logits[1, 4] = value
    with pytest.raises(NonFiniteLogits) as raised:
        Sampler(10, (4,) if math.isnan(value) else (), CPU).sample(logits, [SamplingDraw(temperature, 1.0, 0, 0.5)] * 3)
    assert raised.value.items == (1,)


@pytest.mark.parametrize("banned", [(-1,), (10,), tuple(range(10))])
def test_impossible_bans_are_refused(banned: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="banned"):
        Sampler(10, banned, CPU)
