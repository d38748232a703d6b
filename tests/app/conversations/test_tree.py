from uuid import UUID

from app.conversations.tree import Node, active_path
from tests.app.houses import START


def node(number: int, parent: int | None, role: str = "user") -> Node:
    parent_id = UUID(int=parent) if parent else None
    return Node(UUID(int=number), parent_id, number, role, str(number), None, None, START)  # type: ignore[arg-type]


def walk(nodes: list[Node], leaf: int | None) -> list[str]:
    return [found.text for found in active_path(nodes, UUID(int=leaf) if leaf else None)]


def test_path_goes_from_root_to_the_active_leaf() -> None:
    nodes = [node(1, None), node(2, 1), node(3, 1), node(4, 2)]
    assert walk(nodes, 4) == ["1", "2", "4"]
    assert walk(nodes, 3) == ["1", "3"]


def test_path_of_a_dangling_leaf_is_that_of_the_newest_leaf() -> None:
    nodes = [node(1, None), node(2, 1), node(3, 1), node(4, 2)]
    assert walk(nodes, 99) == ["1", "2", "4"]
    assert walk(nodes, None) == ["1", "2", "4"]


def test_path_of_a_damaged_tree_ends() -> None:
    assert walk([node(2, 99), node(3, 2)], 3) == ["2", "3"]
    assert walk([node(1, 2), node(2, 1)], 2) == ["1", "2"]
    assert walk([node(1, 1)], None) == ["1"]


def test_path_of_nothing_is_empty() -> None:
    assert walk([], None) == []
