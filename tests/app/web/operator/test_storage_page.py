"""What the database holds, and what goes next."""

import re

from app.web.languages import load_languages
from app.web.operator.storage_page import bytes_words
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor


def test_rows_and_size_are_those_of_the_database(site: Site, mina: Visitor) -> None:
    site.ask(mina, "Hello")
    page = mina.open("/operator/storage").text
    rows = {name: int(count.replace(",", "")) for name, count in re.findall(r'data-rows="(\w+)">([\d,]+)<', page)}
    assert (rows["turns"], rows["messages"], rows["users"]) == (1, 2, 1)
    assert rows == {name: site.count(name) for name in rows}
    assert re.search(r"data-size>[\d.,]+ KiB", page)
    assert page.count("off: nothing goes by itself") == 2
    assert "Oldest turn: none" not in page


def test_an_empty_database_has_no_oldest_turn(mina: Visitor) -> None:
    assert "Oldest turn: none" in mina.open("/operator/storage").text


def test_what_the_retention_settings_remove_next(open_site: OpenSite) -> None:
    site = open_site(retention_days=30, turn_retention_days=1)
    mina = site.set_up()
    site.ask(mina, "Hello")
    page = mina.open("/operator/storage").text
    assert re.findall(r'data-due="days">\s*(.*?)\s*<', page) == ["after 30 days", "after 1 day"]
    assert re.findall(r'data-due="now">\s*(.*?)\s*<', page) == ["0", "0"]
    due = re.findall(r'data-due="next">\s*(.*?)\s*<', page)
    assert due[0] != "none"
    assert due[1] == "none"


def test_bytes_in_words() -> None:
    english = load_languages()["en"]
    assert [bytes_words(count, english) for count in (0, 1023, 1024, 1536 * 1024, 5 * 1024**4)] == [
        "0 bytes", "1,023 bytes", "1.0 KiB", "1.5 MiB", "5.0 TiB",
    ]  # fmt: skip
    assert bytes_words(5000 * 1024**4, english) == "5,000.0 TiB"
