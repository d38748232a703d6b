"""Whose cache a turn may read is decided by the account, never by what comes with a form."""

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor

FIELDS = ("metadata", "metadata[user_id]", "user_id", "user_scope", "owner_id", "cache_salt", "salt")


def scopes(site: Site) -> list[str]:
    return [question.json()["metadata"]["user_id"] for question in site.backend.questions]


def test_forged_scope_in_a_form_or_a_header_is_ignored(site: Site, mina: Visitor) -> None:
    site.ask(mina, "The same words")
    (operators,) = scopes(site)
    jun = site.user("jun")
    site.ask(jun, "The same words")
    jun.open("/")
    forged = {**jun.form("/conversations").fields, **dict.fromkeys(FIELDS, operators), "text": "The same words"}
    response = jun.post("/conversations", headers=dict.fromkeys(("user-id", "x-user-id"), operators), **forged)
    jun.open(response.headers["location"])
    site.wait_idle(jun)
    own, again = scopes(site)[1:]
    assert own == again != operators
    body = site.backend.questions[-1].json()
    assert list(body) == ["model", "max_tokens", "messages", "metadata", "stream"]
    assert list(body["metadata"]) == ["user_id"]
    assert operators not in site.backend.questions[-1].body.decode()
