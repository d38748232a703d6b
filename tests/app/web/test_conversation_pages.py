"""The main journey without script, and what a conversation's page shows."""

import re
from html import escape
from html.parser import HTMLParser

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import Gate, answer, delta, ending, error_reply, message_start

HOSTILE = [
    "</script><script>alert(1)</script>",
    '" onfocus=alert(1) autofocus x="',
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "<think>plan</think>Title",
    "\u202egnp.exe",
    "{{ 7 * 7 }}{% raw %}",
    "%(name)s %s",
]


def test_two_turns_without_script(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "First question")
    assert "This is answer number 1." in mina.page.text
    site.ask(mina, "Second question", path)
    page = mina.page.text
    assert "First question" in page
    assert "This is answer number 2." in page
    footers = re.findall(r'<span class="part">(.*?)</span>', page)
    assert footers[0].startswith(footers[0].split()[0] + " prompt tokens, 0 from cache (0%)")
    # What the second turn reads is what the first one left: prompt + output - 1.
    first = site.backend.questions[0].json()
    assert first["messages"][0]["content"].startswith("First question")
    prompt, written = int(footers[0].split()[0]), int(footers[1].split()[0])
    second = next(part for part in footers[3:] if "prompt tokens" in part)
    assert f", {prompt + written - 1} from cache (" in second


def test_running_page_has_stop_and_a_refresh_but_no_box_to_type_in(site: Site, mina: Visitor) -> None:
    gate = Gate()
    site.backend.script(message_start(usage={"input_tokens": 5}), delta("Begun"), gate, *ending(output_tokens=2))
    mina.open("/")
    mina.submit("/conversations", text="Go")
    gate.wait_arrived()
    path = mina.page.request.url.path
    page = mina.open(path).text
    assert re.search(r'<noscript>\s*<meta http-equiv="refresh" content="2">\s*</noscript>', page)
    assert mina.form(f"{path}/messages").hidden
    assert "<fieldset data-while-idle disabled>" in page
    assert 'class="running-dot"' in page
    stop = mina.form(f"/turns/{mina.turn_id}/stop")
    assert not stop.hidden
    response = mina.submit(stop.action)
    assert (response.status_code, response.headers["location"]) == (303, path)
    site.wait_idle(mina)
    assert "Begun" in mina.page.text
    assert "stopped by you" in mina.page.text
    assert not mina.form(f"{path}/messages").hidden
    assert "http-equiv" not in mina.page.text
    assert "<fieldset data-while-idle>" in mina.page.text
    gate.open()


def test_send_while_running_gives_the_text_back(site: Site, mina: Visitor) -> None:
    gate = Gate()
    site.backend.script(message_start(), delta("Begun"), gate, *ending(output_tokens=2))
    mina.open("/")
    mina.submit("/conversations", text="Go")
    path = mina.page.request.url.path
    response = mina.submit(f"{path}/messages", text="  Too\nearly ")
    assert response.status_code == 409
    assert "An answer is being written here." in response.text
    assert mina.form(f"{path}/messages").fields["text"] == "  Too\nearly "
    assert not mina.form(f"{path}/messages").hidden
    assert "http-equiv" not in response.text  # A refresh would throw the text away.
    gate.open()


def test_refused_first_message_keeps_text_and_system_prompt(site: Site, mina: Visitor) -> None:
    mina.open("/")
    text = "x" * 33_000
    response = mina.submit("/conversations", text=text, system_prompt="\nBe terse.")
    assert response.status_code == 400
    assert "33,000 characters; at most 32,000 are possible." in response.text
    fields = mina.form("/conversations").fields
    assert fields["text"] == text
    assert fields["system_prompt"] == "\nBe terse."


def test_same_form_sent_twice_is_one_turn(site: Site, mina: Visitor) -> None:
    mina.open("/")
    fields = {**mina.form("/conversations").fields, "text": "Once"}
    first = mina.post("/conversations", **fields)
    second = mina.post("/conversations", **fields)
    assert first.headers["location"] == second.headers["location"]
    mina.open(first.headers["location"])
    site.wait_idle(mina)
    assert mina.page.text.count('class="message user"') == 1
    assert len(site.backend.questions) == 1


def test_limit_of_live_turns_says_when_to_come_back(site: Site, mina: Visitor) -> None:
    gate = Gate()
    for _ in range(2):
        site.backend.script(message_start(), gate, *ending(output_tokens=2))
        mina.open("/")
        mina.submit("/conversations", text="Go")
    mina.open("/")
    response = mina.submit("/conversations", text="A third")
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) > 0
    assert "2 answers are being written for you" in response.text
    assert mina.form("/conversations").fields["text"] == "A third"
    gate.open()


def test_system_prompt_goes_first_and_can_be_changed(site: Site, mina: Visitor) -> None:
    mina.open("/")
    mina.submit("/conversations", text="Hi", system_prompt="Be terse.")
    site.wait_idle(mina)
    path = mina.page.request.url.path
    assert site.backend.questions[-1].json()["system"] == "Be terse."
    assert mina.form(f"{path}/system-prompt").fields["system_prompt"] == "Be terse."
    mina.submit(f"{path}/system-prompt", system_prompt="\n Be long. ")
    assert mina.form(f"{path}/system-prompt").fields["system_prompt"] == "\n Be long. "
    site.ask(mina, "Again", path)
    assert site.backend.questions[-1].json()["system"] == "\n Be long. "


