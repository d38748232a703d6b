"""What operators may see of other people's texts: nothing, unless the settings say so, and then never unseen."""

import re
from uuid import UUID

import httpx
from starlette.routing import Route

from app.web.application import PAGE_ROUTES
from tests.app.web.cache_pages.conftest import OpenShowing
from tests.app.web.cache_pages.talks import PIECES, Talk, talk, tell
from tests.app.web.site import Site
from tests.app.web.visitor import Visitor

CANARIES = ("CanaryTitle", "CanaryQuestion", "CanaryPrompt", "CanaryStop", "CanaryAnswer", "Two")
TOKENS = (*(str(number) for _, _, number, _ in PIECES), "Zebra", "Quagga", "Okapi", "crossing")
QUERIES = ("", "?range=all", "?position=4&layer=1&head=0")


def secret_talk(site: Site, visitor: Visitor) -> Talk:
    """A conversation of which every text is a canary, and whose last turn has lost something."""
    both = talk(site, visitor, prompts=("CanaryPrompt one", "CanaryPrompt two"))
    visitor.open(f"{both.path}?settings")
    visitor.submit(f"{both.path}/title", title="CanaryTitle")
    site.rows("UPDATE messages SET text = 'CanaryQuestion' WHERE role = 'user' AND text = 'One'")
    site.rows("UPDATE messages SET text = 'CanaryAnswer' WHERE role = 'assistant'")
    tell(site, both.last, outcome="volatile_system_prompt", fault=True, diverged_where="system", diverged_offset=13,
         diverged_kind="other", diverged_token=3, stop_reason="stop_sequence", stop_sequence="CanaryStop",
         params='{"max_tokens": 9, "stop_sequences": ["CanaryStop"]}', error_message="CanaryStop")  # fmt: skip
    return both


def pages(site: Site, mina: Visitor, both: Talk) -> dict[str, httpx.Response]:
    """Every page under /operator that the route table has, as the operator sees it."""
    user_id = str(UUID(site.rows("SELECT owner_id FROM conversations")[0][0]))
    ids = {"conversation_id": both.path.rsplit("/", 1)[1], "turn_id": both.last, "user_id": user_id}
    found = {}
    for route in PAGE_ROUTES:
        if isinstance(route, Route) and route.path.startswith("/operator") and "GET" in (route.methods or ()):
            path = re.sub(r"{(\w+)(:\w+)?}", lambda part: ids.get(part[1], part[0]), route.path)
            for query in QUERIES:
                found[path + query] = mina.open(path + query)
    return found


def test_no_operator_page_has_texts_pieces_or_ids_of_tokens(open_showing: OpenShowing) -> None:
    site = open_showing()
    mina, jun = site.set_up(), site.user("jun")
    both = secret_talk(site, jun)
    seen = pages(site, mina, both)
    assert {f"/operator{both.path}", f"/operator/turns/{both.last}"} <= set(seen)
    for path, page in seen.items():
        assert page.status_code < 500, path
        assert "{" not in path, "a route names an object that this test does not know"
        for word in (*CANARIES, *TOKENS):
            assert word not in page.text, (path, word)
    looking = seen[f"/operator/turns/{both.last}?position=4&layer=1&head=0"].text
    assert looking.count('<li class="token') == len(PIECES)
    assert "data-attention" in looking
    assert "system prompt, character 14, looks like other text" in looking
    assert site.rows("SELECT count(*) FROM audit_log WHERE action = 'conversation_read'") == [(0,)]


def test_operators_who_may_read_see_texts_and_every_view_is_in_the_audit_log(open_showing: OpenShowing) -> None:
    site = open_showing(operators_read_text=True)
    mina, jun = site.set_up(), site.user("jun")
    both = secret_talk(site, jun)
    page = mina.open(f"/operator/turns/{both.last}?position=4").text
    for word in (*TOKENS, "CanaryPrompt"):
        assert word in page, word
    assert "CanaryTitle" in mina.open(f"/operator{both.path}").text
    reference = site.rows("SELECT reference FROM conversations")[0][0]
    entries = site.rows("SELECT subject, actor_id FROM audit_log WHERE action = 'conversation_read'")
    operator = site.rows("SELECT id FROM users WHERE role = 'operator'")[0][0]
    assert entries == [(reference, operator)] * 2
    assert "conversation read by an operator" in mina.open("/operator/audit").text


def test_owner_reads_without_an_entry_whatever_the_setting(open_showing: OpenShowing) -> None:
    site = open_showing()
    site.set_up()
    jun = site.user("jun")
    both = secret_talk(site, jun)
    page = jun.open(f"{both.path}/cache/turns/{both.last}?position=4").text
    for word in (*TOKENS, "CanaryPrompt"):
        assert word in page, word
    assert "CanaryTitle" in jun.open(f"{both.path}/cache").text
    assert site.rows("SELECT count(*) FROM audit_log WHERE action = 'conversation_read'") == [(0,)]
