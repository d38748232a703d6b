"""Conversations that come, stop and leave at random over HTTP, in a pool of twice one context: nothing leaks.

``CHURN_SECONDS=3600 pytest --timeout=0 -o faulthandler_timeout=0`` makes it an hour; the invariants and the counts are
the same.
"""

import json
import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from tests.inference_server.serving import Served, assistant, serve_model, user
from tests.tiny_model import TinyShape, write_tiny_model

SECONDS = float(os.environ.get("CHURN_SECONDS", "15"))
CONTEXT = 192
CLIENTS = 6
ENDINGS = {"end_turn", "max_tokens", "stop_sequence", "model_context_window_exceeded"}


class Client:
    """One person: asks, listens, sometimes walks off in mid-answer, sometimes starts anew."""

    def __init__(self, served: Served, number: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self._served = served
        self._random = random.Random(number)
        self._scope = {"user_id": f"person {number % 3}"}
        self._messages: list[dict[str, object]] = []

    def run(self, until: float) -> None:
        with httpx.Client(
            base_url=self._served.url, headers=self._served.http.headers, trust_env=False, timeout=60
        ) as http:
            while time.monotonic() < until:
                self.outcomes[self._ask(http)] += 1

    def _ask(self, http: httpx.Client) -> str:
        if self._random.random() < 0.2:
            self._messages = []
        self._messages.append(user("q" * self._random.randint(1, 20)))
        body = {
            "model": self._served.model,
            "max_tokens": self._random.randint(0, 40),
            "messages": self._messages,
            "metadata": self._scope,
            "temperature": self._random.choice([0, 1, 2]),
            "stop_sequences": self._random.choice([None, ["e"]]),
            "stream": True,
        }
        leaves_after = self._random.choice([None, None, 0, 1, 5])
        with http.stream("POST", "/v1/messages", json=body) as response:
            if response.status_code == 400:
                assert "at most" in response.read().decode()
                self._messages = []
                return "too long"
            assert response.status_code == 200
            return self._listen(response, leaves_after)

    def _listen(self, response: httpx.Response, leaves_after: int | None) -> str:
        text, deltas, ending = "", 0, "left"
        for line in response.iter_lines():
            data = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
            if data.get("type") == "content_block_delta":
                text, deltas = text + data["delta"]["text"], deltas + 1
            if data.get("type") == "message_delta":
                ending = data["delta"]["stop_reason"]
            assert data.get("type") != "error", data
            if leaves_after is not None and deltas >= leaves_after and ending == "left":
                break
        self._messages.append(assistant(text))
        return ending


def test_a_churn_of_conversations_leaves_nothing_behind(tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path / "tiny.gguf", TinyShape(context=CONTEXT))
    slot_bytes = 2 * 2 * 2 * 16 * 4  # layers, keys and values, KV heads, head size, float32
    with serve_model(model, kv_bytes=2 * CONTEXT * slot_bytes) as served:
        assert served.scheduler.allocator.num_slots == 2 * CONTEXT
        clients = [Client(served, number) for number in range(CLIENTS)]
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=client.run, args=(until,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        while served.scheduler.running or served.scheduler.waiting:
            time.sleep(0.01)
        outcomes = sum((client.outcomes for client in clients), Counter[str]())
        assert set(outcomes) <= ENDINGS | {"left", "too long"}
        assert outcomes["max_tokens"] > 0
        assert outcomes["left"] > 0
        assert served.scheduler.num_evicted > 0
        assert served.scheduler.num_live == 0
        served.scheduler.check()
        told = served.http.get("/metrics").text
        assert 'requests_total{status="failed"} 0.0' in told
        assert 'kv_slots{state="live"} 0.0' in told
        assert served.ask([user("Still there?")])["usage"]["output_tokens"] > 0
