"""What the pages before a deletion say of the model server: that it forgets too, or what it may keep until when."""

import re

import pytest

from app.settings import Backend
from tests.app.web.conftest import OpenSite
from tests.scripted_backend import ScriptedBackend

FORGETS = {
    "en": ("The model server forgets this text as well.", "The model server forgets your conversations as well."),
    "ko": ("모델 서버도 이 글을 잊습니다.", "모델 서버도 이 대화들을 잊습니다."),
}
KEEPS = {
    "en": (
        "The model server may keep what it computed of this text until it needs the room.",
        "The model server may keep what it computed of your conversations until it needs the room.",
    ),
    "ko": (
        "모델 서버에는 이 글에서 계산해 둔 내용이 공간이 필요해질 때까지 남아 있을 수 있습니다.",
        "모델 서버에는 대화에서 계산해 둔 내용이 공간이 필요해질 때까지 남아 있을 수 있습니다.",
    ),
}


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("forgets", [True, False])
def test_the_pages_before_a_deletion_say_whether_the_model_server_forgets(
    open_site: OpenSite, backend: ScriptedBackend, backend_url: str, forgets: bool, language: str
) -> None:
    site = open_site(backends=(Backend(name="scripted", base_url=backend_url, forgets=forgets),))
    mina = site.set_up(language)
    path = site.ask(mina, "Hello")
    message = re.findall(r'id="message-([0-9a-f-]+)"', mina.page.text)[0]
    said, unsaid = (FORGETS, KEEPS) if forgets else (KEEPS, FORGETS)
    for page, of in ((f"{path}/delete", 0), (f"{path}/messages/{message}/delete", 0), ("/account/delete", 1)):
        text = mina.open(page).text
        assert said[language][of] in text
        assert unsaid[language][of] not in text
