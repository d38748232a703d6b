"""The page of a what-if: the same numbers in verdict, sums, table and chart, in both languages, and nobody's words."""

import json
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from app.web.cache_pages.what_if_chart import PLOT_HEIGHT, layers_of, what_if_chart_of
from app.web.cache_pages.what_if_words import (
    cells_of,
    obstacles_in_words,
    prompt_length_words,
    summary_of,
    verdict_of,
)
from app.web.languages import load_languages
from app.what_if import ConversationWhatIf, Obstacle, Read, TurnWhatIf
from tests.app.web.figures import counted, figures
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import COMPARE, Reply, ScriptedBackend, answer, error_reply

ENGLISH, KOREAN = load_languages()["en"], load_languages()["ko"]
TURNS = ((16, 0, 4), (8, 19, 4), (10, 30, 7), (8, 46, 8))  # Computed, read and written, as in the worked example.
COMPARED = ((16, 21, 7), (21, 32, 24), (32, 45, 35), (45, 59, 11))  # Prompts of both sides, and what they share.


@pytest.fixture
def site(showing: Site) -> Site:
    """Its model server compares."""
    return showing


def script_turn(backend: ScriptedBackend, computed: int, read: int, written: int) -> None:
    usage = {"input_tokens": computed, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}
    backend.script(*answer("Answer words", usage=usage, output_tokens=written))


def script_comparisons(backend: ScriptedBackend) -> None:
    for a, b, common in COMPARED:
        sides = {name: {"input_tokens": tokens, "at_divergence": None} for name, tokens in (("a", a), ("b", b))}
        body = json.dumps({**sides, "common_tokens": common}).encode()
        backend.script(Reply(200, body, {"content-type": "application/json"}), path=COMPARE)


def worked_example(site: Site, visitor: Visitor, minutes: tuple[int, ...] = (0, 0, 0, 2)) -> str:
    """The path of the conversation; its turns were sent at these minutes."""
    path = "/"
    for turn in TURNS:
        script_turn(site.backend, *turn)
        path = site.ask(visitor, "Question words", path)
    start = datetime(2026, 11, 30, 14, 3, tzinfo=UTC)
    for (turn_id,), minute in zip(site.rows("SELECT id FROM turns ORDER BY id"), minutes, strict=True):
        at = (start + timedelta(minutes=minute)).strftime("%Y-%m-%d %H:%M:%S.%f")
        site.rows(f"UPDATE turns SET created_at = '{at}' WHERE id = '{turn_id}'")  # noqa: S608 - of this test
    return path


