from hypothesis import given, settings
from hypothesis import strategies as st

from inference_server.engine import Admitted, Engine, Queued
from inference_server.sequence import Status, StopReason
from tests.inference_server.engine_support import (
    END,
    answer_alone,
    endings,
    engine,
    hash_oracle,
    never_ends,
    run,
    sequence,
    step,
)

PROMPT = list(range(100, 120))


def test_a_follow_up_reads_all_that_the_first_request_held() -> None:
    subject = engine(256, never_ends)
    first = sequence(PROMPT, 5)
    run(subject, first)
    follow_up = sequence([*PROMPT, *first.output, 50, 51], 3)
    run(subject, follow_up)
    assert follow_up.cached_tokens == len(PROMPT) + 5 - 1


def test_an_unchanged_prompt_reads_all_but_one_token() -> None:
    subject = engine(256, never_ends)
    first, again = sequence(PROMPT, 4), sequence(PROMPT, 4)
    run(subject, first)
    run(subject, again)
    assert again.cached_tokens == len(PROMPT) - 1
    assert again.output == first.output


def test_the_end_token_is_not_in_the_cache() -> None:
    subject = engine(256, lambda prefix: END if len(prefix) >= 23 else 1)
    first = sequence(PROMPT, 50)
    run(subject, first)
    assert first.output[-1] == END
    follow_up = sequence([*PROMPT, *first.output, 50], 1)
    run(subject, follow_up)
    assert follow_up.cached_tokens == len(PROMPT) + len(first.output) - 1


def test_max_tokens_zero_warms_the_cache() -> None:
    subject = engine(256)
    warm = sequence(PROMPT, 0)
    assert endings(run(subject, warm))[warm.id].reason is StopReason.MAX_TOKENS
    assert len(warm.output) == 0
    follow_up = sequence([*PROMPT, 50], 1)
    run(subject, follow_up)
    assert follow_up.cached_tokens == len(PROMPT)


def test_a_running_answer_can_be_followed_before_it_ends() -> None:
    subject = engine(256, never_ends)
    first = sequence(PROMPT, 100)
    subject.add(first)
    for _ in range(12):
        step(subject)
    computed, said = first.computed, list(first.output)
    follow_up = sequence([*PROMPT, *said, 50, 51], 1)
    subject.add(follow_up)
    step(subject)
    assert follow_up.cached_tokens == computed == len(PROMPT) + len(said) - 1


def test_a_stopped_request_leaves_its_tokens_and_nothing_else() -> None:
    subject = engine(256, never_ends)
    first = sequence(PROMPT, 100)
    subject.add(first)
    for _ in range(10):
        step(subject)
    subject.abort(first.id)
    follow_up = sequence([*PROMPT, *first.output, 50], 1)
    events = run(subject, follow_up)
    assert endings(events)[first.id].reason is StopReason.ABORTED
    assert follow_up.cached_tokens == len(PROMPT) + len(first.output) - 1


def test_a_waiting_request_can_be_stopped() -> None:
    subject = engine(256, never_ends, max_running=1)
    running, waiting = sequence(PROMPT, 20), sequence([1, 2, 3], 5)
    subject.add(running)
    subject.add(waiting)
    step(subject)
    assert waiting.status is Status.WAITING
    subject.abort(waiting.id)
    events = run(subject)
    assert endings(events)[waiting.id].reason is StopReason.ABORTED
    assert endings(events)[running.id].reason is StopReason.MAX_TOKENS
    assert waiting.cached_tokens is None


def test_those_who_wait_are_told_their_place_when_it_changes() -> None:
    subject = engine(256, never_ends, max_running=1)
    first, second, third = (sequence([n, 1, 2], 3) for n in (50, 60, 70))
    for item in (first, second, third):
        subject.add(item)
    places = [(event.id, event.position) for event in run(subject) if isinstance(event, Queued)]
    assert places == [(second.id, 1), (third.id, 2), (third.id, 1)]


def test_a_chunk_beside_others_is_sized_by_what_is_before_it() -> None:
    subject = engine(512, never_ends, chunk_tokens=64)
    subject.scheduler._mixed_chunk_tokens = lambda context: 12 - context // 4
    subject.add(sequence([1, 2], 60))
    step(subject)
    arriving = sequence(range(100, 200), 1)
    subject.add(arriving)
    computed = []
    for _ in range(4):
        step(subject)
        computed.append(arriving.computed)
    assert computed == [12, 21, 28, 33]
    run(subject)


def test_an_abort_of_an_ended_request_changes_nothing() -> None:
    subject = engine(64)
    first = sequence([1, 2, 3], 2)
    run(subject, first)
    subject.abort(first.id)
    assert step(subject) == []


def test_prompts_are_computed_in_chunks_while_others_decode() -> None:
    subject = engine(512, never_ends, chunk_tokens=16, mixed_chunk_tokens=4)
    talking, arriving = sequence([1, 2], 40), sequence(range(100, 140), 1)
    subject.add(talking)
    step(subject)
    subject.add(arriving)
    said = len(talking.output)
    for number in range(1, 10):
        step(subject)
        assert len(talking.output) == said + number
        assert arriving.computed == 4 * number
    run(subject)


