"""The pages of a turn on the bundled model: what they show is what the server itself tells of its tokens."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from tests.app.web.cache_pages.strips import strip_of_page
from tests.app.web.site import SETUP_CODE, Site
from tests.processes import RECOUNT, Process, clean_environment, free_port
from tests.scripted_backend import ScriptedBackend

pytestmark = pytest.mark.model

KEY = "key-for-this-test"


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, httpx.Client]]:
    """The running product, and a way to ask its model server."""
    folder: Path = tmp_path_factory.mktemp("product")
    port, inference_port = free_port(), free_port()
    environment = clean_environment(
        RECOUNT_PORT=str(port), RECOUNT_INFERENCE_PORT=str(inference_port), RECOUNT_INFERENCE_KEY=KEY,
        RECOUNT_SETUP_CODE=SETUP_CODE,
    )  # fmt: skip
    with Process(*RECOUNT, "serve", environment=environment, folder=folder) as process:
        process.until(lambda: f"/setup?code={SETUP_CODE}" in process.output)
        site = Site(f"http://127.0.0.1:{port}", str(folder / "data" / "recount.db"), ScriptedBackend())
        with httpx.Client(base_url=f"http://127.0.0.1:{inference_port}", headers={"x-api-key": KEY}) as server:
            yield site, server
        site.close()


def weights_of(page: str) -> dict[int, float]:
    """Of the listed positions, and under -1 that of all others."""
    rows = re.findall(r'<th scope="row">\s*<a[^>]*>(\d+)</a>.*?data-weight>([\d.]+)%', page, re.DOTALL)
    rest = re.search(r"data-rest>([\d.]+)%", page)
    assert rest is not None
    return {**{int(position): float(weight) / 100 for position, weight in rows}, -1: float(rest[1]) / 100}


def test_turn_page_shows_the_tokens_and_the_attention_of_the_server(product: tuple[Site, httpx.Client]) -> None:
    site, server = product
    mina = site.set_up()
    path = site.ask(mina, "Say hello. One word.")
    site.ask(mina, "안녕 and <b>bye</b>!", path)
    turns = re.findall(rf'href="{path}/cache/turns/([0-9a-f-]+)"', mina.open(f"{path}/cache").text)
    assert len(turns) == 2
    message_id = site.rows("SELECT backend_message_id FROM turns ORDER BY id DESC LIMIT 1")[0][0]
    tokens = server.get(f"/v1/messages/{message_id}/tokens").json()

    page = mina.open(f"{path}/cache/turns/{turns[1]}").text
    shown = [(at, state, number, unescape(piece or "")) for at, state, number, piece in strip_of_page(page)]
    assert shown == [
        (each["position"], each["state"], each["id"], each["text"].replace("\n", "↵")) for each in tokens["tokens"]
    ]
    assert {state for _, state, _, _ in shown} == {"cached", "computed", "generated"}
    positions = [each[0] for each in strip_of_page(mina.open(f"/operator/turns/{turns[1]}").text)]
    assert positions == list(range(len(shown)))
    assert "data-id" not in mina.page.text

    last = tokens["kv_tokens"] - 1
    rows = []
    for layer, head in ((0, "mean"), (20, "mean"), (20, "3")):
        asked_for = {"position": last, "layer": layer, "head": head if head == "mean" else int(head), "top": 16}
        said = server.post(f"/v1/messages/{message_id}/attention", json=asked_for).json()
        page = mina.open(f"{path}/cache/turns/{turns[1]}?position={last}&layer={layer}&head={head}").text
        row = weights_of(page)
        assert sum(row.values()) == pytest.approx(1, abs=1e-3)
        for each in said["top"]:
            assert row[each["position"]] == pytest.approx(each["weight"], abs=1e-4)
        assert row[-1] == pytest.approx(said["remainder"]["weight"], abs=1e-4)
        rows.append(row)
    assert rows[0] != rows[1] != rows[2]
