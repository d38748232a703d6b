"""Rows of Problems in words: what speaks for a cause, what it cost, and links that keep the filters."""

from datetime import timedelta
from typing import Any

import pytest

from app.cache_outcomes import Outcome
from app.reports.overview import Mark
from app.settings import Backend
from app.web.languages import load_languages
from app.web.operator.evidence import Facts, evidence_of
from app.web.operator.problem_rows import rows_of
from inference_client.inspection import CacheState, Slots
from tests.app.web.operator.values import NOW, filters, problem

LANGUAGES = load_languages()
CACHE = CacheState(
    serving_id="s", slots=Slots(total=1000, free=20, cached=900, live=80), nodes=3, scopes=2, evicted_tokens=4321,
    waiting=0, running=1, records=9,
)  # fmt: skip
FACTS = Facts(
    marks=(
        Mark("server_start", NOW - timedelta(hours=3), "west", "a", None),
        Mark("server_start", NOW - timedelta(minutes=78), "east", "b", None),
        Mark("app_start", NOW - timedelta(minutes=30), None, None, None),
        Mark("server_start", NOW - timedelta(minutes=1), "east", "c", None),
    ),
    backends={"east": Backend(name="east", base_url="http://east", cache_lifetime_s=300)},
    caches={"east": CACHE},
)
DATE = {"diverged_where": "system", "diverged_offset": 312, "diverged_kind": "date"}


@pytest.mark.parametrize(
    ("outcome", "changes", "words"),
    [
        (Outcome.EVICTED, {}, ("pool 98% full now, 4,321 tokens given up so far",)),
        (Outcome.EVICTED, {"backend": "west"}, ()),
        (Outcome.RESTARTED, {}, ("serving id changed Nov 30 11:42",)),
        (Outcome.RESTARTED, {"backend": "north"}, ()),
        (Outcome.OTHER_REPLICA, {}, ("serving id changed 2 times, last Nov 30 11:42",)),
        (Outcome.EXPIRED, {}, ("keeps a prompt for 300 s",)),
        (Outcome.VOLATILE_SYSTEM_PROMPT, DATE, ("system prompt, character 313, looks like a date",)),
        (Outcome.PREFIX_CHANGED, {"diverged_where": "messages.2"}, ("message 3",)),
        (Outcome.PREFIX_CHANGED, {"diverged_where": "tools"}, ("tools",)),
        (Outcome.RETOKENIZED, {}, ()),
    ],
)
def test_evidence(outcome: Outcome, changes: dict[str, Any], words: tuple[str, ...]) -> None:
    assert evidence_of(problem(outcome, **changes), FACTS, "Asia/Seoul", LANGUAGES["en"]) == words


def test_row_names_cause_cost_and_what_to_do() -> None:
    (row,) = rows_of([problem(is_new=True, ongoing=True)], FACTS, {"east": 1000.0}, filters(user="u"), LANGUAGES["en"])
    assert (row.words.name, row.backend, row.model, row.is_new, row.ongoing) == ("evicted", "east", "qwen", True, True)
    assert (row.first_seen, row.last_seen) == ("Nov 30 08:00", "Nov 30 12:55")
    assert (row.turns, row.reach, row.lost, row.seconds) == ("4", ("2 conversations", "1 user"), "3,000", "about 3.0 s")
    assert "--kv-memory" in row.words.advice
    assert row.worst_turn == "/operator/turns/00000000-0000-0000-0000-000000000001?range=24h&user=u"
    assert row.all_turns == "/operator/turns?range=24h&user=u&outcome=evicted&backend=east&model=qwen"


def test_row_without_speed_or_backend() -> None:
    (row,) = rows_of([problem(backend=None)], FACTS, {}, filters(), LANGUAGES["ko"])
    assert (row.backend, row.seconds) == ("알 수 없음", None)
    assert "backend=" not in row.all_turns
