"""What people take out of a conversation, and where conversations go: clipboard, archive, download, temporary ones."""

import io
import json
import zipfile

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.app.web.site import PASSWORD
from tests.browser.chat import say, wait_until_complete
from tests.browser.conftest import RunningSite
from tests.browser.test_sidebar import row
from tests.scripted_backend import Gate, answer, delta, ending, message_start

pytestmark = pytest.mark.browser

CODE = 'def 인사(이름):\n    if not 이름:\n\n        return "<b>&amp;</b>"\n\treturn `이름`\n'


@pytest.fixture
def page(signed_in: BrowserContext) -> Page:
    page = signed_in.new_page()
    page.set_viewport_size({"width": 1200, "height": 800})
    page.goto("/")
    return page


def test_copy_button_takes_exactly_the_code(site: RunningSite, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    gate = Gate()
    text = f"First:\n\n```python\n{CODE}```\n\nThen:\n\n```\nother\n```\n\nEnd"
    site.backend.script(message_start(), delta(text), gate, *ending(output_tokens=9))
    say(page, "Code")
    for ended in (False, True):  # The buttons of a running answer are not those of the settled one.
        buttons = page.locator(".copy-code")
        expect(buttons).to_have_count(2)
        for number, code in enumerate((CODE, "other\n")):
            buttons.nth(number).click()
            expect(buttons.nth(number)).to_have_text("Copied")
            assert page.evaluate("navigator.clipboard.readText()") == code
        if not ended:
            gate.open()
            wait_until_complete(page, 1)


def test_archive_takes_a_conversation_out_of_the_sidebar_and_gives_it_back(page: Page) -> None:
    say(page, "Old matter")
    wait_until_complete(page, 1)
    row(page, "Old matter").locator("summary").click()
    row(page, "Old matter").get_by_role("button", name="Move to the archive").click()
    expect(page.locator(".conversation-head .tag")).to_have_text("Archived")
    expect(row(page, "Old matter")).to_have_count(0)
    page.goto("/conversations")
    expect(page.locator("main .title")).to_have_count(0)
    page.get_by_role("link", name="Archive", exact=True).click()
    page.locator("main").get_by_role("link", name="Old matter").click()
    say(page, "Still of use")
    wait_until_complete(page, 2)
    page.get_by_text("Settings").click()
    page.locator(".settings-panel").get_by_role("button", name="Take out of the archive").click()
    expect(page.locator(".conversation-head .tag")).to_have_count(0)
    expect(row(page, "Old matter")).to_be_visible()


def test_temporary_conversation_is_listed_nowhere_and_ends_with_the_session(page: Page) -> None:
    page.get_by_label("Temporary").check()
    say(page, "Between us")
    wait_until_complete(page, 1)
    expect(page.locator(".conversation-head .tag")).to_have_text("Temporary")
    address = page.url
    for path in ("/", "/conversations", "/conversations?archived=yes", "/search?q=Between"):
        page.goto(path)
        expect(page.get_by_role("link", name="Between us")).to_have_count(0)
    page.goto(address)
    say(page, "And more")
    wait_until_complete(page, 2)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("mina")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What would you like to ask?")
    response = page.goto(address)
    assert response is not None
    assert response.status == 404


def test_model_is_chosen_and_all_data_is_downloaded(site: RunningSite, page: Page) -> None:
    site.backend.models.append({"type": "model", "id": "second", "display_name": "The second"})
    site.restart()  # The list of models may be known from a page before.
    page.goto("/")
    site.backend.script(*answer("기억할 답"))
    say(page, "기억해 줘")
    wait_until_complete(page, 1)
    page.get_by_text("Settings").click()
    page.get_by_role("link", name="Model and parameters").click()
    page.get_by_label("Model", exact=True).select_option("The second")
    page.get_by_label("Temperature").fill("0.5")
    page.locator("form.choices button[type=submit]").click()
    say(page, "Again")
    wait_until_complete(page, 2)
    asked = site.backend.questions[-1].json()
    assert (asked["model"], asked["temperature"]) == ("second", 0.5)

    page.goto("/account")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all my data").click()
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as file:
        assert file.testzip() is None
        stored = [json.loads(file.read(name)) for name in file.namelist() if name.startswith("conversations/")]
    texts = [[message["text"] for message in each["messages"]] for each in stored]
    assert [each[:3] for each in texts] == [["기억해 줘", "기억할 답", "Again"]]
