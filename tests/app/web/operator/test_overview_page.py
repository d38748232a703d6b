"""The overview as a browser gets it: its numbers are the reports' numbers, and no words of anybody are on it."""

import re
from html import unescape

from tests.app.web.operator.bad_day import CANARY
from tests.app.web.page_walker import text_of_page
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor

PAGES = ("/operator", "/operator/turns", "/operator/conversations")
SUMS = "FROM turns WHERE created_at >= datetime('now', '-1 day')"


def words_of(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


def number(words: str) -> int:
    return int(words.replace(",", ""))


def problem_rows(page: str) -> list[str]:
    """The rows of what lost tokens; the folded ones stand behind them."""
    section = page.split('id="problems-title"')[1].split("</table>")[0]
    return re.findall(r"<tr data-outcome=.*?</tr>", section, re.DOTALL)


def test_the_first_rows_of_problems_name_what_is_wrong(bad_site: Site, bad: Visitor) -> None:
    page = bad.open("/operator").text
    rows = [words_of(row) for row in problem_rows(page)]
    assert len(rows) == 3
    assert "changing system prompt NEW still happening scripted · qwen3-4b" in rows[0]
    assert "system prompt, character 313, looks like a date" in rows[0]
    assert "Take what changes by itself out of the system prompt." in rows[0]
    assert "evicted still happening" in rows[1]
    assert "NEW" not in rows[1]  # It was there two days before.
    assert "restarted NEW" in rows[2]
    assert "serving id changed" in rows[2]
    statement = f"SELECT outcome, sum(shortfall_tokens), count(*), count(DISTINCT conversation_id) {SUMS}"
    grouped = bad_site.rows(f"{statement} AND fault GROUP BY outcome ORDER BY 2 DESC")
    for row, words, (outcome, lost, turns, conversations) in zip(problem_rows(page), rows, grouped, strict=True):
        assert f'data-outcome="{outcome}"' in row
        assert f"{lost:,} about" in words
        assert re.search(rf"{turns} {conversations} conversations?", words)
    total, losing = sum(row[1] for row in grouped), sum(row[2] for row in grouped)
    verdict = words_of(page.split('class="verdict')[1].split("</p>")[0])
    assert f"3 causes lost {total:,} tokens (about" in verdict
    assert f"in {losing} turns; 2 are new." in verdict


def test_worst_turn_and_all_turns_are_one_click_away(bad_site: Site, bad: Visitor) -> None:
    row = problem_rows(bad.open("/operator?range=24h&compare=1").text)[1]
    ((worst,),) = bad_site.rows(
        f"SELECT id {SUMS} AND outcome = 'evicted' ORDER BY shortfall_tokens DESC, created_at DESC LIMIT 1"
    )
    link = re.findall(r'href="([^"]+)"', row)[0]
    assert link.startswith("/operator/turns/")
    assert link.split("/")[3].split("?")[0].replace("-", "") == worst
    everything = unescape(re.findall(r'href="([^"]+)"', row)[1])
    page = bad.open(everything).text
    assert page.count('data-cell="outcome"') == 22
    assert set(re.findall(r'data-cell="outcome"[^>]*>(?:<span[^>]*></span> )?([^<]+)<', page)) == {"evicted"}


def test_tiles_chart_and_table_have_the_sums_of_the_database(bad_site: Site, bad: Visitor) -> None:
    page = bad.open("/operator").text
    ((turns, prompt, cached, lost),) = bad_site.rows(
        "SELECT count(*), sum(input_tokens + cache_creation_input_tokens + cache_read_input_tokens),"
        f" sum(cache_read_input_tokens), sum(CASE WHEN fault THEN shortfall_tokens END) {SUMS}"
    )
    tiles = {name: words_of(tile) for name, tile in re.findall(r'data-tile="([\w-]+)">(.*?)</div>', page, re.DOTALL)}
    assert f"Lost tokens {lost:,}" in tiles["lost"]
    assert f"Turns by state {turns:,}" in tiles["states"]
    assert "before" not in tiles["lost"]
    sums = re.findall(r"<td[^>]*>([\d,–]+)</td>", page.split("<tr data-sum>")[1].split("</tr>")[0])
    layers = [number(each) for each in sums[2:7]]
    assert (number(sums[0]), number(sums[1]), layers[0], layers[3]) == (turns, prompt, cached, lost)
    assert sum(layers) == prompt
    drawn: dict[str, int] = {}
    for layer, tokens in re.findall(r'<rect class="([\w-]+)"[^>]*data-tokens="(\d+)"', page):
        drawn[layer] = drawn.get(layer, 0) + int(tokens)
    assert [drawn[name] for name in ("cached", "new", "on-purpose", "lost", "rounding")] == layers
    assert re.search(r'data-state="failed">\s*3\s*<', page)
    assert page.count('class="mark ') == 5  # One is the start of this very app.


def test_folded_below_are_what_is_no_fault(bad: Visitor) -> None:
    page = bad.open("/operator").text
    on_purpose = words_of(page.split('data-folded="on_purpose"')[1].split("</details>")[0])
    assert "Recomputed on purpose: 10,800 tokens." in on_purpose
    assert "system prompt edited" in on_purpose
    assert "240 tokens" in words_of(page.split('data-folded="rounding"')[1].split("</details>")[0])


def test_errors_backends_and_worst_conversations(bad: Visitor) -> None:
    page = bad.open("/operator").text
    errors = words_of(page.split("data-errors")[1].split("</table>")[0])
    assert re.search(r"overloaded_error 2 .*timeout 1 ", errors)
    backends = words_of(page.split("data-backends")[1].split("</table>")[0])
    assert re.search(r"scripted answers \w+ \d+ \d\d:\d\d – – – \d+ of \d+ turns every token by user", backends)
    worst = page.split("data-conversations")[1].split("</table>")[0]
    assert worst.count('<th scope="row"') == 10
    assert re.search(r"bad00004 (mina|jun) 26 77,350 changing system prompt", words_of(worst))


def test_no_page_of_operators_has_words_of_anybody(bad: Visitor, bad_in_korean: Visitor) -> None:
    for path in PAGES:
        for visitor in (bad, bad_in_korean):
            page = visitor.open(f"{path}?range=all")
            assert page.status_code == 200
            assert CANARY not in page.text
            assert CANARY.split()[0] not in text_of_page(page.text)


def test_korean_page_has_korean_words_and_the_same_numbers(bad_in_korean: Visitor) -> None:
    page = words_of(bad_in_korean.open("/operator").text)
    assert "원인 3가지로 턴 42개에서 토큰 129,610개(프리필 약" in page
    assert "시스템 프롬프트, 313번째 글자, 날짜 모양" in page


def test_filters_narrow_everything_and_are_kept_by_every_link(bad: Visitor) -> None:
    page = bad.open("/operator?range=24h&backend=east&zone=Asia/Seoul").text
    assert len(problem_rows(page)) == 1
    assert "1 cause lost 18,600 tokens" in page
    assert "Times in Asia/Seoul (KST)" in page
    chosen = re.findall(r'<a href="([^"]+)"\s+title="Take this filter out">', page)
    assert [unescape(link) for link in chosen] == ["/operator?range=24h&zone=Asia%2FSeoul"]
    for link in re.findall(r'href="(/operator/(?:turns|conversations)[/?][^"]+)"', page):
        assert "backend=east" in unescape(link), link


def test_period_before_is_shown_beside(bad: Visitor) -> None:
    page = words_of(bad.open("/operator?range=24h&compare=1").text)
    assert page.count("before: ") == 5
    assert "before: 0" in page
    assert "before: " not in words_of(bad.open("/operator?range=all&compare=1").text)


def test_page_is_loaded_anew_only_where_that_is_chosen(bad: Visitor) -> None:
    assert 'http-equiv="refresh"' not in bad.open("/operator").text
    assert '<meta http-equiv="refresh" content="30">' in bad.open("/operator?refresh=30").text


def test_filter_that_cannot_be_used_is_named(bad: Visitor) -> None:
    for path in PAGES:
        response = bad.open(f"{path}?range=2w")
        assert response.status_code == 400
        assert "“range” in the address is not usable. Allowed: 1h, 24h, 7d, 30d, all." in response.text


def test_empty_single_turn_and_alarm_states_have_sentences(site: Site, mina: Visitor) -> None:
    empty = mina.open("/operator").text
    assert "There is no turn in this period and selection." in empty
    assert "Errors by type" in empty
    assert "<svg" not in empty
    path = site.ask(mina, f"What of {CANARY}?")
    site.rows("UPDATE turns SET outcome = 'first_turn', fault = 0, law_mismatch = 1")
    page = mina.open("/operator").text
    assert "1 turn, and it could have read nothing from the cache" in page
    assert "No cause has lost any tokens here." in page
    assert "No conversation lost anything." in page
    assert "In 1 turn the model server itself promised another number" in words_of(page.split('role="alert"')[1])
    assert CANARY not in page
    assert "nan" not in page.lower()
    mina.open(f"{path}/delete")
    mina.submit(f"{path}/delete")
    assert "Turns by state 1" in words_of(mina.open("/operator").text)  # Numbers stay when words go.