def test_refused_system_prompt_comes_back_with_the_reason(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hi")
    response = mina.submit(f"{path}/system-prompt", system_prompt="y" * 33_000)
    assert response.status_code == 400
    assert "At most 32,000 characters are possible." in response.text
    assert '<details class="settings" open>' in response.text
    assert mina.form(f"{path}/system-prompt").fields["system_prompt"] == "y" * 33_000


def test_rename(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hi there")
    mina.submit(f"{path}/title", title="Another name")
    assert '<h1 dir="auto" title="Another name">Another name</h1>' in mina.page.text
    assert mina.submit(f"{path}/title", title="   ").status_code == 400
    assert "A title cannot be empty." in mina.page.text


def test_too_long_title_is_refused_with_the_limit_and_comes_back(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hi there")
    assert mina.submit(f"{path}/title", title="a" * 200).status_code == 303
    response = mina.submit(f"{path}/title", title="b" * 201)
    assert response.status_code == 400
    assert 'role="alert">At most 200 characters are possible.' in response.text
    assert mina.form(f"{path}/title").fields["title"] == "b" * 201
    assert "a" * 200 in mina.open(path).text


def test_limits_stand_in_the_page(site: Site, mina: Visitor) -> None:
    site.ask(mina, "Hi there")
    assert 'maxlength="200"' in mina.page.text
    assert "At most 200 characters." in mina.page.text
    assert 'data-max="32000"' in mina.page.text
    # The keys are named by the script that gives them their meaning.
    assert re.search(r'data-usual="Enter sends[^>]*>At most 32,000 characters.<', mina.page.text)


def test_send_to_a_deleted_conversation_says_so_and_keeps_the_text(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hi there")
    page = mina.page
    key = mina.form(f"{path}/messages").fields["submission_key"]
    by_script = {"recount-fragment": "1"}
    mina.open(f"{path}/delete")
    mina.submit(f"{path}/delete")
    mina.page = page
    fragment = mina.post(f"{path}/messages", by_script, form_token=mina.form_token, submission_key=key, text="Precious")
    assert fragment.status_code == 404
    assert "This conversation no longer exists." in fragment.text
    assert '<a href="/">Start a new conversation</a>' in fragment.text
    response = mina.submit(f"{path}/messages", text="Precious")
    assert response.status_code == 404
    assert "This conversation no longer exists. Your text is kept" in response.text
    assert mina.form("/conversations").fields["text"] == "Precious"
    assert mina.submit("/conversations").status_code == 303


def test_script_can_catch_up_with_the_messages(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hi there")
    messages = mina.open(path, recount_fragment="1").text
    assert "<html" not in messages
    assert messages.count("<article") == 2


def test_delete_asks_first(site: Site, mina: Visitor) -> None:
    path = site.ask(mina, "Hi there")
    mina.submit(mina.page.text.split("/regenerate", 1)[0].rsplit('"', 1)[1] + "/regenerate")
    site.wait_idle(mina)
    mina.open(f"{path}/delete")
    assert "Its 3 messages are deleted for good." in mina.page.text
    mina.submit(f"{path}/delete")
    assert mina.page.request.url.path == "/"
    assert "No conversations yet." in mina.page.text
    assert mina.open(path).status_code == 404


def test_context_note_is_shown_apart_from_the_words(site: Site, mina: Visitor) -> None:
    mina.open("/")
    mina.submit("/conversations", text="What time is it?", time_zone="Asia/Seoul")
    site.wait_idle(mina)
    sent = site.backend.questions[-1].json()["messages"][0]["content"]
    note = sent.removeprefix("What time is it?\n\n")
    assert "Asia/Seoul" in note
    assert '<div class="bubble plain" dir="auto">What time is it?</div>' in mina.page.text
    assert f'<p class="plain" dir="auto">{escape(note)}</p>' in mina.page.text


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_hostile_words_are_only_words(site: Site, mina: Visitor) -> None:
    for words in HOSTILE:
        site.backend.script(*answer(words))
        path = site.ask(mina, words)
        for page in (mina.page.text, mina.open(f"{path}/delete").text, mina.open(f"/operator{path}").text):
            elements = _Elements()
            elements.feed(page)
            assert elements.names.count("script") == 1
            assert not {"img", "think"} & set(elements.names)
            assert not [name for name in elements.attributes if name.startswith("on")]
            assert "49" not in re.findall(r"<h1[^>]*>(.*?)</h1>", page)


def test_failed_turn_says_why_in_our_words(site: Site, mina: Visitor) -> None:
    site.backend.script(error_reply(400, "invalid_request_error", "secret upstream words"))
    site.ask(mina, "Hi")
    assert "The model server refused the request." in mina.page.text
    assert "secret upstream words" not in mina.page.text
    assert "failed" in mina.page.text


def test_empty_states_and_korean(site: Site) -> None:
    visitor = site.set_up("ko")
    assert '<html lang="ko">' in visitor.page.text
    assert "아직 대화가 없습니다." in visitor.page.text
    site.ask(visitor, "안녕")
    assert "캐시 재사용" in visitor.page.text
    assert "시각 메모" in visitor.page.text


def test_very_long_answer_is_shown_as_plain_text(site: Site, mina: Visitor) -> None:
    site.backend.script(*answer("**bold** " + "y" * 60_000))
    site.ask(mina, "Hi")
    assert '<div class="answer plain" dir="auto">**bold** yyy' in mina.page.text
