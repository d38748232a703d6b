"""Account names: what is allowed, and when two are the same; pure."""

import unicodedata

from app.errors import InvalidInput
from app.text import clean_user_text

LONGEST = 64


def check_name(name: str) -> str:
    """The name as it is stored: trimmed, NFC. InvalidInput unless 1 to 64 visible characters are left."""
    name = unicodedata.normalize("NFC", name).strip()
    if not 0 < len(name) <= LONGEST:
        raise InvalidInput("name", f"A name has 1 to {LONGEST} characters.")
    if any(unicodedata.category(character)[0] == "C" for character in name):
        raise InvalidInput("name", "A name cannot have control characters.")
    return name


def name_key(name: str) -> str:
    """Equal for names that differ only in case or in how their characters are composed."""
    composed = unicodedata.normalize("NFC", clean_user_text(name)).strip()
    return unicodedata.normalize("NFC", composed.casefold())
