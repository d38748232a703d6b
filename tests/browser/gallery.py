"""Every page of the product with something on it: what axe reads, and what `make screenshots` takes pictures of.

A gallery is two sites: one that waits for its first account, and one that two people have used.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from uuid import UUID

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.app.web.cache_pages.talks import Piece, message_ids, talk, tell
from tests.app.web.operator.bad_day import write_bad_day
from tests.app.web.site import SETUP_CODE
from tests.app.web.visitor import Visitor
from tests.browser.conftest import RunningSite, running_site
from tests.scripted_backend import Gate, ScriptedBackend, Step, answer, delta, error_reply, message_start, ping

Scheme = Literal["dark", "light"]

SYSTEM_PROMPT = "You are a patient teacher. Today is 2026-11-30."
RICH = """Both count, but they **count different things**:

| structure | lookup | keeps order |
| --- | --- | --- |
| list | `O(n)` | yes |
| dictionary | `O(1)` | by insertion |

1. Write the keys down.
2. Ask the dictionary, not the list.

> A list is a row of drawers; a dictionary has names on them.

```python
def count(words: list[str]) -> dict[str, int]:
    \"\"\"How often each word occurs.\"\"\"
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1  # A missing word starts at nothing.
    return found
```

See [the documentation](https://docs.python.org/3/), and ask again where something is missing.
"""
KOREAN = """서울에서 부산까지는 고속열차로 **약 2시간 40분** 걸립니다.

- 첫차는 새벽 5시쯤 떠납니다.
- 주말에는 미리 예매하세요.
"""


EXAMINED_BY = 5  # Requests of the doctor to one backend.
MOST_LOOKS = 1000  # Pages that can be shown while the one answer is being written.


@dataclass(frozen=True)
class ListedPage:
    """`address` may name places of the gallery in braces; `act` brings the page into the state that is shown."""

    name: str
    address: str
    act: Callable[[Page], None] | None = None
    who: Literal["operator", "nobody", "first"] = "operator"


def press(selector: str) -> Callable[[Page], None]:
    return lambda page: page.locator(selector).first.click()


def open_help(page: Page) -> None:
    page.locator("h1").click()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_be_visible()


def open_sidebar(page: Page) -> None:
    """With the menu of one conversation. A phone has to open it first."""
    if page.locator("[popovertarget]").is_visible():
        page.locator("[popovertarget]").click()
    page.locator("#sidebar .row-menu summary").first.click()


def open_all(page: Page) -> None:
    """Every folded part of the page."""
    for summary in page.locator("details > summary").all():
        summary.click()


def warn_of_prompt(page: Page) -> None:
    page.locator(".system-prompt > summary").click()
    page.locator("#system-prompt").fill(SYSTEM_PROMPT)
    expect(page.locator("[data-volatile]")).to_be_visible()


PAGES = (
    ListedPage("setup", f"/setup?code={SETUP_CODE}", who="first"),
    ListedPage("sign-in", "/sign-in", who="nobody"),
    ListedPage("invite", "{invite}", who="nobody"),
    ListedPage("invite-useless", "/invite?code=guess", who="nobody"),
    ListedPage("new", "/"),
    ListedPage("new-with-system-prompt", "/", warn_of_prompt),
    ListedPage("new-with-choices", "/", press(".first-choices > summary")),
    ListedPage("conversation", "{talk}"),
    ListedPage("conversation-settings", "{talk}?settings"),
    ListedPage("conversation-details", "{talk}", press(".figures summary")),
    ListedPage("conversation-note", "{talk}", press(".note summary")),
    ListedPage("conversation-korean", "{korean}"),
    ListedPage("edit", "{edit}"),
    ListedPage("answering", "{live}"),
    ListedPage("failed", "{failed}"),
    ListedPage("cut-off", "{cut_off}"),
    ListedPage("sidebar", "{talk}", open_sidebar),
    ListedPage("choices", "{talk}/choices"),
    ListedPage("delete-conversation", "{talk}/delete"),
    ListedPage("delete-message", "{message}/delete"),
    ListedPage("search", "/search?q=dictionary"),
    ListedPage("search-nothing", "/search?q=zebra"),
    ListedPage("search-refused", "/search?q=" + "x" * 201),
    ListedPage("list", "/conversations"),
    ListedPage("archive", "/conversations?archived=yes"),
    ListedPage("import", "/import"),
    ListedPage("help", "/help"),
    ListedPage("help-dialog", "{talk}", open_help),
    ListedPage("account", "/account"),
    ListedPage("usage", "/account/usage"),
    ListedPage("delete-account", "/account/delete"),
    ListedPage("operator-overview", "/operator?range=24h"),
    ListedPage("operator-overview-tables", "/operator?range=7d&compare=1&backend=scripted", open_all),
    ListedPage("operator-overview-empty", "/operator?to=2020-01-01T00:00Z"),
    ListedPage("operator-turns", "/operator/turns?outcome=evicted"),
    ListedPage("operator-turns-filters", "/operator/turns", press(".filter-form > summary")),
    ListedPage("operator-filter-refused", "/operator?range=2w"),
    ListedPage("operator-conversations", "/operator/conversations"),
    ListedPage("operator-conversation", "/operator{talk}"),
    ListedPage("operator-conversation-lossy", "/operator{lossy}"),
    ListedPage("operator-conversation-one-turn", "/operator{korean}"),
    ListedPage("operator-turn", "{lossy_turn}"),
    ListedPage("operator-turn-attention", "{lossy_turn}?position=60&layer=2&head=1#attention"),
    ListedPage("cache", "{lossy}/cache"),
    ListedPage("cache-branches", "{talk}/cache"),
    ListedPage("cache-turn", "{own_lossy_turn}"),
    ListedPage("cache-turn-attention", "{own_lossy_turn}?position=60&layer=2&head=1#attention"),
    ListedPage("cache-turn-without-record", "{bare_turn}"),
    ListedPage("what-if", "/operator{clocked}/what-if"),
    ListedPage("what-if-own", "{clocked}/cache/what-if"),
    ListedPage("what-if-untried", "/operator{failed}/what-if"),
    ListedPage("people", "/operator/people"),
    ListedPage("person", "{person}"),
    ListedPage("invites", "/operator/invites"),
    ListedPage("audit", "/operator/audit"),
    ListedPage("backends", "/operator/backends"),
    ListedPage("settings", "/operator/settings"),
    ListedPage("storage", "/operator/storage"),
    ListedPage("error", "/nowhere"),
)


@dataclass(frozen=True)
class Gallery:
    """`places` are what the braces of the addresses stand for. Each gate lets one sign of life through."""

    first: RunningSite
    used: RunningSite
    places: dict[str, str]
    gates: Iterator[Gate]

    @property
    def urls(self) -> tuple[str, str]:
        return self.first.url, self.used.url

    def show(self, listed: ListedPage, page: Page) -> None:
        """Opens the page as the list says. `page` belongs to the operator, or to nobody."""
        next(self.gates).open()  # The answer that is being written may go on for as long as pages are looked at.
        site = self.first if listed.who == "first" else self.used
        page.goto(site.url + listed.address.format(**self.places))
        if listed.act:
            listed.act(page)

    def context(self, browser: Browser, language: str, scheme: Scheme, width: int, *, operator: bool) -> BrowserContext:
        viewport = ViewportSize(width=width, height=740 if width < 600 else 800)
        context = browser.new_context(
            viewport=viewport, locale=language, color_scheme=scheme, timezone_id="Asia/Seoul", reduced_motion="reduce"
        )
        context.set_default_timeout(20_000)
        if operator:
            cookies = self.used.visitors[0].client.cookies.items()
            context.add_cookies([{"name": name, "value": value, "url": self.used.url} for name, value in cookies])
        return context


def scrolls_sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@contextmanager
def open_gallery(folder: Path) -> Iterator[Gallery]:
    gates = [Gate() for _ in range(MOST_LOOKS)]
    with (
        running_site(folder / "first.db", ScriptedBackend()) as first,
        running_site(folder / "used.db", ScriptedBackend(), inspection=True) as used,
    ):
        try:
            yield Gallery(first, used, furnish(used, gates), iter(gates))
        finally:
            for gate in gates:
                gate.open()


def furnish(site: RunningSite, gates: Sequence[Gate]) -> dict[str, str]:
    """What the operator and a user have done; one answer is being written until the last gate opens."""
    mina = site.set_up()
    site.user("jun")
    site.user("소영")
    write_bad_day(site.database_file, datetime.now(UTC))
    examine(site, mina)
    places = {"korean": asked(site, mina, "서울에서 부산까지 얼마나 걸려?", KOREAN), "talk": branched(site, mina)}
    article = mina.page.text.split('<article class="message user" id="message-')[1].split('"')[0]
    places["message"] = f"{places['talk']}/messages/{article}"
    places["edit"] = f"{places['talk']}?edit={article}#edited"
    site.backend.script(*answer("One, two, three and", stop_reason="max_tokens", usage=usage_of(31, 0)))
    places["cut_off"] = site.ask(mina, "Count to a hundred")
    site.backend.script(error_reply(400, "invalid_request_error"))
    places["failed"] = site.ask(mina, "What will the weather be in a year?")
    put_away(mina, asked(site, mina, "A recipe for kimchi pancakes", "Mix flour, water and kimchi."), "archived")
    put_away(mina, places["talk"], "pinned")
    places |= people(mina) | lossy(site, mina)
    places["clocked"] = clocked(site, mina)
    begun = "The sea has many layers. The first is\n\n```text\nsunlight, down to 200 m"
    held: list[Step] = [step for gate in gates for step in (gate, ping())]
    site.backend.script(message_start(usage=usage_of(12, 0)), delta(begun), *held)
    mina.open("/")
    mina.submit("/conversations", text="How deep is the sea?")
    places["live"] = mina.page.request.url.path
    gates[0].wait_arrived()
    return places


def examine(site: RunningSite, visitor: Visitor) -> None:
    """Has the doctor look, and waits for its report."""
    visitor.open("/operator/backends")
    visitor.submit("/operator/backends/doctor")
    site.backend.wait_for(lambda: len(site.backend.questions) == EXAMINED_BY)
    while "refresh" in visitor.open("/operator/backends").headers:
        pass


def usage_of(computed: int, cached: int) -> dict[str, int]:
    return {"input_tokens": computed, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached}


def asked(site: RunningSite, visitor: Visitor, text: str, reply: str) -> str:
    site.backend.script(*answer(reply, usage=usage_of(58, 0), output_tokens=74))
    return site.ask(visitor, text)


def branched(site: RunningSite, visitor: Visitor) -> str:
    """A conversation with a system prompt, two turns, and two versions of the second answer."""
    first = "A list keeps things in a row. A dictionary finds them by name."
    site.backend.script(*answer(first, usage=usage_of(71, 0), output_tokens=16))
    visitor.open("/")
    visitor.submit("/conversations", text="What is the difference of list and dict?", system_prompt=SYSTEM_PROMPT)
    site.wait_idle(visitor)
    path = visitor.page.request.url.path
    for reply in ("Shorter: use a dictionary.", RICH):
        site.backend.script(*answer(reply, usage=usage_of(54, 86), output_tokens=210))
        if reply == RICH:
            last = visitor.page.text.rsplit("/regenerate", 1)[0].rsplit('"', 1)[1]
            visitor.submit(f"{last}/regenerate")
        else:
            visitor.submit(f"{path}/messages", text="And which one counts words? Please with an example.")
        site.wait_idle(visitor)
    return path


def clocked(site: RunningSite, visitor: Visitor) -> str:
    """A conversation of six turns, two minutes after each other but for the third, on a server of a known speed."""
    visitor.open("/")
    visitor.submit("/conversations", text="Tell me of the sea. " * 30, system_prompt="You are a patient teacher. " * 9)
    site.wait_idle(visitor)
    path = visitor.page.request.url.path
    for number in range(5):
        site.ask(visitor, f"And what else, for the {number}. time? " * 4, path)
    conversation_id = UUID(path.rsplit("/", 1)[1]).hex
    turns = site.rows(f"SELECT id FROM turns WHERE conversation_id = '{conversation_id}' ORDER BY id")  # noqa: S608
    for (turn_id,), minutes in zip(turns, (12, 10, 10, 7, 5, 3), strict=True):
        at = (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M:00.000000")
        site.rows(f"UPDATE turns SET created_at = '{at}', prefill_ms = 400 WHERE id = '{turn_id}'")  # noqa: S608
    return path


def put_away(visitor: Visitor, path: str, how: str) -> None:
    visitor.open(path)
    visitor.submit(f"{path}/{how}")


def people(visitor: Visitor) -> dict[str, str]:
    """An open invite, and the page of the user."""
    visitor.open("/operator/invites")
    link = visitor.submit("/operator/invites", role="user").text.split("data-secret>")[1].split("<")[0]
    page = visitor.open("/operator/people").text
    person = page.split(">jun<")[0].rsplit('href="', 1)[1].split('"')[0]
    return {"invite": "/invite" + link.split("/invite")[1], "person": person}


def lossy(site: RunningSite, visitor: Visitor) -> dict[str, str]:
    """A conversation that lost tokens in two of seven turns, as rows and server tell; and pages of its turns."""
    prompts = tuple(f"You are a patient teacher of Korean. It is now {hour}:05 on 2026-11-30." for hour in range(9, 16))
    lost = talk(site, visitor, prompts=prompts, pieces=tuple(_pieces()))
    told = ((0, 0), (860, 0), (1740, 0), (410, 1900), (2700, 0), (90, 0), (650, 2600))
    outcomes = ("first_turn", "hit", "hit", "restarted", "hit", "model_switched", "volatile_system_prompt")
    for place, (turn, outcome) in enumerate(zip(lost.turns, outcomes, strict=True)):
        cached, missed = told[place]
        missed += 2600 if outcome == "model_switched" else 0
        tell(site, turn, outcome=outcome, fault=outcome in ("restarted", "volatile_system_prompt"),
             input_tokens=missed + 180, cache_creation_input_tokens=0, cache_read_input_tokens=cached,
             output_tokens=90 + 40 * place, shortfall_tokens=missed if place else None,
             expected_read_tokens=cached + missed if place else None, queued_ms=12, admission_ms=30,
             prefill_ms=120 + missed // 2, time_to_first_token_ms=162 + missed // 2, duration_ms=4200 + missed // 2,
             serving_id="srv-2" if place > 2 else "srv-1", server_outcome="changed" if place == 6 else "hit",
             server_expected_tokens=cached + missed)  # fmt: skip
    tell(site, lost.last, diverged_where="system", diverged_offset=49, diverged_kind="time", diverged_token=14)
    tell(site, lost.turns[2], finished_at="2026-11-30 00:00:00.000000")
    bare = visitor.open(f"{lost.path}/cache").text.split(f'href="{lost.path}/cache/turns/')[1].split('"')[0]
    site.backend.shown.pop(message_ids(site, lost.path)[0])
    turns = f"{lost.path}/cache/turns"
    return {
        "lossy": lost.path, "lossy_turn": f"/operator/turns/{lost.last}", "own_lossy_turn": f"{turns}/{lost.last}",
        "bare_turn": f"{turns}/{bare}",
    }  # fmt: skip


def _pieces() -> Iterator[Piece]:
    """Those of a prompt of 180 tokens and its answer; the first are from the cache."""
    words = ("<|im_start|>", "You", " are", " a", " patient", " teacher", " of", " Korean", ".\n", "안", "녕", "\\xed")
    for place in range(200):
        segment = "system" if place < 40 else "template" if place < 44 else "messages.0" if place < 180 else "answer"
        state = "cached" if place < 120 else "computed" if place < 180 else "generated"
        yield segment, state, 1000 + 37 * (place % 12), words[place % 12]
