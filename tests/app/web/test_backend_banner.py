"""The banner over the composer while the model server does not answer; it hides nothing."""

import time

import pytest

from app.turns.rhythm import Rhythm
from tests.app.web.conftest import OpenSite
from tests.app.web.visitor import Visitor
from tests.scripted_backend import HEALTH, MODELS, Gate, ScriptedBackend, error_reply

WORDS = {"en": "The model server does not answer; what you send will fail", "ko": "모델 서버가 응답하지 않습니다."}


def open_until(visitor: Visitor, path: str, *, banner: bool, words: str) -> str:
    """The page, once the watch has looked again."""
    for _ in range(400):
        if (words in visitor.open(path).text) is banner:
            return visitor.page.text
        time.sleep(0.025)
    raise TimeoutError("the banner does not change")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_banner_stands_over_the_composer_until_the_backend_is_back(
    open_site: OpenSite, backend: ScriptedBackend, language: str
) -> None:
    site = open_site(rhythm=Rhythm(watch=0.05))
    visitor, words = site.set_up(language), WORDS[language]
    path = site.ask(visitor, "Hello")
    for page in ("/", path):
        assert words not in visitor.open(page).text
    # The next look finds a failing server; the one after it waits at the gate, so that the banner stays.
    gate = Gate()
    for _ in range(3):
        backend.script(error_reply(500, "api_error"), path=HEALTH)
    backend.script(gate, b"{}", path=HEALTH)
    assert words in open_until(visitor, "/backend", banner=True, words=words)
    for page in ("/", path):
        text = visitor.open(page).text
        assert text.index("data-backend") < text.index(words) < text.index('name="text"')
    gate.open()
    assert words not in open_until(visitor, path, banner=False, words=words)


def test_nobody_is_asked_for_models_while_the_backend_is_known_to_be_away(
    open_site: OpenSite, backend: ScriptedBackend
) -> None:
    site = open_site(rhythm=Rhythm(watch=0.05, list_patience=10, list_pause=0))
    backend.script(error_reply(401, "authentication_error"), path=MODELS)
    visitor, gate, unlisted = site.set_up(), Gate(), "does not say now which models it has"
    assert unlisted in visitor.page.text
    for _ in range(3):
        backend.script(error_reply(500, "api_error"), path=HEALTH)
    backend.script(gate, b"{}", path=HEALTH)
    open_until(visitor, "/backend", banner=True, words=WORDS["en"])
    assert unlisted in visitor.open("/").text  # Whoever asked would get the list.
    gate.open()
    open_until(visitor, "/backend", banner=False, words=WORDS["en"])
    assert unlisted not in visitor.open("/").text


def test_banner_is_for_people_who_are_signed_in(open_site: OpenSite) -> None:
    site = open_site()
    site.set_up()
    response = site.visitor().client.get("/backend", follow_redirects=False)
    assert response.headers["location"].startswith("/sign-in")
