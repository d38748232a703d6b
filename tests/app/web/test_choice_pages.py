"""The page of model and parameters, and the system prompt that a new conversation begins with."""

from app.turns.rhythm import Rhythm
from tests.app.web.conftest import OpenSite
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor
from tests.scripted_backend import MODELS, answer, error_reply

# The client does not try again after a refusal, as it does where a server fails.
NO_LIST = error_reply(401, "authentication_error")


def test_model_and_parameters_are_chosen_without_script(site: Site) -> None:
    site.backend.models.append({"type": "model", "id": "second", "display_name": "The second"})
    mina = site.set_up()
    path = site.ask(mina, "One")
    mina.open(f"{path}/choices")
    assert '<option value="second">The second</option>' in mina.page.text
    mina.submit(f"{path}/choices", model="second", temperature="0.5", stop_sequences="END")
    assert mina.page.request.url.path == path
    site.ask(mina, "Two", path)
    body = site.backend.questions[-1].json()
    assert (body["model"], body["temperature"], body["stop_sequences"]) == ("second", 0.5, ["END"])
    assert "top_p" not in body
    page = mina.open(f"{path}/choices").text
    assert '<option value="second" selected>' in page
    assert mina.form(f"{path}/choices").fields["temperature"] == "0.5"


def test_a_refused_value_is_named_and_all_that_was_typed_is_kept(site: Site) -> None:
    mina = site.set_up(language="ko")
    path = site.ask(mina, "One")
    mina.open(f"{path}/choices")
    response = mina.submit(f"{path}/choices", temperature="hot", top_p="0.3", stop_sequences="끝")
    assert response.status_code == 400
    assert "온도는 0부터 2까지의 숫자입니다." in response.text
    assert 'aria-describedby="temperature-hint problem" aria-invalid="true"' in response.text
    fields = mina.form(f"{path}/choices").fields
    assert (fields["temperature"], fields["top_p"], fields["stop_sequences"]) == ("hot", "0.3", "끝")


def test_the_page_says_what_another_model_would_compute_again(site: Site, mina: Visitor) -> None:
    site.backend.script(*answer("One", usage={}))
    path = site.ask(mina, "One")
    assert "data-cost-of-change" not in mina.open(f"{path}/choices").text
    usage = {"input_tokens": 1230, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    site.backend.script(*answer("Two", usage=usage, output_tokens=4))
    site.ask(mina, "Two", path)
    assert "With another model: about 1,234 tokens" in mina.open(f"{path}/choices").text


def test_the_meter_has_the_window_of_the_chosen_model(site: Site) -> None:
    site.backend.models.append({"type": "model", "id": "second", "max_input_tokens": 4096})
    mina = site.set_up()
    path = site.ask(mina, "One")
    assert " of 8,192 tokens" in mina.open(path).text
    mina.open(f"{path}/choices")
    mina.submit(f"{path}/choices", model="second")
    for page in (path, f"{path}/context"):
        assert " of 4,096 tokens" in mina.open(page).text


def test_both_pages_open_while_the_model_server_lists_nothing(open_site: OpenSite) -> None:
    site = open_site(rhythm=Rhythm(list_patience=10, list_pause=0))
    words = "does not say now which models it has"
    site.backend.script(NO_LIST, path=MODELS)
    mina = site.set_up()
    assert words in mina.page.text
    path = mina.send_as_script("/conversations", "One", "key-1").headers["location"]
    mina.open(path)
    site.wait_idle(mina)
    site.backend.script(NO_LIST, path=MODELS)
    assert words in mina.open(f"{path}/choices").text
    assert words not in mina.open("/").text


def test_a_new_conversation_shows_the_instances_system_prompt_and_sends_what_is_left_of_it(open_site: OpenSite) -> None:
    site = open_site(default_system_prompt="Be brief.")
    mina = site.set_up()
    mina.open("/")
    assert mina.form("/conversations").fields["system_prompt"] == "Be brief."
    site.ask(mina, "One")
    assert site.backend.questions[-1].json()["system"] == "Be brief."
    mina.open("/")
    mina.submit("/conversations", text="Two", system_prompt="")
    site.wait_idle(mina)
    assert "system" not in site.backend.questions[-1].json()
