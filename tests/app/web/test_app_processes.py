"""Real processes of the app: two that share a database and Redis, and one that is told to end in mid-answer."""

import json
import re
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.app.databases import SqliteFactory
from tests.app.redis_server import RedisServer
from tests.app.web.site import PASSWORD, SETUP_CODE, Site
from tests.app.web.test_turn_routes import events_of, text_of
from tests.app.web.visitor import Visitor
from tests.processes import RECOUNT, Process, clean_environment, free_port
from tests.scripted_backend import Gate, ScriptedBackend, answer, delta, ending, message_start


@contextmanager
def app_processes(
    count: int, database_url: str, folder: Path, backend: ScriptedBackend, backend_url: str, **settings: str
) -> Iterator[Sequence[tuple[Process, Site]]]:
    """Started together; each with the site that it serves."""
    served = {"name": "scripted", "base_url": backend_url, "early_message_start": True}
    common = {"RECOUNT_DATABASE_URL": database_url, "RECOUNT_BACKENDS": json.dumps([served])}
    common |= {"RECOUNT_SETUP_CODE": SETUP_CODE, **settings}
    with ExitStack() as stack:
        started = []
        for _ in range(count):
            port = free_port()
            environment = clean_environment(RECOUNT_PORT=str(port), **common)
            process = stack.enter_context(Process(*RECOUNT, "app", environment=environment, folder=folder))
            site = Site(f"http://127.0.0.1:{port}", database_url.removeprefix("sqlite:///"), backend)
            stack.callback(site.close)
            started.append((process, site))
        for process, _ in started:
            process.until(lambda process=process: "Recount is ready" in process.output)  # type: ignore[misc]
        yield started


def signed_in(site: Site) -> Visitor:
    visitor = site.visitor()
    visitor.open("/sign-in")
    assert visitor.submit("/sign-in", name="mina", password=PASSWORD).status_code == 303
    return visitor


def test_two_tabs_at_two_processes_make_one_turn_and_the_other_is_told_which(
    sqlite_factory: SqliteFactory,
    tmp_path: Path,
    backend: ScriptedBackend,
    backend_url: str,
    shared_redis: RedisServer,
) -> None:
    shared_redis.flush()
    url = sqlite_factory.migrated()
    redis = {"RECOUNT_REDIS_URL": shared_redis.url}
    with app_processes(2, url, tmp_path, backend, backend_url, **redis) as [(_, one), (_, two)]:
        tabs = [one.set_up(), signed_in(two)]
        path = one.ask(tabs[0], "Hello")
        question, said = re.findall(r'id="message-([^"]+)"', tabs[0].page.text)
        gate = Gate()
        backend.script(message_start(), delta("Another "), gate, delta("one"), *ending(output_tokens=3))
        for tab in tabs:
            tab.open(path)
        action = f"{path}/messages/{said}/regenerate"
        forms = [tab.form(action).fields for tab in tabs]
        with ThreadPoolExecutor() as threads:
            answers = list(threads.map(lambda tab, form: tab.post(action, **form), tabs, forms))
        assert sorted(answer.status_code for answer in answers) == [303, 409]
        (turn,) = one.rows("SELECT id FROM turns WHERE status IN ('queued', 'running')")
        refused = next(answer for answer in answers if answer.status_code == 409)
        assert "An answer is being written here." in refused.text
        stop = re.search(r'action="/turns/([0-9a-f-]{36})/stop"', refused.text)
        assert stop is not None
        assert stop[1].replace("-", "") == turn[0]
        loser = tabs[answers.index(refused)]
        loser.open(f"{path}?leaf={question}")
        edit = {"form_token": loser.form_token, "submission_key": "edit", "text": "Better words"}
        edited = loser.post(f"{path}/messages/{question}/edit", **edit)
        assert (edited.status_code, "Better words" in edited.text) == (409, True)
        with loser.client.stream("GET", f"/turns/{stop[1]}/events?after=0") as response:
            events = events_of(response)
            first = next(event for event in events if event.event == "delta")
            gate.open()
            assert text_of([first, *events]) == "Another one"
        assert [one.count(table) for table in ("users", "messages", "turns", "submissions")] == [1, 3, 2, 2]
        assert len(backend.questions) == 2


def test_told_to_end_it_lets_answers_end_for_a_while_and_then_keeps_what_they_have(
    sqlite_factory: SqliteFactory, tmp_path: Path, backend: ScriptedBackend, backend_url: str
) -> None:
    url = sqlite_factory.migrated()
    drained, never = Gate(), Gate()
    with app_processes(1, url, tmp_path, backend, backend_url, RECOUNT_DRAIN_SECONDS="2") as [(process, site)]:
        mina = site.set_up()
        for gate in (drained, never):
            backend.script(message_start(), delta("Begun"), gate, *answer(" and ended", output_tokens=3)[1:])
            mina.open("/")
            mina.submit("/conversations", text="Go")
            gate.wait_arrived()
        with mina.client.stream("GET", f"/turns/{mina.turn_id}/events?after=0") as response:
            events = events_of(response)
            next(event for event in events if event.event == "delta")
            process.signal(signal.SIGTERM)
            drained.open()
            list(events)  # An open stream holds nothing up, and ends between two events.
        assert process.wait(timeout=30) == 0, process.output
        assert not re.search("Traceback|ERROR|error", process.output), process.output
    query = (
        "SELECT turns.status, error_type, text FROM turns JOIN messages ON messages.id = assistant_message_id"
        " ORDER BY turns.id"
    )
    assert site.rows(query) == [
        ("completed", None, "Begun and ended"),
        ("interrupted", "shut_down", "Begun"),
    ]
    assert site.rows("SELECT * FROM workers") == []
    backend.wait_for(lambda: backend.open_streams == 0)
