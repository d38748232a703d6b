"""The list of turns and the ranking of conversations: narrowed, sorted, and paged without losing or repeating a row."""

import math
import re
from html import unescape
from urllib.parse import urlencode

import pytest

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import error_reply


def cells(page: str, name: str) -> list[str]:
    found = re.findall(rf'data-cell="{name}"[^>]*>(.*?)</td>', page, re.DOTALL)
    return [re.sub(r"<[^>]*>", " ", each).strip() for each in found]


def rows_of_all_pages(visitor: Visitor, path: str) -> list[str]:
    """The links of the rows' heads, page by page."""
    links: list[str] = []
    while True:
        page = visitor.open(path).text
        links += [link.split("?")[0] for link in re.findall(r'<th scope="row" class="words"><a href="([^"]+)"', page)]
        following = re.search(r'<a class="button" href="([^"]+after=[^"]+)"', page)
        if following is None:
            return links
        path = unescape(following[1])


def test_turns_come_newest_first_and_page_by_page(bad_site: Site, bad: Visitor) -> None:
    links = rows_of_all_pages(bad, "/operator/turns?range=all")
    stored = [row[0] for row in bad_site.rows("SELECT id FROM turns ORDER BY created_at DESC, id DESC")]
    assert len(stored) > 100
    assert [link.rsplit("/", 1)[1].replace("-", "") for link in links] == stored


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("outcome=restarted", "outcome = 'restarted'"),
        ("group=capacity", "outcome IN ('evicted', 'expired', 'still_computing')"),
        ("status=failed", "status = 'failed'"),
        ("error=timeout", "error_type = 'timeout'"),
        ("outcome=evicted&backend=east", "outcome = 'evicted' AND backend = 'east'"),
    ],
)
def test_turns_are_narrowed(bad_site: Site, bad: Visitor, query: str, condition: str) -> None:
    links = rows_of_all_pages(bad, f"/operator/turns?range=all&{query}")
    assert len(links) == bad_site.rows(f"SELECT count(*) FROM turns WHERE {condition}")[0][0]  # noqa: S608


def test_turn_rows_tell_numbers_from_what_is_not_reported(bad: Visitor) -> None:
    page = bad.open("/operator/turns?outcome=not_reported").text
    assert cells(page, "cached") == ["not reported"] * 3
    assert cells(page, "shortfall") == ["–"] * 3
    assert "Run recount doctor" in page
    first = bad.open("/operator/turns?outcome=first_turn").text
    assert set(cells(first, "cached")) == {"0"}


def test_form_of_the_filters_works_without_script(bad: Visitor) -> None:
    bad.open("/operator/turns?range=7d&group=deployment")
    fields = {**bad.form("/operator/turns").fields, "outcome": "restarted", "group": "", "backend": "east"}
    page = bad.client.get("/operator/turns", params=fields).text
    assert cells(page, "outcome") == ["restarted"] * 6
    own = {**fields, "from": "2020-01-01T00:00", "to": "2020-01-02T00:00"}
    assert "No turn fits." in bad.client.get("/operator/turns", params=own).text


