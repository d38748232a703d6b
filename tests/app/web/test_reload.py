"""A page that is loaded again in the middle of an answer, or on a second device."""

import re
import sqlite3
from html import unescape

from tests.app.web.site import PASSWORD, Site
from tests.app.web.test_turn_routes import read, start, text_of
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, delta, ending, message_start


def shown(page: str) -> tuple[str, int]:
    """Text and cursor of the running answer."""
    text = re.search(r"<div [^>]*data-text[^>]*>(.*?)</div>", page, re.DOTALL)
    cursor = re.search(r'data-cursor="(\d+)"', page)
    assert text is not None
    assert cursor is not None
    return unescape(text[1]), int(cursor[1])


def test_reload_behind_fifty_pieces_shows_all_of_them_and_goes_on_from_there(site: Site, mina: Visitor) -> None:
    pieces = [f"{number} <b>\n" for number in range(60)]
    gate = Gate()
    steps = [*map(delta, pieces[:50]), gate, *map(delta, pieces[50:])]
    turn = start(site, mina, message_start(), *steps, *ending(output_tokens=61))
    path = mina.page.request.url.path
    gate.wait_arrived()
    second_device = site.visitor()
    second_device.open("/sign-in")
    second_device.submit("/sign-in", name="mina", password=PASSWORD)
    readers = []
    for device in (mina, second_device):
        text, cursor = shown(device.open(path).text)
        while text != "".join(pieces[:50]):  # What has arrived is published a moment later.
            text, cursor = shown(device.open(path).text)
        assert device.form(f"{path}/messages").hidden
        assert device.turn_id == turn
        readers.append((device, text, cursor))
    gate.open()
    for device, text, cursor in readers:
        assert text + text_of(read(device, turn, after=cursor)) == "".join(pieces)
    with sqlite3.connect(site.database_file) as connection:
        stored = connection.execute("SELECT text FROM messages WHERE role = 'assistant'").fetchall()
    connection.close()
    assert stored == [("".join(pieces),)]
    assert len(site.backend.questions) == 1