def test_a_prefix_is_copied_only_when_it_cannot_grow_where_it_is() -> None:
    subject = engine(200, never_ends)
    first = sequence(PROMPT, 4)
    run(subject, first)
    follow_up = sequence([*PROMPT, *first.output, 50], 4)
    run(subject, follow_up)
    assert _copies(subject) == 0
    subject.add(sequence([*PROMPT, 60], 4))  # Both grow behind the same tokens at once, so one has to move.
    subject.add(sequence([*PROMPT, 70], 4))
    run(subject)
    assert _copies(subject) > 0


def test_a_full_pool_gathers_instead_of_copying() -> None:
    subject = engine(40, never_ends)
    first, other = sequence(range(100, 120), 2), sequence(range(200, 215), 2)
    run(subject, first)
    run(subject, other)
    follow_up = sequence([*range(100, 120), 60, 61, 62], 4)
    run(subject, follow_up)
    assert follow_up.cached_tokens == 20
    assert list(follow_up.output) == answer_alone([*range(100, 120), 60, 61, 62], 4, never_ends)


def test_a_conversation_loses_its_tail_not_its_front() -> None:
    subject = engine(64, never_ends)
    first = sequence(range(100, 148), 1)
    run(subject, first)
    run(subject, sequence(range(200, 224), 1))
    follow_up = sequence([*range(100, 148), 50], 1)
    run(subject, follow_up)
    assert follow_up.cached_tokens == 64 - 24


def test_the_youngest_makes_room_and_is_answered_all_the_same() -> None:
    subject = engine(64, never_ends, max_running=4, reserved_output=4)
    old, young = sequence(range(100, 120), 30), sequence(range(200, 220), 30)
    events = run(subject, old, young)
    assert list(old.output) == answer_alone(range(100, 120), 30, never_ends)
    assert list(young.output) == answer_alone(range(200, 220), 30, never_ends)
    assert subject.scheduler.num_recomputed > 0
    admitted = [event for event in events if isinstance(event, Admitted)]
    assert [(event.id, event.cached_tokens) for event in admitted] == [(old.id, 0), (young.id, 0)]


def test_a_failing_request_ends_alone() -> None:
    subject = engine(256, never_ends, fails=lambda prefix: prefix[0] == 7 and len(prefix) == 8)
    fine, broken = sequence([1, 2, 3], 20), sequence([7, 7, 7], 20)
    ended = endings(run(subject, fine, broken))
    assert ended[broken.id].reason is StopReason.FAILED
    assert ended[fine.id].reason is StopReason.MAX_TOKENS
    assert list(fine.output) == answer_alone([1, 2, 3], 20, never_ends)
    again = sequence([7, 7, 7, *broken.output], 1)
    run(subject, again)  # What was computed before the failure is whole.
    assert again.cached_tokens == 2 + len(broken.output)


def _copies(subject: Engine) -> int:
    return subject._runner.copies  # type: ignore[attr-defined]


REQUEST = st.tuples(
    st.integers(0, 2),  # which of three conversations
    st.integers(1, 20),  # how much of it
    st.integers(0, 12),  # max_tokens
    st.one_of(st.none(), st.integers(0, 12)),  # abort after so many steps
    st.integers(0, 4),  # steps before it is sent
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(REQUEST, min_size=1, max_size=50),
    st.sampled_from([32, 40, 64, 512]),
    st.integers(1, 4),
    st.integers(1, 12),
)
def test_any_interleaving_gives_every_request_its_own_answer(
    requests: list[tuple[int, int, int, int | None, int]], num_slots: int, max_running: int, reserved_output: int
) -> None:
    subject = engine(num_slots, hash_oracle, max_running=max_running, reserved_output=reserved_output)
    sent = []
    aborts: dict[int, list[str]] = {}
    number = 0
    events = []
    for conversation, length, max_tokens, abort_after, pause in requests:
        prompt = [conversation + 20, *range(100, 100 + length)]
        item = sequence(prompt, max_tokens, scope=b"%d" % (conversation % 2))
        subject.add(item)
        sent.append((item, prompt, max_tokens, abort_after))
        if abort_after is not None:
            aborts.setdefault(number + abort_after, []).append(item.id)
        for _ in range(pause):
            _step(subject, number, aborts, events)
            number += 1
    while subject.has_work:
        assert number < 5000, "a request starves"
        _step(subject, number, aborts, events)
        number += 1
    ended = endings(events)
    for item, prompt, max_tokens, abort_after in sent:
        right = answer_alone(prompt, max_tokens, hash_oracle)
        if ended[item.id].reason is StopReason.ABORTED:
            assert abort_after is not None
            assert list(item.output) == right[: len(item.output)]
        else:
            assert list(item.output) == right
        assert item.cached_tokens is None or 0 <= item.cached_tokens < len(prompt)
    assert subject.scheduler.num_live == 0


def _step(subject: Engine, number: int, aborts: dict[int, list[str]], events: list[object]) -> None:
    for request_id in aborts.pop(number, ()):
        subject.abort(request_id)
    events += step(subject)
    subject.scheduler.check()
