"""What is lost when the pool is full, and what never is."""

import pytest

from tests.inference_server.engine_support import answer_alone, engine, never_ends, run, sequence

OLD, RECENT, NEW = range(100, 124), range(200, 224), range(300, 332)


def test_the_least_recently_used_conversation_loses_first() -> None:
    subject = engine(64, never_ends)
    run(subject, sequence(RECENT, 1), sequence(OLD, 1))
    run(subject, sequence([*RECENT, 50], 1))
    run(subject, sequence(NEW, 1))
    tree = subject.scheduler.tree
    left = {name: tree.match(b"", sequence(name, 1).prompt).length for name in (OLD, RECENT, NEW)}
    assert left == {OLD: 64 - 25 - 32, RECENT: 24, NEW: 32}
    # Nothing counts as cached that no prompt can reach any more.
    assert tree.num_resident == sum(left.values()) + 1
    follow_up = sequence([*RECENT, 50, 51], 1)
    run(subject, follow_up)
    assert follow_up.cached_tokens == 25


def test_a_prompt_that_was_evicted_is_a_miss_and_is_answered_all_the_same() -> None:
    subject = engine(32, never_ends)
    first, again = sequence(range(100, 130), 2), sequence(range(100, 130), 2)
    run(subject, first, sequence(NEW, 1), again)
    assert again.cached_tokens == 0
    assert list(again.output) == list(first.output) == answer_alone(range(100, 130), 2, never_ends)


@pytest.mark.parametrize("is_first", [True, False])
def test_what_a_request_has_found_is_not_given_to_one_that_comes_with_it(is_first: bool) -> None:
    subject = engine(48, never_ends, reserved_output=4)
    run(subject, sequence(OLD, 1), sequence(RECENT, 1))
    prompt = [*OLD, 60, 61]
    follow_up, rival = sequence(prompt, 8), sequence(range(400, 430), 8)
    run(subject, *((follow_up, rival) if is_first else (rival, follow_up)))
    assert list(follow_up.output) == answer_alone(prompt, 8, never_ends)
    assert list(rival.output) == answer_alone(range(400, 430), 8, never_ends)
    assert (follow_up.cached_tokens == len(OLD)) is is_first


def test_a_title_asked_behind_the_conversation_costs_the_next_turn_nothing() -> None:
    """The pool holds one conversation and a little more; the title's own tokens are what is given up."""
    reads = []
    for has_title in (False, True):
        subject = engine(64, never_ends)
        first = sequence(range(100, 140), 6)
        run(subject, first)
        if has_title:
            run(subject, sequence([*first.prompt, *first.output, 50, 51, 52], 5))
        follow_up = sequence([*first.prompt, *first.output, 60, 61, 62], 10)
        run(subject, follow_up)
        reads.append(follow_up.cached_tokens)
    assert subject.scheduler.num_evicted > 0
    assert reads == [45, 46]  # One more with the title, which had to compute the answer's last token.
