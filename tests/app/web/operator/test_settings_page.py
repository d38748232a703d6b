"""All settings to be read, and no secret among them."""

import re

from app.settings import Backend, Settings
from app.web.operator.setting_words import DESCRIPTIONS
from tests.app.web.conftest import OpenSite
from tests.app.web.site import SETUP_CODE
from tests.app.web.visitor import Visitor


def shown(page: str, name: str) -> str:
    part = page.split(f'data-setting="{name}"')[1].split('<p class="hint">')[0]
    return " ".join(re.sub(r"<[^>]*>", " ", part.split("<dd>")[1]).split())


def test_every_setting_is_shown_and_a_secret_is_only_set(open_site: OpenSite, backend_url: str) -> None:
    backend = Backend(name="gpu", base_url=backend_url, api_key="SECRET-KEY", context_window=512)
    site = open_site(
        backends=(backend,), redis_url=None, default_system_prompt="Be <b>kind</b>.", trusted_hosts=("127.0.0.1", "b")
    )
    mina = site.set_up()
    page = mina.open("/operator/settings").text
    for name in Settings.model_fields.keys() - {"backends"}:
        assert f'data-setting="RECOUNT_{name.upper()}"' in page
    for name in Backend.model_fields:
        assert f'data-setting="{name}"' in page
    assert shown(page, "RECOUNT_SETUP_CODE") == shown(page, "api_key") == "set"
    assert shown(page, "RECOUNT_INFERENCE_KEY") == "not set"
    assert shown(page, "RECOUNT_ANSWER_TOKENS") == "1024"
    assert shown(page, "RECOUNT_DRAIN_SECONDS") == "0.0 by default 5.0"
    assert shown(page, "RECOUNT_TRUSTED_HOSTS") == "127.0.0.1, b empty by default"
    assert shown(page, "context_window") == "512 empty by default"
    assert shown(page, "RECOUNT_DEFAULT_SYSTEM_PROMPT").startswith("Be &lt;b&gt;kind")
    for secret in ("SECRET-KEY", SETUP_CODE):
        assert secret not in page


def test_names_in_descriptions_are_code(mina: Visitor) -> None:
    page = mina.open("/operator/settings").text
    assert "may read <code>/metrics</code>; empty means" in page
    assert "in tokens (<code>max_tokens</code>)." in page
    assert "people&#39;s conversations" in page
    assert "`" not in page.split("<main")[1]


def test_descriptions_are_all_in_the_catalog(open_site: OpenSite) -> None:
    fields = [*Settings.model_fields.values(), *Backend.model_fields.values()]
    assert {field.description for field in fields} == DESCRIPTIONS
    korean = open_site().set_up("ko").open("/operator/settings").text
    assert "가장 긴 메시지의 글자 수." in korean
    assert "베어러 토큰으로 보내면 <code>/metrics</code>를 읽을 수" in korean
    assert "Longest message, in characters." not in korean
