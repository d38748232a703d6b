"""The outcome of a turn from its evidence alone: every word once, and which comes first where two hold."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.accounting import ExpectedRead, Reported
from app.cache_outcomes import FAULTS, ON_PURPOSE, Evidence, Group, Outcome, is_law_mismatch, name_outcome

MISSED = Evidence(
    live=False,
    sent=True,
    reported=Reported(input_tokens=90, cache_creation_input_tokens=0, cache_read_input_tokens=10),
    expected=ExpectedRead(60, minimum=False),
    has_base=True,
)
CAUSES = {
    Outcome.MODEL_SWITCHED: {"known_cause": Outcome.MODEL_SWITCHED},
    Outcome.SYSTEM_PROMPT_EDITED: {"known_cause": Outcome.SYSTEM_PROMPT_EDITED},
    Outcome.HISTORY_TRIMMED: {"known_cause": Outcome.HISTORY_TRIMMED},
    Outcome.CACHING_OFF: {"server_outcome": "disabled"},
    Outcome.OTHER_REPLICA: {"served_by": Outcome.OTHER_REPLICA},
    Outcome.RESTARTED: {"served_by": Outcome.RESTARTED},
    Outcome.VOLATILE_SYSTEM_PROMPT: {"known_cause": Outcome.VOLATILE_SYSTEM_PROMPT},
    Outcome.TEMPLATE_REWROTE: {"server_outcome": "template_rewrote"},
    Outcome.RETOKENIZED: {"server_outcome": "retokenized"},
    Outcome.PREFIX_CHANGED: {"server_outcome": "changed"},
    Outcome.STILL_COMPUTING: {"server_outcome": "still_computing"},
    Outcome.EVICTED: {"server_outcome": "evicted"},
    Outcome.EXPIRED: {"outlived": True},
    Outcome.BLOCK_ROUNDING: {"granularity": 64},
}


@pytest.mark.parametrize("outcome", CAUSES)
def test_each_cause_names_a_shortfall(outcome: Outcome) -> None:
    assert name_outcome(replace(MISSED, **CAUSES[outcome])) is outcome


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, Outcome.UNKNOWN),
        ({"live": True}, Outcome.PENDING),
        ({"sent": False}, Outcome.NOT_SENT),
        ({"reported": Reported()}, Outcome.NOT_REPORTED),
        ({"reported": Reported(90, 0, None, 5)}, Outcome.NOT_REPORTED),
        ({"has_base": False, "expected": ExpectedRead(None, minimum=False)}, Outcome.FIRST_TURN),
        ({"reported": Reported(40, 0, 60)}, Outcome.HIT),
        ({"reported": Reported(40, 0, 60), "server_outcome": "evicted"}, Outcome.HIT),
        ({"server_outcome": "cold"}, Outcome.UNKNOWN),
        ({"server_outcome": "hit"}, Outcome.UNKNOWN),
        ({"server_outcome": "a word that nobody knows"}, Outcome.UNKNOWN),
        ({"server_outcome": "stop_split"}, Outcome.RETOKENIZED),
        ({"known_cause": Outcome.PREFIX_CHANGED}, Outcome.PREFIX_CHANGED),
        ({"granularity": None}, Outcome.CACHING_OFF),
        ({"granularity": 50}, Outcome.UNKNOWN),
        ({"granularity": 51}, Outcome.BLOCK_ROUNDING),
        # Of a base turn that reported nothing, nothing can be expected and nothing be rounded.
        ({"expected": ExpectedRead(None, minimum=False), "granularity": 64}, Outcome.UNKNOWN),
        ({"reported": Reported(0, 0, 100), "expected": ExpectedRead(100, minimum=False)}, Outcome.HIT),
    ],
)
def test_what_else_there_is(changes: dict[str, object], outcome: Outcome) -> None:
    assert name_outcome(replace(MISSED, **changes)) is outcome


def test_nothing_reported_is_not_nothing_cached() -> None:
    zero = replace(MISSED, reported=Reported(100, 0, 0))
    assert (zero.shortfall, name_outcome(zero)) == (60, Outcome.UNKNOWN)
    assert replace(MISSED, reported=Reported(100, 0, None)).shortfall is None


@given(st.permutations(list(CAUSES)).map(lambda order: order[:4]))
def test_the_first_in_the_order_of_the_groups_holds(causes: list[Outcome]) -> None:
    changes: dict[str, object] = {}
    told = []
    for cause in causes:  # Two causes that are told by the same thing cannot hold at once.
        if not changes.keys() & CAUSES[cause].keys():
            changes |= CAUSES[cause]
            told.append(cause)
    assert name_outcome(replace(MISSED, **changes)) is min(told, key=list(Outcome).index)


def test_every_outcome_has_a_group_and_faults_are_of_three_groups() -> None:
    assert {outcome.group for outcome in FAULTS} == {Group.DEPLOYMENT, Group.REQUEST, Group.CAPACITY}
    assert {outcome.group for outcome in Outcome} == set(Group)
    assert not FAULTS & ON_PURPOSE


@pytest.mark.parametrize(
    ("changes", "mismatch"),
    [
        ({"server_expected": 60}, False),
        ({"server_expected": 59}, True),
        ({"server_expected": 61}, True),
        ({"server_expected": None}, None),
        ({"server_expected": 60, "expected": ExpectedRead(None, minimum=False)}, None),
        ({"server_expected": 99, "expected": ExpectedRead(120, minimum=False)}, False),
        ({"server_expected": 70, "expected": ExpectedRead(60, minimum=True)}, False),
        ({"server_expected": 50, "expected": ExpectedRead(60, minimum=True)}, True),
        ({"server_expected": 50, "server_outcome": "stop_split"}, None),
        ({"server_expected": 50, "server_outcome": "evicted"}, True),
    ],
)
def test_another_promise_of_the_server_is_a_mismatch(changes: dict[str, object], mismatch: bool | None) -> None:
    assert is_law_mismatch(replace(MISSED, **changes)) is mismatch
