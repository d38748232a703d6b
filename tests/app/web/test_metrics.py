"""`/metrics`: who may read it, what stands in it, and that its totals are those of SQL and of the export."""

import re

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.settings import Settings
from tests.app.redis_server import NO_REDIS
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.scripted_backend import Gate, answer, delta, ending, error_reply, message_start

TOKEN = "a token of the scraper"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(site: Site) -> str:
    response = httpx.get(f"{site.url}/metrics", headers={"authorization": f"Bearer {TOKEN}"}, timeout=30)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return response.text


def samples(site: Site) -> Samples:
    families = text_string_to_metric_families(scrape(site))
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value for each in families for sample in each.samples
    }


def total(found: Samples, name: str, **labels: str) -> float:
    return sum(
        value for (each, given), value in found.items() if each == name and labels.items() <= dict(given).items()
    )


@pytest.fixture
def scraped(open_site: OpenSite) -> Site:
    return open_site(metrics_token=TOKEN)


def test_without_the_setting_there_is_no_such_page(site: Site) -> None:
    for headers in ({}, {"authorization": "Bearer"}, {"authorization": f"Bearer {TOKEN}"}):
        assert httpx.get(f"{site.url}/metrics", headers=headers).status_code == 404


@pytest.mark.parametrize(
    "given", [None, "", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xff", "Basic x"]
)
def test_only_the_token_opens_it(scraped: Site, given: str | None) -> None:
    headers = {} if given is None else {"authorization": given.encode("latin-1")}
    response = httpx.get(f"{scraped.url}/metrics", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert "recount_" not in response.text


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16"):
        Settings(_env_file=None, metrics_token="short")


def test_an_operator_without_the_token_is_not_let_in(scraped: Site) -> None:
    assert scraped.set_up().open("/metrics").status_code == 401


def test_totals_agree_with_sql(scraped: Site) -> None:
    """Hits, a fault, one that reports nothing, one that fails, and one that is still being written."""
    gate = Gate()
    mina = scraped.set_up()
    path = scraped.ask(mina, "One")
    for question in ("Two", "Three"):
        scraped.ask(mina, question, path)
    scraped.backend.script(message_start(), delta("x"), *ending(output_tokens=2))
    scraped.ask(mina, "Not reported", path)
    scraped.backend.script(error_reply(400, "invalid_request_error"))
    scraped.ask(mina, "Failed")
    scraped.backend.script(*answer("y", usage={"input_tokens": 9, "cache_creation_input_tokens": 0}))
    scraped.ask(mina, "Half reported")
    scraped.rows(
        "UPDATE turns SET outcome = 'evicted', fault = 1, expected_read_tokens = 12, shortfall_tokens = 7,"
        " cache_read_input_tokens = 5, input_tokens = 20, law_mismatch = 1"
        " WHERE id = (SELECT id FROM turns ORDER BY id LIMIT 1 OFFSET 2)"
    )
    scraped.backend.script(message_start(usage={"input_tokens": 5}), delta("z"), gate, *ending(output_tokens=2))
    mina.open("/")
    mina.submit("/conversations", text="Live")
    gate.wait_arrived()
    found = samples(scraped)
    gate.open()
    prompt = "(input_tokens + cache_creation_input_tokens + cache_read_input_tokens)"
    ended = "FROM turns WHERE status NOT IN ('queued', 'running')"
    read = f"CASE WHEN {prompt} > 0 THEN cache_read_input_tokens END"
    sums = f"count(*), count({prompt}), sum({prompt}), sum({read}), sum(output_tokens)"
    ((turns, reported, tokens, cached, output),) = scraped.rows(f"SELECT {sums} {ended}")
    assert (turns, reported) == (6, 3)
    assert total(found, "recount_turns_total") == turns
    assert total(found, "recount_reported_turns_total") == reported
    assert total(found, "recount_prompt_tokens_total") == tokens
    assert total(found, "recount_cached_tokens_total") == cached
    assert total(found, "recount_computed_tokens_total") == tokens - cached
    assert total(found, "recount_output_tokens_total") == output
    assert total(found, "recount_lost_tokens_total", outcome="evicted") == 7
    assert total(found, "recount_lost_tokens_total") == 7
    assert total(found, "recount_fault_turns_total", outcome="evicted", backend="scripted", model="scripted") == 1
    assert total(found, "recount_law_mismatches_total") == 1
    layers = ("cached", "new", "lost", "on_purpose", "rounding")
    assert sum(total(found, f"recount_{layer}_tokens_total") for layer in layers) == tokens
    states = scraped.rows(f"SELECT status, count(*) {ended} GROUP BY status")
    assert {status: total(found, "recount_turns_total", status=status) for status, _ in states} == dict(states)
    assert total(found, "recount_live_turns") == total(found, "recount_live_turns", status="running") == 1
    timed = scraped.rows(f"SELECT count(duration_ms), sum(duration_ms) {ended}")[0]
    assert total(found, "recount_turn_duration_seconds_count") == timed[0]
    assert total(found, "recount_turn_duration_seconds_sum") == pytest.approx(timed[1] / 1000)
    assert total(found, "recount_turn_duration_seconds_bucket", le="+Inf") == timed[0]


def test_faults_that_have_not_happened_stand_there_with_zero(scraped: Site) -> None:
    mina = scraped.set_up()
    assert "recount_lost_tokens_total{" not in scrape(scraped)
    scraped.ask(mina, "One")
    found = samples(scraped)
    zeros = {dict(labels)["outcome"] for (name, labels), value in found.items() if name == "recount_lost_tokens_total"}
    assert {"evicted", "restarted", "volatile_system_prompt"} <= zeros
    assert "hit" not in zeros


def test_what_the_process_sees_of_itself(scraped: Site) -> None:
    mina = scraped.set_up()
    path = scraped.ask(mina, "One")
    mina.open(path)
    mina.client.request("PROPFIND", "/nowhere")
    mina.open("/nowhere")
    mina.open(mina.open(path).text.split('rel="stylesheet" href="')[1].split('"')[0])
    turn = scraped.rows("SELECT id FROM turns")[0][0]
    mina.open(f"/turns/{turn[:8]}-{turn[8:12]}-{turn[12:16]}-{turn[16:20]}-{turn[20:]}/events?after=0")
    found = samples(scraped)
    requests = "recount_http_requests_total"
    opened = {"method": "GET", "route": "/conversations/{conversation_id:uuid}", "status": "200"}
    assert total(found, requests, **opened) >= 2
    assert total(found, requests, method="other", route="none") == 1
    assert total(found, requests, route="none", status="404") >= 1
    assert total(found, requests, route="static", status="200") == 1
    assert total(found, "recount_events_sent_total") > 2
    assert total(found, "recount_event_streams") == 0
    assert total(found, "recount_backend_up", backend="scripted") == 1
    assert total(found, "recount_bus_up") == total(found, "recount_database_up") == 1
    assert total(found, "recount_database_connections") >= 1
    assert total(found, "process_resident_memory_bytes") > 0


def test_no_label_tells_of_persons_or_conversations(scraped: Site) -> None:
    mina = scraped.set_up(name="wonderful mina")
    path = scraped.ask(mina, "Canary words")
    mina.open(path)
    text = scrape(scraped)
    references = [row[0] for row in scraped.rows("SELECT reference FROM conversations")]
    for secret in ("wonderful", "Canary", "answer number", path.rsplit("/", 1)[1], *references):
        assert secret not in text
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{32}", text)


def test_redis_that_is_away_is_told(open_site: OpenSite) -> None:
    assert total(samples(open_site(metrics_token=TOKEN, redis_url=NO_REDIS)), "recount_bus_up") == 0


def test_a_database_that_is_away_takes_only_its_own_figures_along(scraped: Site) -> None:
    scraped.ask(scraped.set_up(), "One")
    scraped.rows("ALTER TABLE turns RENAME TO turns_away")
    found = samples(scraped)
    scraped.rows("ALTER TABLE turns_away RENAME TO turns")
    assert total(found, "recount_database_up") == 0
    assert total(found, "recount_backend_up") == 1
    assert not any(name == "recount_turns_total" for name, _ in found)
    assert total(samples(scraped), "recount_turns_total") == 1
