"""Small screens, keyboards, and no script at all."""

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.app.web.site import PASSWORD, SETUP_CODE
from tests.browser.chat import say, wait_until_complete
from tests.browser.conftest import RunningSite, Watch, adopt_session
from tests.scripted_backend import Gate, answer, delta, ending, error_reply, message_start

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "height": 740}
LONG = "w" * 300 + "\n\n```python\n" + "x = " + "1 + " * 80 + "1\n```\n\n" + "|a" * 40 + "|\n" + "|-" * 40 + "|\n"
TOO_SMALL = """() => [...document.querySelectorAll("button, a[href], summary, input, select, textarea")]
  .filter((element) => element.type !== "hidden")
  .filter((element) => !element.closest(".visually-hidden, .skip-link, .rendered p, .facts"))
  .filter((element) => element.checkVisibility({ visibilityProperty: true }))
  .map((element) => [element.outerHTML.slice(0, 120), element.getBoundingClientRect().height])
  .filter(([, height]) => height > 0 && height < 43.5)"""


TOO_FAINT = """() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const visible = element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
    if (!own || !visible || element.closest("svg, .visually-hidden, :disabled")) continue;
    const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(background(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push([element.outerHTML.slice(0, 80), ratio]);
  }
  return faint;
}"""


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_too_wide_or_too_small_on_a_phone(
    chromium: Browser, site: RunningSite, watch: Watch, language: str, scheme: str
) -> None:
    context = chromium.new_context(base_url=site.url, viewport=PHONE, locale=language, color_scheme=scheme)  # type: ignore[arg-type]
    watch.over(context)
    page = context.new_page()
    page.goto(f"/setup?code={SETUP_CODE}")
    check(page)
    adopt_session(site, context)
    site.backend.script(*answer(LONG, usage={"input_tokens": 123456}))
    page.goto("/")
    check(page)
    page.locator("#text").fill("q" * 400)
    page.locator("button.send").click()
    wait_until_complete(page, 1)
    path = page.url.removeprefix(site.url)
    page.locator(".settings > summary").click()
    check(page)
    page.get_by_role("heading", level=1).click()
    expect(page.locator(".settings-panel")).to_be_hidden()
    page.locator(".figures summary").click()
    check(page)
    page.locator("[popovertarget]").click()
    expect(page.locator("#sidebar")).to_be_visible()
    check(page)
    page.locator("#sidebar .row-menu summary").click()
    check(page)
    page.keyboard.press("Escape")
    expect(page.locator("#sidebar")).to_be_hidden()
    for other in (
        f"{path}/choices",
        "/conversations",
        "/conversations?archived=yes",
        "/search?q=qq",
        "/import",
        "/help",
    ):
        page.goto(other)
        check(page)
    for other in (f"{path}/delete", "/operator/conversations", f"/operator{path}", "/nowhere"):
        page.goto(other)
        check(page)
    context.close()


def check(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
    assert page.evaluate(TOO_SMALL) == [], page.url
    assert page.evaluate(TOO_FAINT) == [], page.url
    assert page.locator("h1").count() == 1, page.url


def test_conversation_opens_at_its_end_and_tab_reaches_everything(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    page.goto("/")
    say(page, "Hello")
    wait_until_complete(page, 1)
    page.reload()
    reached = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent.trim().split('\\n')[0]"))
    for name in ("New conversation", "Settings", "Sign out", "Time note"):
        assert name in reached


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}])
def test_title_and_settings_stay_in_view_and_cover_no_text(
    chromium: Browser, site: RunningSite, watch: Watch, viewport: dict[str, int]
) -> None:
    context = chromium.new_context(base_url=site.url, viewport=viewport, locale="en-US")  # type: ignore[arg-type]
    watch.over(context)
    adopt_session(site, context)
    page = context.new_page()
    site.backend.script(*answer("line\n\n" * 80))
    page.goto("/")
    expect(page.locator("[data-hint]")).to_contain_text("Enter sends")
    say(page, "A long story")
    wait_until_complete(page, 1)
    assert page.evaluate("scrollY") > 500
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport(ratio=1)
    settings = page.locator(".settings > summary")
    expect(settings).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.querySelector('.conversation-head').getBoundingClientRect().bottom") < 110
    settings.click()
    page.get_by_label("Title").fill("Another title")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Another title")
    # At the very top the head stands above the first words.
    page.evaluate("scrollTo(0, 0)")
    head = page.locator(".conversation-head").bounding_box()
    first = page.locator(".bubble").bounding_box()
    assert head is not None
    assert first is not None
    assert head["y"] + head["height"] <= first["y"]
    context.close()


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}])
def test_question_that_is_edited_stands_below_the_title(
    chromium: Browser, site: RunningSite, watch: Watch, viewport: dict[str, int]
) -> None:
    context = chromium.new_context(base_url=site.url, viewport=viewport, locale="en-US")  # type: ignore[arg-type]
    watch.over(context)
    adopt_session(site, context)
    page = context.new_page()
    site.backend.script(*answer("line\n\n" * 80))
    page.goto("/")
    say(page, "A long story")
    wait_until_complete(page, 1)
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Edit your message")).to_be_focused()
    head, edited = page.locator(".conversation-head").bounding_box(), page.locator("#edited").bounding_box()
    assert head is not None
    assert edited is not None
    assert head["y"] + head["height"] <= edited["y"]
    context.close()


