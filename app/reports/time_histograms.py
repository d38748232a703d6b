"""How often each time was seen, by the lowest time of its bucket, and texts that say so.

Texts that are put one behind the other are the histogram of all their times. Of each bucket that is in use, six bytes
say which it is and how many times it holds; in base64 they are eight characters, whatever stands around them.
"""

from base64 import b64decode, b64encode
from bisect import bisect
from collections import Counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.reports.percentiles import LOWEST_OF_BUCKETS

SEPARATOR: Final = ","
_LOWEST: Final = np.array(LOWEST_OF_BUCKETS)
_ENTRY: Final = np.dtype([("bucket", "<u2"), ("times", "<u4")])
Times = Counter[int]


def count(text: str, *, exact: bool) -> Times:
    """Of times in milliseconds with separators between them; `exact` ones are buckets of their own."""
    times = np.fromstring(text, np.int64, sep=SEPARATOR)
    if not exact:
        times = _LOWEST[np.searchsorted(_LOWEST, times, side="right") - 1]
    return _counter(*np.unique(times, return_counts=True))


def encode(text: str) -> str:
    """Of times in milliseconds with separators between them."""
    buckets = Counter(bisect(LOWEST_OF_BUCKETS, int(time)) - 1 for time in text.split(SEPARATOR))
    return b64encode(np.array(sorted(buckets.items()), _ENTRY).tobytes()).decode()


def decode(text: str) -> Times:
    entries = np.frombuffer(b64decode(text), _ENTRY)
    counts = np.bincount(entries["bucket"], entries["times"])
    used = np.flatnonzero(counts)
    return _counter(_LOWEST[used], counts[used].astype(int))


def _counter(lowest: NDArray[Any], counts: NDArray[Any]) -> Times:
    return Counter(dict(zip(lowest.tolist(), counts.tolist(), strict=True)))
