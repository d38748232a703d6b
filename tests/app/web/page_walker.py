"""Walks through the HTML of a whole page and fails on whatever could run or load what is not ours."""

from html.parser import HTMLParser

NEVER = frozenset(
    {"img", "image", "picture", "source", "video", "audio", "track", "iframe", "frame", "object", "embed", "applet"}
    | {"base", "style", "use", "animate", "foreignobject", "math:a", "portal"}
)
LOADS = frozenset({"src", "srcset", "srcdoc", "poster", "data", "background", "ping", "formaction", "xlink:href"})


class PageWalker(HTMLParser):
    """`text` is all that can be read. Answers may have links of their own; everything else points to our own pages."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in NEVER, tag
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name != "style", (tag, value)
            if name in LOADS or (name in ("href", "action") and tag != "a"):
                assert (value or "").startswith("/"), (tag, name, value)
                assert not (value or "").startswith("//"), (tag, name, value)
            if (tag, name) == ("a", "href"):
                assert (value or "").startswith(("/", "#", "http://", "https://", "mailto:")), value
            if (tag, name) == ("meta", "http-equiv"):
                assert ("content", "2") in attrs, attrs
        if tag == "script":
            assert {"nonce", "src"} <= {name for name, _ in attrs}, attrs

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def text_of_page(html: str) -> str:
    """Fails where the page could run or load what is not ours."""
    walker = PageWalker()
    walker.feed(html)
    walker.close()
    return walker.text
