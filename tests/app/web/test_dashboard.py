"""Each metric and label of the Grafana dashboard and the alert rules is there, and of the kind that its use needs."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.app.web.conftest import OpenSite
from tests.app.web.promql import Frame, Selector, selectors_of
from tests.app.web.test_metrics import TOKEN, scrape
from tests.inference_server.serving import serve_model
from tests.tiny_model import write_tiny_model

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "grafana"
DOCUMENT = (ROOT / "docs" / "operations.md").read_text()
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "recount-dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
OVER_TIME = {"rate", "increase"}
SCRAPED = {"job", "instance"}
OTHERS = re.compile("recount_inference_.*|process_.*|.*_created")
OF_ONE_PROCESS = ("recount_inference_", "recount_http_", "recount_events_", "process_")


@dataclass(frozen=True)
class Told:
    """A name in the text of a `/metrics`: the type of its family, and the labels of its samples."""

    type: str
    labels: frozenset[str]

    @property
    def grows(self) -> bool:
        return self.type in ("counter", "histogram")


@dataclass(frozen=True)
class Expression:
    """`words` are those that name labels of its result."""

    where: str
    promql: str
    words: str


def expressions() -> Iterator[Expression]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield Expression(panel["title"], target["expr"], target["legendFormat"])
    for note in DASHBOARD["annotations"]["list"]:
        yield Expression(note["name"], note["expr"], note["titleFormat"] + note["textFormat"])
    for rule in RULES:
        yield Expression(rule["alert"], rule["expr"], " ".join(rule["annotations"].values()))


EXPRESSIONS = list(expressions())


def told_by(text: str) -> dict[str, Told]:
    return {
        name: Told(family.type, frozenset().union(*(s.labels for s in family.samples if s.name == name)))
        for family in text_string_to_metric_families(text)
        for name in {sample.name for sample in family.samples}
    }


@pytest.fixture
def of_server(tmp_path: Path) -> dict[str, Told]:
    with serve_model(write_tiny_model(tmp_path / "tiny.gguf")) as served:
        return told_by(served.http.get("/metrics").text)


@pytest.fixture
def told(open_site: OpenSite, of_server: dict[str, Told]) -> dict[str, Told]:
    """One turn is enough: what has not happened stands there with zero."""
    site = open_site(metrics_token=TOKEN)
    site.ask(site.set_up(), "One")
    of_app = told_by(scrape(site))
    return of_app | of_server


def problems_of(selector: Selector, told: dict[str, Told]) -> Iterator[str]:
    metric = told.get(selector.metric)
    if metric is None:
        yield "is not told by anybody"
        return
    if unknown := selector.labels - metric.labels - SCRAPED:
        yield f"has no label {unknown}"
    if metric.grows != bool(selector.functions & OVER_TIME):
        yield "is a counter without a rate, or a gauge with one"
    if ("histogram_quantile" in selector.functions) != selector.metric.endswith("_bucket"):
        yield "is no histogram's, or one without its quantile"
    kept = None
    for frame in selector.around:
        if frame.by is None:
            continue
        if kept is not None and not kept <= set(frame.by):
            yield f"loses {kept - set(frame.by)} on the way"
        kept = set(frame.by)
    if selector.metric.endswith("_bucket") and any("le" not in frame.by for frame in selector.around if frame.by):
        yield "has lost its bounds"
    # Every process tells the same totals of turns, so the largest is taken before anything is added up.
    if metric.grows and not selector.metric.startswith(OF_ONE_PROCESS):
        inner = selector.around[-2]
        if inner.name != "max" or set(inner.by or ()) != metric.labels:
            yield "is added up over processes"


def test_every_metric_is_told_and_used_as_its_kind_allows(told: dict[str, Told]) -> None:
    found = [
        f"{each.where}: {selector.metric} {problem}"
        for each in EXPRESSIONS
        for selector in selectors_of(each.promql)
        for problem in problems_of(selector, told)
    ]
    assert found == []
    own = {re.sub("_(bucket|sum|count)$", "", name) for name in told if not OTHERS.fullmatch(name)}
    assert [name for name in sorted(own) if f"`{name}`" not in DOCUMENT] == []
    used = {selector.metric for each in EXPRESSIONS for selector in selectors_of(each.promql)}
    assert len(used) > 25
    lists = [each["definition"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
    for metric, label in (re.fullmatch(r"label_values\((\w+), (\w+)\)", each).groups() for each in lists):
        assert label in told[metric].labels | SCRAPED


def test_words_name_only_labels_that_the_result_has() -> None:
    for each in EXPRESSIONS:
        named = set(re.findall(r"{{ ?(?:\$labels\.)?(\w+) ?}}", each.words))
        for selector in selectors_of(each.promql):
            outer = next((frame.by for frame in selector.around if frame.by is not None), tuple(SCRAPED))
            assert named <= set(outer), each.where


def test_alerts_wait_for_what_matters_and_never_for_a_share() -> None:
    alerts = {rule["alert"]: rule for rule in RULES}
    watched = {selector.metric for rule in RULES for selector in selectors_of(rule["expr"])}
    assert watched >= {
        "recount_fault_turns_total",
        "recount_lost_tokens_total",
        "recount_backend_up",
        "recount_law_mismatches_total",
    }
    for name, rule in alerts.items():
        assert " / " not in rule["expr"], name
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]


def test_panels_have_places_and_names_of_their_own() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place: dict[str, Any] = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_an_expression_is_read_as_prometheus_would() -> None:
    (first, second) = selectors_of(
        'sum by (a) (max by (a, b) (rate(x_total{a=~"v)", b!="w"}[5m] offset 1h))) > 0 unless y'
    )
    inner = (Frame("sum", ("a",)), Frame("max", ("a", "b")), Frame("rate"))
    assert first == Selector("x_total", ("a", "b"), inner)
    assert second == Selector("y", (), ())
