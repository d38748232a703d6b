"""The doctor at scripted backends, each of which is wrong in a way of its own."""

from collections.abc import Sequence
from functools import partial

import anyio
import pytest

from app.doctor import Finding, Patience
from app.doctor.examination import examine
from app.settings import Backend
from tests.app.houses import until
from tests.processes import free_port
from tests.scripted_backend import (
    COUNT_TOKENS,
    FORGET,
    HEALTH,
    MODELS,
    Gate,
    Reply,
    ScriptedBackend,
    Step,
    answer,
    delta,
    ending,
    error_reply,
    message_delta,
    message_start,
    message_stop,
)

pytestmark = pytest.mark.anyio

QUICK = Patience(reach=10, answer=10)


class Watch:
    """A clock that moves when the test says so, and knows how often it was looked at."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now


async def has_looked(watch: Watch, times: int) -> bool:
    return watch.looks >= times


def usage(computed: int, read: int) -> dict[str, int]:
    return {"input_tokens": computed, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}


async def findings(url: str, patience: Patience = QUICK, **changes: object) -> dict[str, Finding]:
    backend = Backend(**{"name": "one", "base_url": url, **changes})
    return {finding.check: finding for finding in (await examine(backend, patience)).findings}


def script_turns(backend: ScriptedBackend, *turns: Sequence[Step]) -> None:
    for turn in turns:
        backend.script(*turn)


async def test_a_server_that_is_away_is_told_once() -> None:
    found = await findings(f"http://127.0.0.1:{free_port()}")
    assert [(check, finding.state) for check, finding in found.items()] == [("reachable", "fail")]
    assert "correct base_url" in found["reachable"].english


async def test_a_server_that_does_not_answer_in_time(backend: ScriptedBackend, backend_url: str) -> None:
    gate = Gate()
    backend.script(gate, *answer("late"), path=HEALTH)
    found = await findings(backend_url, Patience(reach=0.05))
    gate.open()
    assert found["reachable"].state == "fail"
    assert "No answer within 0.05 s." in found["reachable"].english


@pytest.mark.parametrize(("path", "check"), [(HEALTH, "reachable"), (MODELS, "models")])
async def test_a_refused_key_is_named(backend: ScriptedBackend, backend_url: str, path: str, check: str) -> None:
    backend.script(error_reply(401, "authentication_error"), path=path)
    found = await findings(backend_url)
    assert found[check].state == "fail"
    assert "Set api_key" in found[check].english
    assert backend.questions == []


async def test_a_model_that_is_not_listed(backend: ScriptedBackend, backend_url: str) -> None:
    found = await findings(backend_url, model="other")
    assert found["models"].state == "fail"
    assert "does not list the model other; it lists scripted." in found["models"].english
    backend.models = []
    assert "It lists no model." in (await findings(backend_url))["models"].english
    assert backend.questions == []
    backend.script(error_reply(404, "not_found_error"), path=MODELS)
    assert (await findings(backend_url, model="other", context_window=100))["models"].state == "ok"


async def test_an_answer_that_is_no_stream(backend: ScriptedBackend, backend_url: str) -> None:
    backend.script(Reply(200, b"{}", {"content-type": "application/json"}))
    found = await findings(backend_url)
    assert found["streaming"].state == "fail"
    assert "application/json" in found["streaming"].english
    assert "cache" not in found
    assert "prefill" in found


async def test_a_stream_without_stop_reason(backend: ScriptedBackend, backend_url: str) -> None:
    backend.script(message_start(usage=usage(10, 0)), delta("Part"))
    assert (await findings(backend_url))["streaming"].state == "fail"


@pytest.mark.parametrize(("held_back", "state"), [(True, "fail"), (False, "ok")])
async def test_a_stream_that_is_held_back(
    backend: ScriptedBackend, backend_url: str, held_back: bool, state: str
) -> None:
    gates = [Gate(), Gate()]
    rest = [delta(word) for word in "abcd"]
    steps = [gates[1], *rest] if held_back else [*rest[:2], gates[1], *rest[2:]]
    backend.script(gates[0], message_start(usage=usage(10, 0)), *steps, *ending(output_tokens=5))
    watch, found = Watch(), []

    async def run() -> None:
        served = Backend(name="one", base_url=backend_url, early_message_start=True)
        found.extend((await examine(served, QUICK, watch)).findings)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        # The request, message_start, and the texts that have come: all that is before a gate was read at the old time.
        for gate, looks in zip(gates, (1, 2 if held_back else 4), strict=True):
            await until(partial(has_looked, watch, looks))
            watch.now += 1.0
            gate.open()
    states = {finding.check: finding for finding in found}
    assert states["streaming"].state == state, states["streaming"].english
    assert states["message_start"].state == ("ok" if held_back else "warn")


async def test_usage_that_is_absent_null_or_zero_is_three_things(backend: ScriptedBackend, backend_url: str) -> None:
    nothing = (message_start(), delta("a"), message_delta(), message_stop())
    backend.script(*nothing)
    found = await findings(backend_url)
    assert found["usage"].state == "fail"
    assert "input_tokens absent" in found["usage"].english

    null = {"input_tokens": 10, "cache_read_input_tokens": None}
    script_turns(backend, answer("a", usage=null), answer("b", usage=null))
    found = await findings(backend_url)
    assert found["usage"].state == found["cache"].state == "warn"
    assert "cache_creation_input_tokens absent, cache_read_input_tokens null" in found["usage"].english
    assert "unknown, not 0" in found["usage"].english

    backend.script(*answer("a", usage=usage(10, 0)))
    found = await findings(backend_url)
    assert found["usage"].state == "ok"
    assert "cache_read_input_tokens 0" in found["usage"].english


async def test_usage_that_comes_with_the_end_only(backend: ScriptedBackend, backend_url: str) -> None:
    backend.script(message_start(), delta("a"), *ending(output_tokens=2, usage=usage(10, 0)))
    assert (await findings(backend_url))["usage"].state == "ok"


async def test_a_model_that_says_nothing_cannot_be_asked_twice(backend: ScriptedBackend, backend_url: str) -> None:
    backend.script(message_start(usage=usage(10, 0)), *ending(output_tokens=1))
    assert (await findings(backend_url))["cache"].state == "warn"


async def test_a_cache_that_all_share(backend: ScriptedBackend, backend_url: str) -> None:
    found = await findings(backend_url)  # The scripted cache knows no users.
    assert found["isolation"].state == "fail"
    assert "isolation" not in await findings(backend_url, isolation="none")
    assert "metadata" not in backend.questions[-1].json()
    script_turns(backend, answer("a", usage=usage(10, 0)), answer("b", usage=usage(10, 0)), answer("c", usage={}))
    assert (await findings(backend_url))["isolation"].state == "warn"


async def test_an_answer_that_cannot_be_gone_on_with(backend: ScriptedBackend, backend_url: str) -> None:
    turns = [answer("a", usage=usage(10, 0)), answer("b", usage=usage(5, 10)), answer("3", usage=usage(30, 0))]
    script_turns(backend, *turns, [error_reply(400, "invalid_request_error")])
    found = await findings(backend_url, isolation="none", prefill=True)
    assert found["prefill"].state == "fail"
    assert "Set prefill of this backend to false." in found["prefill"].english
    assert [message["role"] for message in backend.questions[-1].json()["messages"]] == ["user", "assistant"]


async def test_typed_markers_that_are_taken_for_real_ones(backend: ScriptedBackend, backend_url: str) -> None:
    found = await findings(backend_url)  # Every word is a token there, so that no marker has several.
    assert found["markers"].state == "warn"
    assert "<|im_end|>" in found["markers"].english
    for tokens in (5, *[5 + 4 * 3] * 9):
        backend.script(Reply(200, b'{"input_tokens": %d}' % tokens), path=COUNT_TOKENS)
    assert (await findings(backend_url))["markers"].state == "ok"
    backend.script(error_reply(404, "not_found_error"), path=COUNT_TOKENS)
    assert "no count_tokens" in (await findings(backend_url))["markers"].english


async def test_what_only_the_bundled_server_has(backend: ScriptedBackend, backend_url: str) -> None:
    found = await findings(backend_url, diagnostics=True, inspection=True)
    assert found["diagnostics"].state == found["inspection"].state == "fail"
    questions = [question.json() for question in backend.questions]
    assert [question["diagnostics"]["previous_message_id"] is None for question in questions[:2]] == [True, False]
    assert {"diagnostics", "inspection"}.isdisjoint(await findings(backend_url))
    assert "diagnostics" not in backend.questions[-1].json()


async def test_requests_are_nobody_s_small_and_forgotten(backend: ScriptedBackend, backend_url: str) -> None:
    found = await findings(backend_url, forgets=True, cache_control=True, session_header="x-session")
    assert len({question.headers["x-session"] for question in backend.questions}) == 1
    first = [question.json() for question in backend.questions]
    assert found["forget"].state == "ok"
    (forgotten,) = [request.json()["ids"] for request in backend.requests if request.path == FORGET]
    assert len(set(forgotten)) == len(first) == 5
    assert max(body["max_tokens"] for body in first) <= 24
    assert all(body["cache_control"] == {"type": "ephemeral"} for body in first)
    await findings(backend_url)
    again = [question.json() for question in backend.questions[5:]]
    assert not {body["metadata"]["user_id"] for body in first} & {body["metadata"]["user_id"] for body in again}
    assert first[0]["messages"] != again[0]["messages"]
    assert again[1]["messages"][:1] == again[0]["messages"] == again[2]["messages"]


async def test_what_was_asked_is_forgotten_after_a_failure_too(backend: ScriptedBackend, backend_url: str) -> None:
    script_turns(backend, answer("a", usage=usage(10, 0)), [error_reply(500, "api_error")])
    backend.script(error_reply(404, "not_found_error"), path=FORGET)
    found = await findings(backend_url, forgets=True)
    assert found["cache"].state == found["forget"].state == "fail"
    assert "api_error (500)" in found["cache"].english


async def test_a_long_prefix_is_asked_where_only_such_a_one_is_kept(backend: ScriptedBackend, backend_url: str) -> None:
    await findings(backend_url, reuse_rule="breakpoint(1024)")
    assert len(backend.questions[0].json()["messages"][0]["content"].split()) > 2 * 1024
