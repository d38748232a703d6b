"""Reads the strip of tokens from a turn's page."""

import re


def strip_of_page(page: str) -> list[tuple[int, str, int | None, str | None]]:
    """Position, state, id and piece of each token of the strip."""
    found = []
    for item in re.findall(r'<li class="token.*?</li>', page, re.DOTALL):
        number, piece = re.search(r'data-id="(\d+)"', item), re.search(r"<bdi>(.*?)</bdi>", item)
        position = int(re.search(r'data-position="(\d+)"', item)[1])
        state = re.search(r'data-state="(\w+)"', item)[1]
        found.append((position, state, number and int(number[1]), piece and piece[1]))
    return found