def table_of(page: str, name: str) -> list[dict[str, str]]:
    table = page.split(f"data-{name}>")[1].split("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL)
    return [dict(re.findall(r'data-cell="([\w-]+)">\s*([^<]*?)\s*<', row)) for row in rows]


def test_worked_example_on_the_page(site: Site, mina: Visitor) -> None:
    path = worked_example(site, mina)
    script_comparisons(site.backend)
    page = mina.open(f"/operator{path}/what-if").text
    rows = table_of(page, "turns")
    ways = [[row[f"real-{cell}"] for cell in ("prompt", "cached", "computed", "lost")] for row in rows]
    assert ways == [["16", "0", "16", "0"], ["27", "19", "8", "0"], ["40", "30", "10", "0"], ["54", "46", "8", "0"]]
    assert [rows[3][f"clock-{cell}"] for cell in ("prompt", "cached", "computed", "lost")] == ["59", "11", "48", "40"]
    assert [row["blocks-cached"] for row in rows] == ["0", "16", "16", "32"]
    assert [row["blocks-lost"] for row in rows] == ["0", "3", "14", "14"]
    sums = [
        [row[cell] for cell in ("prompt", "cached", "computed", "lost", "turns")] for row in table_of(page, "summary")
    ]
    assert sums == [
        ["137", "95", "42", "0", "4 of 4"], ["157", "70", "87", "40", "4 of 4"], ["137", "64", "73", "31", "4 of 4"],
    ]  # fmt: skip
    assert "As sent, nothing was lost in 4 turns." in page
    assert "With the clock in the system prompt this conversation would have lost 40 tokens of the cache." in page
    assert "The prompts with the clock in the system prompt are longer by 20 tokens:" in page
    assert "In blocks of 16 tokens it would have computed 31 tokens more." in page
    bars = re.findall(r'<rect class="(\w+)"[^>]*data-turn="4" data-way="(\w+)" data-tokens="(\d+)"', page)
    assert bars == [
        ("cached", "real", "46"), ("new", "real", "8"),
        ("cached", "clock", "11"), ("shortfall", "clock", "40"), ("new", "clock", "8"),
        ("cached", "blocks", "32"), ("shortfall", "blocks", "14"), ("new", "blocks", "8"),
    ]  # fmt: skip
    assert "data-untried" not in page
    assert "words" not in re.sub(r'class="[^"]*"', "", page)


def test_owner_sees_the_same_numbers_and_nobody_else_does(site: Site, mina: Visitor) -> None:
    jun, berta = site.user("jun"), site.user("berta")
    path = worked_example(site, jun)
    script_comparisons(site.backend)
    own = jun.open(f"{path}/cache/what-if")
    assert "would have lost 40 tokens of the cache" in own.text
    assert f'href="{path}/cache"' in own.text
    assert f'href="{path}/cache/what-if"' in jun.open(f"{path}/cache").text
    script_comparisons(site.backend)
    assert table_of(mina.open(f"/operator{path}/what-if").text, "turns") == table_of(own.text, "turns")
    for visitor in (berta, mina):
        assert visitor.open(f"{path}/cache/what-if").status_code == 404
    for visitor in (jun, berta):
        assert visitor.open(f"/operator{path}/what-if").status_code == 404


def test_page_says_why_the_server_did_not_compare_and_shows_the_rest(site: Site, mina: Visitor) -> None:
    path = worked_example(site, mina)
    site.backend.script(error_reply(403, "permission_error"), path=COMPARE)
    page = mina.open(f"/operator{path}/what-if").text
    assert "0 of 4 turns were compared" in page
    assert "<li>4 turns: the model server refused to compare. It does so only with its key.</li>" in page
    assert "The clock in the system prompt could not be tried." in page
    rows = table_of(page, "turns")
    assert [(row["clock"], row["real-cached"], row["blocks-cached"]) for row in rows] == [
        ("not compared", "0", "0"), ("not compared", "19", "16"), ("not compared", "30", "16"),
        ("not compared", "46", "32"),
    ]  # fmt: skip
    assert [row["lost"] for row in table_of(page, "summary")] == ["0", "–", "31"]


def test_page_without_figures_and_without_turns(site: Site, mina: Visitor) -> None:
    site.backend.script(error_reply(400, "invalid_request_error"))
    path = site.ask(mina, "Question")
    page = mina.open(f"/operator{path}/what-if").text
    assert "No turn has reported what it read from the cache" in page
    assert table_of(page, "turns")[0]["real"] == table_of(page, "turns")[0]["clock"] == "not known (ended early)"
    assert "%" not in re.sub(r"<style.*?</style>", "", page)
    site.rows("UPDATE turns SET conversation_id = NULL")
    assert "This conversation has no turns yet." in mina.open(f"/operator{path}/what-if").text


def test_branch_is_chosen_in_the_address(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "One")
    regenerate = mina.page.text.rsplit("/regenerate", 1)[0].rsplit('"', 1)[1]
    mina.submit(f"{regenerate}/regenerate")
    site.wait_idle(mina)
    page = mina.open(f"/operator{path}/what-if")
    assert [row["number"] for row in table_of(page.text, "turns")] == ["2"]
    first = re.findall(r'<option value="([\w-]+)">', page.text)[0]
    chosen = mina.open(f"/operator{path}/what-if?branch={first}")
    assert [row["number"] for row in table_of(chosen.text, "turns")] == ["1"]
    for wrong in ("nonsense", UUID(int=1)):
        refused = mina.open(f"/operator{path}/what-if?branch={wrong}")
        assert refused.status_code == 400
        assert "“branch” is not one of this conversation." in refused.text


def what_if(*turns: TurnWhatIf) -> ConversationWhatIf:
    return ConversationWhatIf(UUID(int=1), "abcdefgh", turns)


def tried(
    real: Read | None, clock: Read | Obstacle, speed: float | None = None, blocks: Read | None = None
) -> TurnWhatIf:
    return TurnWhatIf(
        number=1,
        figures=counted(real.computed, real.cached) if real else figures(),
        real=real,
        blocks=blocks or real,
        clock=clock if isinstance(clock, Read) else None,
        obstacle=clock if isinstance(clock, Obstacle) else None,
        tokens_per_second=speed,
    )


def test_verdict_speaks_of_the_compared_turns_only_where_some_were_not() -> None:
    compared = tried(Read(100, 90, 0), Read(95, 5, 80), 500)
    left = tried(Read(1000, 900, 0), Obstacle.TIME_UP, 500)
    whole, part = (verdict_of(what_if(*turns), ENGLISH)[1] for turns in ((compared,), (compared, left)))
    assert whole == (
        "With the clock in the system prompt this conversation would have lost 80 tokens of the cache (about 0.16 s)."
    )
    assert part == whole.replace("this conversation", "the compared turns")
    korean = verdict_of(what_if(compared, left), KOREAN)
    assert (
        korean[1] == "시스템 프롬프트에 시각을 넣었다면 비교한 턴들은 캐시에서 토큰 80개를 잃었을 것입니다 (약 0.16초)."
    )
    assert obstacles_in_words(what_if(compared, left), ENGLISH) == (
        ("1 turn", "the time for this page was over before their turn came."),
    )


def test_shorter_prompts_are_no_praise_for_the_clock() -> None:
    """It loses 30 tokens and computes 20 less, for its prompts are without notes."""
    shorter = what_if(tried(Read(100, 40, 0), Read(70, 30, 30)))
    said = verdict_of(shorter, ENGLISH)[1]
    assert said == "With the clock in the system prompt this conversation would have lost 30 tokens of the cache."
    assert prompt_length_words(shorter, ENGLISH).startswith(
        "The prompts with the clock in the system prompt are shorter by 30 tokens, because the questions are without"
    )
    assert "토큰 30개만큼 짧습니다" in prompt_length_words(shorter, KOREAN)
    assert all("less" not in sentence for sentence in verdict_of(shorter, ENGLISH))
    untried = what_if(tried(Read(100, 90, 0), Obstacle.AWAY))
    assert prompt_length_words(untried, ENGLISH) == ""


def test_verdict_when_nothing_would_have_been_lost() -> None:
    same = what_if(tried(Read(100, 90, 0), Read(100, 90, 0)))
    assert verdict_of(same, ENGLISH)[1].endswith("this conversation would have lost nothing.")
    assert prompt_length_words(same, ENGLISH) == ""
    lost = verdict_of(what_if(tried(Read(100, 50, 40), Obstacle.AWAY, 100)), ENGLISH)
    assert lost == (
        "As sent, 40 tokens (about 0.40 s) were lost.",
        "The clock in the system prompt could not be tried.",
        "In blocks of 16 tokens it would have computed just as many tokens.",
    )


def test_seconds_are_absent_where_no_speed_was_measured() -> None:
    unmeasured = what_if(tried(Read(100, 90, 0), Read(95, 5, 80)))
    assert [row.time for row in summary_of(unmeasured, ENGLISH)] == ["0.00 s", "–", "0.00 s"]
    assert cells_of(unmeasured.turns[0], ENGLISH, "UTC").clock is not None
    assert "s)" not in "".join(verdict_of(unmeasured, ENGLISH))


def test_a_turn_that_cannot_be_rebuilt_says_so() -> None:
    gone, away = (cells_of(tried(Read(9, 0, 0), obstacle), ENGLISH, "UTC") for obstacle in (
        Obstacle.DELETED, Obstacle.AWAY,
    ))  # fmt: skip
    assert (gone.clock, gone.untried, away.untried) == (None, "not rebuildable", "not compared")


def test_every_obstacle_has_words_in_both_languages() -> None:
    for language in (ENGLISH, KOREAN):
        said = [
            words
            for obstacle in Obstacle
            for _, words in obstacles_in_words(what_if(tried(Read(9, 0, 0), obstacle)), language)
        ]
        assert len(set(said)) == len(Obstacle) - 1  # Without figures there is nothing to compare.


def test_layers_add_up_to_the_prompt_and_a_gap_is_no_zero() -> None:
    read = Read(59, 11, 40)
    assert layers_of(read) == (("cached", 11), ("shortfall", 40), ("new", 8))
    chart = what_if_chart_of([tried(Read(54, 46, 0), read), tried(None, Obstacle.NO_FIGURES)])
    assert chart.highest == 59
    assert sum(segment.height for segment in chart.groups[0].bars[1].segments) == pytest.approx(PLOT_HEIGHT, abs=0.05)
    assert [bar.segments for bar in chart.groups[1].bars] == [(), (), ()]
    assert what_if_chart_of([]).groups == ()
