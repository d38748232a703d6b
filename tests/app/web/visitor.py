"""A browser without script: keeps cookies, and fills in and sends the forms that it was shown."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx

from tests.live_server import NO_TLS


@dataclass
class Form:
    """`fields` are the values that the page put in; buttons and fields outside the form are left out."""

    method: str
    action: str
    hidden: bool
    fields: dict[str, str] = field(default_factory=dict)


class _FormParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._open: Form | None = None
        self._textarea: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(values["method"], values["action"], "hidden" in values)
            self.forms.append(self._open)
        elif values.get("type") == "checkbox" and "checked" not in values:
            pass  # A browser does not send it either.
        elif self._open and tag in ("input", "select") and "name" in values:
            self._open.fields[values["name"]] = values.get("value", "")
        elif self._open and tag == "textarea":
            self._textarea = values["name"]
            self._open.fields[self._textarea] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "textarea" and self._open and self._textarea:
            text = self._open.fields[self._textarea]
            self._open.fields[self._textarea] = text.removeprefix("\n")
            self._textarea = None

    def handle_data(self, data: str) -> None:
        if self._open and self._textarea:
            self._open.fields[self._textarea] += data


def forms_of(html: str) -> list[Form]:
    parser = _FormParser()
    parser.feed(html)
    return parser.forms


class Visitor:
    """`page` is the last answer. Redirects after a form are followed once, as a browser would."""

    def __init__(self, url: str, language: str = "en") -> None:
        self.client = httpx.Client(base_url=url, headers={"accept-language": language}, timeout=20, verify=NO_TLS)
        self.page = httpx.Response(200)

    def open(self, path: str, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.page = self.client.get(path, headers=named)
        return self.page

    def form(self, action: str) -> Form:
        """The form of the last page that goes to this address."""
        return next(form for form in forms_of(self.page.text) if form.action == action)

    def submit(self, action: str, **fields: str) -> httpx.Response:
        """Sends that form with some fields typed over, and opens the page that it leads to."""
        response = self.post(action, **{**self.form(action).fields, **fields})
        self.page = response
        if response.status_code == 303:
            self.open(response.headers["location"])
        return response

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
        return self.client.post(path, data=fields, headers=headers)

    @property
    def form_token(self) -> str:
        """Of any form of the last page that changes something."""
        return next(form for form in forms_of(self.page.text) if form.method == "post").fields["form_token"]

    def send_as_script(self, path: str, text: str, key: str) -> httpx.Response:
        """What the composer's script does."""
        return self.post(
            path,
            headers={"recount-fragment": "1"},
            form_token=self.form_token,
            submission_key=key,
            text=text,
            time_zone="Asia/Seoul",
        )

    @property
    def turn_id(self) -> str:
        """Of the running answer of the last page."""
        return self.page.text.split('data-turn="')[1].split('"')[0]
