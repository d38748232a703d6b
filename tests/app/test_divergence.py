"""Where two system prompts part, and what the text looks like there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.divergence import Divergence, find_divergence


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Be brief.", "Be brief.", None),
        ("Time: 14:03", "Time: 14:05", Divergence(10, "time")),
        ("Today is 2026-11-29.", "Today is 2026-11-30.", Divergence(17, "date")),
        ("Be brief.", "Be brief. It is 14:03.", Divergence(9, "whitespace")),
        ("It is 14:03. Be brief.", "Be brief.", Divergence(0, "other")),
        ("Request 17", "Request 18", Divergence(9, "number")),
        ("a b", "a  b", Divergence(2, "other")),
        ("a b", "a\tb", Divergence(1, "whitespace")),
        (
            "id 0123abcd-0123-4567-89ab-0123456789ab",
            "id 0123abcd-0123-4567-89ab-0123456789ac",
            Divergence(38, "uuid"),
        ),
        ("현재 시각 14:03", "현재 시각 14:05", Divergence(10, "time")),
        ("", "New", Divergence(0, "other")),
        ("Old", "", Divergence(0, "other")),
    ],
)
def test_divergence_has_a_place_and_a_kind(old: str, new: str, expected: Divergence | None) -> None:
    assert find_divergence(old, new) == expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_everything_in_front_of_the_offset_is_equal(old: str, new: str) -> None:
    divergence = find_divergence(old, new)
    if divergence is None:
        assert old == new
        return
    assert old[: divergence.offset] == new[: divergence.offset]
    assert old[divergence.offset : divergence.offset + 1] != new[divergence.offset : divergence.offset + 1]
