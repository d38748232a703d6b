"""What is cut when a conversation outgrows its window, and by how much."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.history import Exchange, Window, cut, estimate, estimate_message, sent_part, sizes, surely_fits
from app.prompt import PathMessage


def exchange(number: int, end: int | None, start: int | None = None, guess: int = 10) -> Exchange:
    return Exchange(UUID(int=number), guess, end, UUID(int=start) if start else None)


def test_window_keeps_room_for_the_answer_but_never_all_of_itself() -> None:
    usual = Window(8192, 1024)
    assert (usual.reserve, usual.limit, usual.half) == (1024, 7168, 4096)
    small = Window(1000, 1024)
    assert (small.reserve, small.limit, small.half) == (500, 500, 500)


def test_estimate_is_rather_too_high() -> None:
    assert estimate("the quick brown fox") >= 4
    assert estimate("2026-11-29 12:34") >= 16
    assert estimate("한국어 문장입니다") >= 24
    assert estimate("") > 0
    assert estimate_message(PathMessage("user", "Hi", "note")) > estimate_message(PathMessage("user", "Hi"))


def test_an_estimate_near_the_limit_is_not_believed() -> None:
    window = Window(1200, 200)
    assert surely_fits(900, window)
    assert not surely_fits(901, window)


def test_sizes_are_differences_of_recorded_ends() -> None:
    assert sizes([exchange(1, 100), exchange(2, 250), exchange(3, 700)]) == [10, 150, 450]


def test_sizes_of_what_was_not_reported_are_estimates() -> None:
    parts = [exchange(1, 100), exchange(2, None, guess=30), exchange(3, 250), exchange(4, None)]
    assert sizes(parts) == [10, 30, 10, 10]


def test_estimates_are_lowered_by_what_recorded_sizes_tell_of_them() -> None:
    parts = [exchange(1, 90, guess=200), exchange(2, 190, guess=200), exchange(3, None, guess=300)]
    assert sizes(parts) == [100, 100, 150]


def test_sizes_are_not_taken_across_two_histories() -> None:
    """The turn behind a cut began elsewhere, so its end says nothing of the one before."""
    parts = [exchange(1, 900), exchange(2, 300, start=1), exchange(3, 350, start=1)]
    assert sizes(parts) == [10, 10, 50]


def test_cut_leaves_the_longest_part_that_takes_half_the_window() -> None:
    parts = [exchange(number, 100 * number, guess=100) for number in range(1, 10)]
    window = Window(1000, 200)
    assert cut(parts, 950, window) == 5
    assert 950 - 500 <= window.half < 950 - 400


def test_cut_leaves_the_new_message_alone_where_no_half_is_small_enough() -> None:
    parts = [exchange(1, 100), exchange(2, 200)]
    assert cut(parts, 5000, Window(1000, 200)) == 2
    assert cut([], 5000, Window(1000, 200)) == 0


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(1000, 4000), st.integers(1, 900))
def test_a_cut_is_one_big_step_and_lasts_for_many_turns(added: list[int], tokens: int, answer: int) -> None:
    """At least half the window is free again, or nothing but the newest message is left."""
    window, parts, end = Window(tokens, answer), [], 0
    for number, size in enumerate(added, 1):
        end += size
        parts.append(exchange(number, end, guess=size))
    place = cut(parts, end, window)
    assert 1 <= place <= len(parts)
    rest = sum(added[place:])
    assert rest <= window.half or place == len(parts)
    assert place == 1 or sum(added[place - 1 :]) > window.half


def test_sent_part_begins_with_the_message_and_is_all_without_one() -> None:
    path = [Row(1), Row(2), Row(3)]
    assert sent_part(path, UUID(int=2)) == path[1:]
    assert sent_part(path, None) == path
    assert sent_part(path, UUID(int=9)) == path


class Row:
    def __init__(self, number: int) -> None:
        self.id = UUID(int=number)


@pytest.mark.parametrize("place", [0, 1])
def test_sizes_never_are_negative(place: int) -> None:
    ends = [[500, 100], [None, 5]][place]
    assert all(size >= 0 for size in sizes([exchange(1, ends[0]), exchange(2, ends[1])]))
