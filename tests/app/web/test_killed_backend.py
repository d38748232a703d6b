"""The model server is a process of its own, and dies in mid-answer: the text stays, and the app goes on."""

import re
import signal
import sys
import time
from pathlib import Path

from app.settings import Backend
from tests.app.web.conftest import OpenSite
from tests.app.web.visitor import Visitor
from tests.processes import Process, clean_environment, free_port

ROOT = Path(__file__).parents[3]
SERVER = """
import sys
from tests.live_server import LiveServer
from tests.scripted_backend import Gate, ScriptedBackend, delta, message_start

backend = ScriptedBackend()
if sys.argv[2] == "half":
    backend.default = lambda request: (message_start(), delta("Half an answer"), Gate())
LiveServer(backend, port=int(sys.argv[1]), lifespan=False).start()
print("ready", file=sys.stderr, flush=True)
"""


def model_server(port: int, kind: str) -> Process:
    return Process(sys.executable, "-c", SERVER, str(port), kind, environment=clean_environment(), folder=ROOT)


def until_shown(visitor: Visitor, path: str, words: str) -> None:
    deadline = time.monotonic() + 20
    while words not in visitor.open(path).text:
        assert time.monotonic() < deadline, visitor.page.text
        time.sleep(0.02)


def test_killed_model_server_interrupts_the_answer_and_the_app_goes_on(open_site: OpenSite) -> None:
    port = free_port()
    served = Backend(name="doomed", base_url=f"http://127.0.0.1:{port}", early_message_start=True, prefill=True)
    with model_server(port, "half") as process:
        process.until(lambda: "ready" in process.output)
        site = open_site(backends=(served,))
        mina = site.set_up()
        mina.open("/")
        mina.submit("/conversations", text="Words of mine")
        path = mina.page.request.url.path
        until_shown(mina, path, "Half an answer")
        process.signal(signal.SIGKILL)
        process.wait()
    site.wait_idle(mina)
    assert "Half an answer" in mina.page.text
    assert "The connection to the model server was lost. What had arrived is kept." in mina.page.text
    site.ask(mina, "Is anybody there?", path)
    assert "The model server cannot be reached." in mina.page.text
    assert site.rows("SELECT status, error_type FROM turns ORDER BY id") == [
        ("interrupted", "connection_lost"),
        ("failed", "backend_unreachable"),
    ]
    with model_server(port, "whole") as process:
        process.until(lambda: "ready" in process.output)
        failed = re.findall(r'id="message-([^"]+)"', mina.page.text)[-1]
        assert mina.submit(f"{path}/messages/{failed}/retry").status_code == 303
        site.wait_idle(mina)
        assert "This is answer number 2." in mina.page.text
        assert "Half an answer" in mina.page.text