def test_form_is_shown_again_with_what_was_typed_and_the_problem_beside_it(bad: Visitor) -> None:
    typed = {"from": "2026-11-30T10:00", "to": "2026-11-29T09:00", "outcome": "restarted"}
    refused = bad.open(f"/operator/turns?{urlencode(typed)}&backend=east")
    assert refused.status_code == 400
    fields = bad.form("/operator/turns").fields
    assert typed.items() <= fields.items()
    assert '<option value="east" selected>' in refused.text
    words = " ".join(refused.text.split())
    start = 'name="from" value="2026-11-30T10:00" aria-invalid="true"> <span class="problem" role="alert">'
    beside = re.search(rf"{start}([^<]+)", words)
    assert beside is not None
    assert "a time before the end of the period" in beside[1]
    assert '<details class="filter-form" open>' in refused.text
    period = next(href for href in re.findall(r'href="([^"]+)"', refused.text) if "range=7d" in href)
    assert {"outcome=restarted", "backend=east"} <= set(period.split("?")[1].split("&amp;"))
    mended = bad.client.get("/operator/turns", params={**fields, "from": "2020-01-01T00:00", "to": "2020-01-02T00:00"})
    assert (mended.status_code, "No turn fits." in mended.text) == (200, True)


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("?from=yesterday%22&to=2026-11-29T09:00&zone=UTC", 'type="text" name="from" value="yesterday&#34;"'),
        ("?from=2026-11-30T10:00%2B09:00&to=9999-12-31T23:59-12:00&zone=UTC", 'name="from" value="2026-11-30T01:00"'),
        ("/turns?outcome=lost&model=m", '<option value="m" selected>'),
        ("/conversations?sort=title&from=2026-11-29T09:00", 'name="from" value="2026-11-29T09:00"'),
    ],
)
def test_entries_stay_whatever_is_refused(bad: Visitor, query: str, kept: str) -> None:
    refused = bad.open(f"/operator{query}")
    assert refused.status_code == 400
    assert kept in " ".join(refused.text.split())
    assert refused.text.count('role="alert"') == 1
    assert "outcome=lost" not in refused.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("turns?outcome=lost", "“outcome” in the address is not usable. Allowed: pending, not_sent,"),
        ("turns?group=bad", "“group” in the address is not usable. Allowed: cannot_tell,"),
        ("turns?status=gone", "“status” in the address is not usable. Allowed: queued, running,"),
        ("turns?error=a%00b", "“error” in the address is not usable."),
        ("turns?after=nonsense", "“after” in the address is not usable."),
        ("turns?after=0001-01-01T00:00:00%2B14:00~00000000-0000-0000-0000-000000000001", "“after” in the address"),
        ("conversations?sort=title", "“sort” in the address is not usable. Allowed: lost, reuse, turns,"),
        ("conversations?after=1", "“after” in the address is not usable."),
    ],
)
def test_wrong_parameters_are_named(bad: Visitor, query: str, words: str) -> None:
    response = bad.open(f"/operator/{query}")
    assert response.status_code == 400
    assert words in unescape(response.text)


@pytest.mark.parametrize(
    ("sort", "name"), [("lost", "lost"), ("turns", "turns"), ("reuse", "reuse"), ("first_token", "slowest")]
)
def test_conversations_are_ranked(bad: Visitor, sort: str, name: str) -> None:
    page = bad.open(f"/operator/conversations?range=all&sort={sort}").text
    # What has no such figure comes last.
    last = math.inf if sort == "reuse" else -math.inf
    found = [float(re.sub(r"[^\d.]", "", each) or last) for each in cells(page, name)]
    assert len(found) == 50
    assert found == sorted(found, reverse=sort != "reuse")
    assert re.search(rf'href="[^"]+sort={sort}" aria-current="true"', page)


def test_ranking_is_paged(bad: Visitor) -> None:
    links = rows_of_all_pages(bad, "/operator/conversations?range=all&sort=recent")
    assert len(links) == len(set(links)) == 60


def test_conversations_show_references_sums_and_coverage(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Private words")
    site.backend.script(error_reply(400, "invalid_request_error"))
    failed = site.ask(mina, "Other words")
    page = mina.open("/operator/conversations").text
    assert page.count('<th scope="row"') == 2
    assert f'href="/operator{path}?' in page
    assert f'href="/operator{failed}?' in page
    assert "words" not in re.sub(r'class="[^"]*"', "", page)
    assert "– 0 of 1 turns" in cells(page, "prompt")


def test_lists_of_nothing_say_so(bad: Visitor) -> None:
    assert "No conversation fits." in bad.open("/operator/conversations?to=2020-01-01T00:00Z").text
    assert "No turn fits." in bad.open("/operator/turns?to=2020-01-01T00:00Z").text
