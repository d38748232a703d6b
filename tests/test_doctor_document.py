"""docs/configuration.md lists every check of the doctor, and the pages have words for each."""

import re
from pathlib import Path

from app.web.languages import load_languages
from app.web.operator.doctor_words import check_words

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "configuration.md").read_text().split("## recount doctor")[1].split("\n## ")[0]
WRITTEN_DOWN = re.compile(r'(?:chart\.(?:ok|warn|fail)|_try|_within)\(\s*(?:chart, )?"([\w ]+)"')


def test_every_check_is_in_the_document_and_has_words() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "app" / "doctor").glob("*.py"))
    checks = set(WRITTEN_DOWN.findall(sources))
    assert len(checks) == 16
    assert set(re.findall(r"^\| `([\w ]+)` \|", DOCUMENT, re.MULTILINE)) == checks
    korean = load_languages()["ko"]
    unnamed = {check for check in checks if check_words(check, korean) == check}
    assert unnamed == {"message_start"}  # It is called so on the wire.
