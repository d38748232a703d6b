"""Two reads beside each other. Each has its own connection, and one that fails lets the other finish first."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

First = TypeVar("First")
Second = TypeVar("Second")


async def beside(
    first: Callable[[], Awaitable[First]], second: Callable[[], Awaitable[Second]]
) -> tuple[First, Second]:
    """What both return; an ExceptionGroup where one of them raises."""
    found: list[Any] = [None, None]

    async def read(place: int, call: Callable[[], Awaitable[object]]) -> None:
        found[place] = await call()

    async with anyio.create_task_group() as group:
        group.start_soon(read, 0, first)
        group.start_soon(read, 1, second)
    return found[0], found[1]
