"""A person's own numbers: true sums, with what they cover, and nobody else's."""

import re
from datetime import date

from app.reports import Usage, Used, UsedDay
from app.web.languages import load_languages
from app.web.usage_chart import PLOT_HEIGHT, day_chart_of
from app.web.usage_page import DAYS, cells_of
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import answer, delta, ending, message_start

NOTHING = Used(None, 0)


def cells(page: str) -> list[list[str]]:
    """The rows of the table, newest day first and the total last, without coverage."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page.split("<tbody>")[1], re.DOTALL)
    return [re.findall(r"<td>([^<]*)<", row) for row in rows]


def test_usage_is_summed_per_day_and_in_all(site: Site, mina: Visitor) -> None:
    for input_tokens, read, output in ((16, 0, 4), (8, 19, 4)):
        usage = {"input_tokens": input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}
        site.backend.script(*answer("a", usage=usage, output_tokens=output))
        site.ask(mina, "Question")
    site.backend.script(message_start(), delta("b"), *ending(output_tokens=2))
    site.ask(mina, "Question")
    site.ask(site.user("jun"), "Somebody else's question")
    page = mina.open("/account/usage").text
    rows = cells(page)
    assert len(rows) == DAYS + 1
    assert rows[0] == rows[-1] == ["3", "43", "19", "24", "10"]
    assert rows[1] == ["0", "0", "0", "0", "0"]
    assert page.count("2 of 3 turns reported") == 6
    assert page.count("3 of 3 turns reported") == 2


def test_what_was_not_reported_is_no_zero(site: Site, mina: Visitor) -> None:
    site.backend.script(message_start(), delta("b"), *ending(output_tokens=2))
    site.ask(mina, "Question")
    page = mina.open("/account/usage").text
    assert cells(page)[0] == ["1", "not reported", "not reported", "not reported", "2"]
    assert page.count('class="gap"') == 1


def test_deleted_conversations_keep_their_numbers(site: Site, mina: Visitor) -> None:
    usage = {"input_tokens": 16, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    site.backend.script(*answer("a", usage=usage, output_tokens=4))
    path = site.ask(mina, "Question")
    mina.open(f"{path}/delete")
    mina.submit(f"{path}/delete")
    assert cells(mina.open("/account/usage").text)[-1] == ["1", "16", "0", "16", "4"]


def test_cells_tell_nothing_sent_from_nothing_reported() -> None:
    english = load_languages()["en"]
    idle = cells_of("day", Usage(0, NOTHING, NOTHING, NOTHING, NOTHING), english)
    assert (idle.turns, idle.cells[0]) == ("0", ("0", ""))
    silent = cells_of("day", Usage(2, NOTHING, NOTHING, NOTHING, Used(7, 1)), english)
    assert silent.cells[0] == ("not reported", "0 of 2 turns reported")
    assert silent.cells[3] == ("7", "1 of 2 turns reported")


def test_chart_is_on_the_scale_of_the_fullest_day() -> None:
    full = Usage(2, Used(40, 2), Used(30, 2), Used(10, 2), Used(4, 2))
    half = Usage(1, Used(20, 1), Used(0, 1), Used(20, 1), Used(4, 1))
    silent = Usage(1, NOTHING, NOTHING, NOTHING, NOTHING)
    days = [UsedDay(date(2026, 1, number), each) for number, each in enumerate((full, half, silent), 1)]
    chart = day_chart_of(days)
    assert chart.highest == 40
    assert [(bar.cached_height, bar.computed_height, bar.known) for bar in chart.bars] == [
        (PLOT_HEIGHT * 0.75, PLOT_HEIGHT * 0.25, True),
        (0.0, PLOT_HEIGHT * 0.5, True),
        (0.0, 0.0, False),
    ]
    assert day_chart_of([]).highest == 0
