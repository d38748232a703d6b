import pytest

from app.accounting import ExpectedRead, Reported, expected_read, shortfall


def reported(prompt: int, cached: int, output: int | None) -> Reported:
    return Reported(prompt - cached, 0, cached, output)


def test_figures_are_sums_of_the_wire_fields() -> None:
    usage = Reported(8, 3, 19, 4)
    assert (usage.prompt_tokens, usage.computed_tokens, usage.cached_tokens) == (30, 11, 19)
    assert usage.kv_tokens_at_end == 33


@pytest.mark.parametrize("missing", range(4))
def test_figures_are_unknown_where_a_part_is_not_reported(missing: int) -> None:
    values: list[int | None] = [8, 0, 19, 4]
    values[missing] = None
    usage = Reported(*values)
    assert (usage.prompt_tokens is None) == (missing < 3)
    assert (usage.computed_tokens is None) == (missing < 2)
    assert (usage.cached_tokens is None) == (missing == 2)
    assert usage.kv_tokens_at_end is None


def test_zero_is_a_number() -> None:
    assert Reported(0, 0, 0, 0).prompt_tokens == 0


def test_expected_read_is_prompt_and_output_but_the_last_token() -> None:
    assert expected_read(reported(27, 19, 4), stop_reason="end_turn") == ExpectedRead(30, minimum=False)
    assert expected_read(reported(54, 46, 8), stop_reason="max_tokens") == ExpectedRead(61, minimum=False)


def test_expected_read_is_a_minimum_where_output_is_unknown_or_cut_by_a_stop_string() -> None:
    assert expected_read(reported(27, 19, None)) == ExpectedRead(27, minimum=True)
    assert expected_read(reported(27, 19, 4), stop_reason="stop_sequence") == ExpectedRead(27, minimum=True)


def test_expected_read_is_unknown_without_a_base_or_its_prompt() -> None:
    assert expected_read(None) == ExpectedRead(None, minimum=False)
    assert expected_read(Reported(8, None, 19, 4)) == ExpectedRead(None, minimum=False)


def test_shortfall_is_what_was_computed_again() -> None:
    assert shortfall(30, reported(40, 30, 7)) == 0
    assert shortfall(30, reported(40, 12, 7)) == 18
    assert shortfall(30, reported(40, 33, 7)) == 0


def test_shortfall_never_counts_the_token_that_is_always_computed() -> None:
    assert shortfall(40, reported(40, 39, 7)) == 0


def test_shortfall_is_unknown_where_a_part_is() -> None:
    assert shortfall(None, reported(40, 30, 7)) is None
    assert shortfall(30, Reported(10, 0, None, 7)) is None
    assert shortfall(30, Reported(None, 0, 30, 7)) is None
