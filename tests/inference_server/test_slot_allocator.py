import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_server.slot_allocator import SlotAllocator

POOL = 24


def test_a_run_comes_from_the_longest_free_run() -> None:
    allocator = SlotAllocator(10)
    assert allocator.allocate_run(4) == 0
    assert allocator.allocate_run(4) == 4
    allocator.free(range(4))
    assert allocator.allocate_run(3) == 0
    assert allocator.allocate_run(3) is None
    assert allocator.num_free == 3


def test_a_range_is_taken_whole_or_not_at_all() -> None:
    allocator = SlotAllocator(10)
    assert allocator.allocate_range(3, 4)
    assert not allocator.allocate_range(6, 2)
    assert not allocator.allocate_range(8, 3)
    assert allocator.free_slots() == [0, 1, 2, 7, 8, 9]


def test_scattered_slots_are_refused_when_too_few_are_free() -> None:
    allocator = SlotAllocator(4)
    assert allocator.allocate(5) is None
    assert allocator.allocate(4) == [0, 1, 2, 3]
    assert allocator.allocate(0) == []
    assert allocator.allocate_run(1) is None


@pytest.mark.parametrize("slots", [[2], [1, 2], [2, 3], [0, 1, 2, 3, 4], [-1], [4, 5]])
def test_freeing_what_is_not_taken_is_a_fault(slots: list[int]) -> None:
    allocator = SlotAllocator(5)
    allocator.allocate_range(3, 1)
    with pytest.raises(AssertionError):
        allocator.free(slots)


def test_an_empty_pool_has_nothing_to_give() -> None:
    assert SlotAllocator(0).allocate_run(1) is None


@given(st.lists(st.tuples(st.sampled_from(["run", "scattered", "range", "free"]), st.integers(0, POOL - 1))))
def test_the_allocator_behaves_as_a_set_of_free_slots(operations: list[tuple[str, int]]) -> None:
    allocator, free, taken = SlotAllocator(POOL), set(range(POOL)), list[list[int]]()
    for operation, number in operations:
        if operation == "free" and taken:
            slots = taken.pop(number % len(taken))
            allocator.free(slots)
            free.update(slots)
            got = None
        elif operation == "run":
            start = allocator.allocate_run(number + 1)
            got = None if start is None else list(range(start, start + number + 1))
            longest = max((len(run) for run in _runs(free)), default=0)
            assert (got is None) == (longest < number + 1)
        elif operation == "range":
            count = number % 5 + 1
            wanted = set(range(number, number + count))
            assert allocator.allocate_range(number, count) == wanted.issubset(free)
            got = sorted(wanted) if wanted.issubset(free) else None
        else:
            got = allocator.allocate(number)
            assert (got is None) == (number > len(free))
        if got:
            assert set(got) <= free
            free -= set(got)
            taken.append(got)
        assert allocator.free_slots() == sorted(free)
        assert allocator.num_free == len(free)


def _runs(slots: set[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for slot in sorted(slots):
        if runs and runs[-1][-1] == slot - 1:
            runs[-1].append(slot)
        else:
            runs.append([slot])
    return runs
