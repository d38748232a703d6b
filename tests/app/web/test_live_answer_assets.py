"""What script and style sheet have to know of the server's rendering."""

import re

from app.markdown.preview import CARET, MARKUP
from app.markdown.sanitizing import BLOCKED_IMAGE_CLASS
from app.web.assets import STATIC_FOLDER
from app.web.languages import LANGUAGE_TAGS


def test_script_waits_for_the_server_where_the_server_sends_a_preview() -> None:
    script = (STATIC_FOLDER / "js" / "blocks.js").read_text()
    found = re.search(r"const MARKUP = /(.+)/;", script)
    assert found is not None
    assert {character for character in map(chr, range(0x10000)) if re.search(found[1], character)} == set(MARKUP)
    assert f'const CARET = "\\u{ord(CARET):04X}";' in script


def test_note_on_blocked_images_is_there_in_every_language() -> None:
    style = (STATIC_FOLDER / "css" / "recount.css").read_text()
    for tag in LANGUAGE_TAGS[1:]:
        assert f".{BLOCKED_IMAGE_CLASS}:lang({tag})::before" in style
        assert f".{BLOCKED_IMAGE_CLASS}:lang({tag}):empty::before" in style
