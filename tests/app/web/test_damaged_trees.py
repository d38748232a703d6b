"""A conversation whose rows were damaged by hand can be read, exported and gone on with."""

import re

import pytest

from tests.app.web.site import Site
from tests.app.web.visitor import Visitor, forms_of

NOWHERE = f"{9:032x}"
DAMAGES = {
    "circle of all": ["UPDATE messages SET parent_id = (SELECT id FROM messages WHERE seq = 4) WHERE seq = 1"],
    "circle of two": ["UPDATE messages SET parent_id = (SELECT id FROM messages WHERE seq = 4) WHERE seq = 3"],
    "own parent": ["UPDATE messages SET parent_id = id WHERE seq = 2"],
    "missing question": ["UPDATE messages SET parent_id = 'NOWHERE' WHERE seq = 2"],
    "missing answer": ["UPDATE messages SET parent_id = 'NOWHERE' WHERE seq = 3"],
    "chosen parents": ["UPDATE messages SET selected_child_id = parent_id"],
    "missing references": [
        "UPDATE conversations SET active_leaf_id = 'NOWHERE'",
        "UPDATE messages SET selected_child_id = 'NOWHERE'",
        "UPDATE turns SET history_start_message_id = 'NOWHERE'",
    ],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_conversation_can_be_read_and_gone_on_with(site: Site, mina: Visitor, damage: str) -> None:
    path = site.ask(mina, "First question")
    site.ask(mina, "Second question", path)
    first, *_, last = re.findall(r'id="message-([^"]+)"', mina.page.text)
    for statement in DAMAGES[damage]:
        assert site.rows(f"{statement} RETURNING id".replace("NOWHERE", NOWHERE))
    pages = [path, f"{path}?leaf={first}", f"{path}?edit={first}", f"{path}/messages/{first}/delete", f"{path}/context"]
    pages += ["/", f"{path}/export.json", f"{path}/export.md", "/search?q=question", f"/operator{path}"]
    assert {page: status for page in pages if (status := mina.open(page).status_code) != 200} == {}
    assert "question" in mina.open(path).text
    for form in forms_of(mina.open(f"{path}?leaf={last}").text):
        if form.action.endswith("/regenerate"):
            assert mina.post(form.action, **form.fields).status_code in (303, 404), form.action
    mina.open(path)
    site.wait_idle(mina)
    site.ask(mina, "Gone on", path)
    assert "Gone on" in mina.page.text
    for question in site.backend.questions:
        roles = [message["role"] for message in question.json()["messages"]]
        assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    mina.open(f"{path}/messages/{first}/delete")
    assert mina.submit(f"{path}/messages/{first}/delete").status_code == 303
    assert mina.open(path).status_code == 200
