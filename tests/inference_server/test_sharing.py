"""Requests with a common beginning at the same time: computed once, matched only when complete, never mixed up."""

from inference_server.engine import Engine
from tests.inference_server.engine_support import answer_alone, engine, hash_oracle, never_ends, run, sequence, step
from tests.inference_server.oracle_runner import OracleRunner

PROMPT = list(range(100, 156))
"""Three and a half blocks of sixteen."""


def rows(subject: Engine) -> int:
    runner = subject._runner
    assert isinstance(runner, OracleRunner)
    return runner.rows


def test_identical_prompts_at_once_are_computed_once() -> None:
    subject = engine(512, never_ends)
    same = [sequence(PROMPT, 6) for _ in range(4)]
    run(subject, *same)
    assert [list(item.output) for item in same] == [answer_alone(PROMPT, 6, never_ends)] * 4
    assert [item.cached_tokens for item in same] == [0] + [len(PROMPT) - 1] * 3
    assert rows(subject) == len(PROMPT) + 3 + 4 * 5


def test_tails_that_part_inside_a_block_do_not_write_into_each_other() -> None:
    subject = engine(1024, hash_oracle)
    prompts = [[*PROMPT, tail, 7, 7] for tail in (1, 2, 3, 4)]
    asked = [sequence(prompt, 20) for prompt in prompts]
    for item in asked:
        subject.add(item)
    together = 0
    while subject.has_work:
        step(subject)
        subject.scheduler.check()
        together = max(together, sum(item.is_decoding for item in subject.scheduler.running))
    assert together > 1
    assert [list(item.output) for item in asked] == [answer_alone(prompt, 20, hash_oracle) for prompt in prompts]
    assert [item.cached_tokens for item in asked] == [0] + [len(PROMPT)] * 3


def test_a_prompt_can_be_matched_just_as_far_as_it_is_computed() -> None:
    subject = engine(512, never_ends, chunk_tokens=16)
    first, second = sequence(PROMPT, 4), sequence(PROMPT, 4)
    subject.add(first)
    subject.add(second)
    for computed in (16, 32, 48, 56):
        known = subject.scheduler.tree.match(b"", first.prompt).length
        assert known == computed - min(16, computed - first.computed) == first.computed
        step(subject)
        assert first.computed == computed
    run(subject)
    assert second.cached_tokens == len(PROMPT) - 1
    assert first.output == second.output
