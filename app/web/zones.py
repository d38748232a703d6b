"""The time zones that a page offers. What is accepted is decided elsewhere."""

from collections.abc import Sequence
from importlib import resources


def zone_names() -> Sequence[str]:
    """Places by continent, and UTC, in the order of the alphabet. Reads one small file."""
    names = resources.files("tzdata").joinpath("zones").read_text().split()
    return ["UTC", *sorted(name for name in names if "/" in name and not name.startswith("Etc/"))]
