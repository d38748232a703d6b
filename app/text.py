"""What happens to text once, before it is stored and sent; pure. Nothing else ever changes it."""

import re
import unicodedata

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?")
UNSTORABLE_MARK = "\ufffd"


def clean_answer_text(text: str) -> str:
    """NUL and lone surrogates become U+FFFD, because no database can store them.

    Character by character, so cleaning the deltas is the same as cleaning the answer.
    """
    return _UNSTORABLE.sub(UNSTORABLE_MARK, text)


def clean_user_text(text: str) -> str:
    """As `clean_answer_text`, and every line end becomes LF: forms send CRLF, scripts LF."""
    return _LINE_ENDS.sub("\n", clean_answer_text(text))


def is_blank(text: str) -> bool:
    return not text or text.isspace()


def first_words(text: str, limit: int = 60) -> str:
    """One line of plain text for a title, at most `limit` characters; "" where nothing is left.

    Control and formatting characters go: they could turn or hide the text around a title. So does what stands in
    the place of characters that could not be stored, which are nothing that anybody wrote.
    """
    visible = "".join(" " if character.isspace() else character for character in text)
    visible = "".join(each for each in visible if each != UNSTORABLE_MARK and unicodedata.category(each)[0] != "C")
    words = " ".join(visible.split())
    if len(words) <= limit:
        return words
    cut = words[: limit - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > limit // 2 else cut).rstrip() + "…"


def search_key(text: str) -> str:
    """What is compared in a search: equal for texts that differ in case or in how characters are composed."""
    return unicodedata.normalize("NFKC", text).lower()
