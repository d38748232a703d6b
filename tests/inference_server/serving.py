"""A whole inference server in a thread: the real application around the runner that a test chooses."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
from starlette.applications import Starlette

from inference_server.api.generation import ServedModel
from inference_server.assembly import assemble, load_app
from inference_server.config import ServerConfig
from inference_server.model_runner import ModelRunner
from inference_server.scheduler import Scheduler
from inference_server.text.chat_template import ChatTemplate
from inference_server.text.tokenizer import TextTokenizer
from tests.live_server import NO_TLS, LiveServer

KEY = "test-key"
CONFIG = ServerConfig(model=Path("tiny.gguf"), host="127.0.0.1", port=0, key=KEY, compute="float32")


class Served:
    """A running server and a plain HTTP client for it."""

    def __init__(self, server: LiveServer, app: Starlette, deaths: list[None]) -> None:
        self.url = server.url
        self.app = app
        self.deaths = deaths
        self.http = httpx.Client(
            base_url=server.url, headers={"x-api-key": KEY}, timeout=120, trust_env=False, verify=NO_TLS
        )

    @property
    def model(self) -> str:
        return self.http.get("/v1/models").json()["data"][0]["id"]

    @property
    def scheduler(self) -> Scheduler:
        """The engine's inside, where HTTP does not show it."""
        return self.app.state.engine._engine.scheduler

    def ask(self, messages: list[dict[str, object]], **fields: object) -> dict:
        """POST /v1/messages without streaming; 200 or AssertionError."""
        body = {"model": self.model, "max_tokens": 8, "messages": messages, **fields}
        response = self.http.post("/v1/messages", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    def count(self, messages: list[dict[str, object]], **fields: object) -> int:
        response = self.http.post(
            "/v1/messages/count_tokens", json={"model": self.model, "messages": messages, **fields}
        )
        assert response.status_code == 200, response.text
        return response.json()["input_tokens"]


@contextmanager
def serve_model(path: Path, **settings: object) -> Iterator[Served]:
    """Serve a GGUF file."""
    deaths: list[None] = []
    app = load_app(replace(CONFIG, model=path, **settings), on_death=lambda: deaths.append(None))
    with LiveServer(app) as server:
        yield from _served(server, app, deaths)


@contextmanager
def serve_runner(
    model: ServedModel,
    tokenizer: TextTokenizer,
    template: ChatTemplate,
    runner: ModelRunner,
    *,
    send_buffer: int | None = None,
    port: int = 0,
    **settings: object,
) -> Iterator[Served]:
    """Serve a scripted runner; on a given port as a restarted server would."""
    deaths: list[None] = []
    config = replace(CONFIG, **settings)
    app = assemble(config, model, tokenizer, template, runner, on_death=lambda: deaths.append(None))
    with LiveServer(app, port=port, send_buffer=send_buffer) as server:
        yield from _served(server, app, deaths)


def _served(server: LiveServer, app: Starlette, deaths: list[None]) -> Iterator[Served]:
    served = Served(server, app, deaths)
    engine = threading.Thread(target=app.state.engine.run, name="engine")
    engine.start()
    try:
        with served.http:
            yield served
    finally:
        server.stop()
        engine.join()


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, object]:
    return {"role": "assistant", "content": text}


def prompt_tokens(usage: dict[str, int]) -> int:
    return usage["input_tokens"] + usage["cache_creation_input_tokens"] + usage["cache_read_input_tokens"]


def events(response: httpx.Response) -> list[tuple[str, dict]]:
    """Name and data of every event of a stream that has ended; strict about UTF-8 and about what an event is."""
    text = response.content.decode()
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    assert all(len(lines) == 2 for lines in blocks), text
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def until(condition: Callable[[], object]) -> None:
    """Wait for what another thread is about to bring about."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")