def test_phone_is_used_by_keyboard_from_a_failure_to_another_version(
    site: RunningSite, signed_in: BrowserContext, page: Page
) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    site.backend.script(error_reply(400, "invalid_request_error"))
    page.goto("/")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type("Hello")
    page.keyboard.press("Enter")
    wait_until_complete(page, 1)
    site.backend.script(*answer("First words"))
    page.locator("[data-transcript]").focus()
    press_by_tab(page, "Try again")
    expect(page.locator("article.assistant")).to_contain_text("First words")
    wait_until_complete(page, 1)
    site.backend.script(*answer("Second words"))
    press_by_tab(page, "Another answer")
    expect(page.locator("article.assistant")).to_contain_text("Second words")
    wait_until_complete(page, 1)
    press_by_tab(page, "‹")
    expect(page.locator("article.assistant")).to_contain_text("First words")
    expect(page.get_by_role("button", name="Next version")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("article.assistant")).to_contain_text("Second words")
    check(page)
    page.reload()
    expect(page.locator("#text")).to_be_focused()
    page.locator(".skip-link").focus()
    press_by_tab(page, "Conversations")
    expect(page.locator("#sidebar")).to_be_visible()
    press_by_tab(page, "New conversation")
    expect(page.get_by_role("heading", level=1)).to_have_text("What would you like to ask?")
    expect(page.locator("#sidebar")).to_be_hidden()


def press_by_tab(page: Page, name: str) -> None:
    """Tabs on to what has these words, which has to be seen when it is reached, and presses it."""
    for _ in range(25):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            expect(page.locator(":focus")).to_be_in_viewport(ratio=0.9)
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_copy_button_covers_no_code(site: RunningSite, signed_in: BrowserContext, page: Page) -> None:
    site.backend.script(*answer("```python\n" + "x = 1 + 1  # long \n" * 3 + "```"))
    page.goto("/")
    say(page, "Code, please")
    wait_until_complete(page, 1)
    button, code = page.locator(".copy-code").bounding_box(), page.locator("pre code").bounding_box()
    assert button is not None
    assert code is not None
    assert button["y"] + button["height"] <= code["y"] + 4  # Above the first line's letters.


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
@pytest.mark.parametrize("width", [360, 1280])
def test_turn_table_shows_figures_first_and_that_it_goes_on(
    chromium: Browser, site: RunningSite, watch: Watch, language: str, width: int
) -> None:
    context = chromium.new_context(base_url=site.url, viewport={"width": width, "height": 800}, locale=language)
    watch.over(context)
    adopt_session(site, context)
    page = context.new_page()
    path = site.ask(site.visitors[0], "Hello")
    page.goto(f"/operator{path}")
    table = page.locator(".table-scroll")
    assert table.evaluate("element => element.scrollWidth > element.clientWidth")
    assert "linear-gradient" in table.evaluate("element => getComputedStyle(element).backgroundImage")
    lines = page.evaluate(
        "[...document.querySelectorAll('thead th')].map((cell) => {"
        "  const range = document.createRange();"
        "  range.selectNodeContents(cell);"
        "  return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;"
        "})"
    )
    assert max(lines) <= 2
    table.evaluate("element => element.scrollIntoView()")
    for name in ("prompt", "cached", "new"):
        expect(page.locator(f"[data-cell={name}]")).to_be_in_viewport(ratio=0.9)
    table.evaluate("element => { element.scrollLeft = element.scrollWidth; }")
    expect(page.locator("[data-cell=at]")).to_be_in_viewport(ratio=0.5)
    expect(page.locator("[data-cell=number]")).to_be_in_viewport(ratio=1)
    context.close()


def test_chart_of_the_overview_begins_at_its_newest_end_without_script(
    chromium: Browser, site: RunningSite, watch: Watch
) -> None:
    context = chromium.new_context(base_url=site.url, viewport=PHONE, java_script_enabled=False)  # type: ignore[arg-type]
    watch.over(context)
    adopt_session(site, context)
    site.ask(site.visitors[0], "Hello")
    page = context.new_page()
    page.goto("/operator")
    chart = page.locator(".series .chart-scroll")
    assert chart.evaluate("element => element.scrollWidth > element.clientWidth + 100")
    seen, whole = chart.bounding_box(), chart.locator("svg").bounding_box()
    assert seen is not None
    assert whole is not None
    assert abs(whole["x"] + whole["width"] - seen["x"] - seen["width"]) < 2
    assert whole["x"] < seen["x"] - 100
    assert "linear-gradient" in chart.evaluate("element => getComputedStyle(element).backgroundImage")
    context.close()


def test_main_journey_without_script(chromium: Browser, site: RunningSite, watch: Watch) -> None:
    context = chromium.new_context(base_url=site.url, java_script_enabled=False, locale="en-US")
    context.on("request", lambda request: watch.complaints.extend([] if site.url in request.url else [request.url]))
    page = context.new_page()
    page.goto(f"/setup?code={SETUP_CODE}")
    page.get_by_label("Name").fill("mina")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    page.get_by_label("Your message").fill("First question")
    page.get_by_role("button", name="Send").click()
    # The page refreshes itself until the answer is there.
    expect(page.locator("[data-hint]")).to_have_text("At most 32,000 characters.")
    expect(page.locator(".figures summary")).to_contain_text("prompt tokens", timeout=15_000)

    gate = Gate()
    site.backend.script(message_start(), delta("Begun"), gate, *ending(output_tokens=3))
    page.get_by_label("Your message").fill("Second question")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("article.live")).to_contain_text("Begun", timeout=15_000)
    expect(page.get_by_label("Your message")).to_be_hidden()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".figures summary").last).to_contain_text("stopped by you", timeout=15_000)
    gate.open()

    page.get_by_text("Settings").click()
    page.get_by_role("link", name="Delete this conversation").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No conversations yet.")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    context.close()
