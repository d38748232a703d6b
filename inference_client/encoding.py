"""The one way a request body becomes bytes, so that equal bodies are equal on the wire, forever."""

import json
from collections.abc import Mapping


def encode_body(body: Mapping[str, object]) -> bytes:
    """Compact UTF-8 JSON with the keys in their given order and nothing escaped that need not be.

    Raises ValueError for NaN, infinities and lone surrogates, TypeError for what JSON cannot hold.
    """
    text = json.dumps(dict(body), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8")
