"""A page that is loaded again in the middle of an answer, or on a second device."""

import sqlite3

from app.markdown import Markdown
from tests.app.web.live_reader import LiveReader
from tests.app.web.site import PASSWORD, Site
from tests.app.web.test_turn_routes import events_of, read, start
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, delta, ending, message_start


def test_reload_behind_fifty_pieces_shows_all_of_them_and_goes_on_from_there(site: Site, mina: Visitor) -> None:
    pieces = [f"{number} <b>\n" + ("\n" if number % 3 == 0 else "") for number in range(60)]
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
        reader = LiveReader(device.open(path).text)
        while reader.length != len("".join(pieces[:50])):  # What has arrived is published a moment later.
            reader = LiveReader(device.open(path).text)
        assert reader.html == Markdown().render("".join(pieces[:49]))
        assert device.form(f"{path}/messages").hidden
        assert device.turn_id == turn
        readers.append((device, reader))
    gate.open()
    for device, reader in readers:
        reader.take(read(device, turn, after=reader.cursor))
        assert reader.html == Markdown().render("".join(pieces))
    with sqlite3.connect(site.database_file) as connection:
        stored = connection.execute("SELECT text FROM messages WHERE role = 'assistant'").fetchall()
    connection.close()
    assert stored == [("".join(pieces),)]
    assert len(site.backend.questions) == 1


def test_reload_in_mid_code_shows_it_in_its_box_and_goes_on_from_there(site: Site, mina: Visitor) -> None:
    text = 'So:\n\n```py\nprint("<b>")\n``\n```\n\n*Done*'
    gate = Gate()
    cut = text.index("```\n\n")
    turn = start(site, mina, message_start(), delta(text[:cut]), gate, delta(text[cut:]), *ending(output_tokens=9))
    path = mina.page.request.url.path
    gate.wait_arrived()
    page = mina.open(path).text
    while LiveReader(page).length < cut:
        page = mina.open(path).text
    assert '<pre dir="ltr" data-language="py"><code>print(&#34;&lt;b&gt;&#34;)\n``\n</code></pre>' in page
    reader = LiveReader(page)
    gate.open()
    reader.take(read(mina, turn, after=reader.cursor))
    assert reader.html == Markdown().render(text)


def test_reader_whose_events_are_gone_gets_all_that_is_to_be_seen(site: Site, mina: Visitor) -> None:
    gate = Gate()
    turn = start(site, mina, message_start(), delta("One\n\n**two"), gate, *ending(output_tokens=9))
    gate.wait_arrived()
    path = mina.page.request.url.path
    reader = LiveReader(mina.open(path).text)
    while not reader.tail:
        reader = LiveReader(mina.open(path).text)
    with mina.client.stream("GET", f"/turns/{turn}/events?after=1000") as response:
        reset = next(events_of(response))
        gate.open()
    assert reset.event == "reset"
    reader.take([reset])
    assert reader.html + "|" + reader.tail == "<p>One</p>\n|\n**two"
