"""Short names of conversations, for people who may not see titles."""

import secrets

_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # Without what looks alike.


def new_reference() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(8))
