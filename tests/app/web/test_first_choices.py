"""Model and parameters in the form of a new conversation: they travel with the first message."""

import pytest

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor

FRAGMENT = {"recount-fragment": "1"}
REFUSED_MODEL = "The model server does not list this model now."


def start(visitor: Visitor, **fields: str) -> int:
    """Sends the form of a new conversation without script."""
    visitor.open("/")
    return visitor.submit("/conversations", **{"text": "One", **fields}).status_code


@pytest.mark.parametrize("temporary", ["", "yes"])
def test_what_is_chosen_goes_with_the_first_message_and_stays(site: Site, temporary: str) -> None:
    site.backend.models.append({"type": "model", "id": "second", "display_name": "The second"})
    mina = site.set_up()
    assert '<option value="second">The second</option>' in mina.page.text
    assert '<details class="first-choices">' in mina.page.text
    chosen = {"model": "second", "max_tokens": "7", "temperature": "0.5", "stop_sequences": "a\nb"}
    assert start(mina, temporary=temporary, **chosen) == 303
    site.wait_idle(mina)
    path = mina.page.request.url.path
    site.ask(mina, "Two", path)
    for question in site.backend.questions:
        body = question.json()
        assert (body["model"], body["max_tokens"], body["temperature"]) == ("second", 7, 0.5)
        assert body["stop_sequences"] == ["a", "b"]
        assert "top_p" not in body
    page = mina.open(f"{path}/choices").text
    assert '<option value="second" selected>' in page
    assert mina.form(f"{path}/choices").fields["stop_sequences"] == "a\nb"


def test_nothing_chosen_is_sent_as_ever(site: Site, mina: Visitor) -> None:
    site.ask(mina, "One")
    body = site.backend.questions[0].json()
    assert (body["model"], body["max_tokens"]) == ("scripted", 1024)
    assert not {"temperature", "top_p", "stop_sequences"} & set(body)


def test_a_refused_value_is_named_and_all_that_was_typed_is_kept(site: Site) -> None:
    mina = site.set_up(language="ko")
    typed = {"text": "질문", "system_prompt": "짧게", "temperature": "hot", "top_p": "0.3", "stop_sequences": "끝"}
    assert start(mina, temporary="yes", **typed) == 400
    page = mina.page.text
    assert "온도는 0부터 2까지의 숫자입니다." in page
    assert 'aria-describedby="temperature-hint problem" aria-invalid="true"' in page
    assert '<details class="first-choices" open>' in page
    fields = mina.form("/conversations").fields
    assert typed.items() <= fields.items()
    assert fields["temporary"] == "yes"
    mina.submit("/conversations", temperature="0,3")
    site.wait_idle(mina)
    assert site.backend.questions[0].json()["temperature"] == 0.3


def test_script_gets_the_same_sentence_and_another_key(site: Site, mina: Visitor) -> None:
    token = mina.form_token
    wrong = {"temperature": ("3", "A temperature is a number from 0 to 2."), "model": ("gone", REFUSED_MODEL)}
    for field, (typed, words) in wrong.items():
        fields = {"form_token": token, "submission_key": "key-1", "text": "One", field: typed}
        response = mina.post("/conversations", headers=FRAGMENT, **fields)
        assert (response.status_code, words in response.text) == (400, True)
        assert response.headers["submission-key"] not in ("", "key-1")
    assert not site.backend.questions


def test_a_model_that_is_not_offered_is_refused_and_shown_as_not_listed(site: Site, mina: Visitor) -> None:
    assert start(mina, model="gone") == 400
    assert REFUSED_MODEL in mina.page.text
    assert "gone (not listed now)" in mina.page.text
    assert mina.form("/conversations").fields["text"] == "One"


def test_same_key_with_another_choice_is_a_conflict(site: Site, mina: Visitor) -> None:
    form = {"form_token": mina.form_token, "submission_key": "key-1", "text": "One"}
    first = mina.post("/conversations", **form, temperature="0.5")
    again = mina.post("/conversations", **form, temperature=" 0,50 ")
    assert (first.status_code, again.status_code) == (303, 303)
    assert first.headers["location"] == again.headers["location"]
    for other in ({}, {"temperature": "0.6"}, {"temperature": "0.5", "model": "scripted"}):
        refused = mina.post("/conversations", **form, **other)
        assert refused.status_code == 409
        assert "This form was sent before with other content." in refused.text
    mina.open(first.headers["location"])
    site.wait_idle(mina)
    assert len(site.backend.questions) == 1


def test_choices_come_back_with_the_text_on_an_error_page(site: Site, mina: Visitor) -> None:
    token = mina.form_token
    mina.client.cookies.clear()
    typed = {"text": "One", "model": "scripted", "top_p": "0.3", "stop_sequences": "a\r\nb"}
    mina.page = mina.post("/conversations", form_token=token, submission_key="key-1", **typed)
    assert mina.page.status_code >= 400
    assert typed.items() <= mina.form("/conversations").fields.items()
