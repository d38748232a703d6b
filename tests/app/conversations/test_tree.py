from itertools import pairwise
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.conversations.tree import Node, active_path, branches_of, leaf_below, subtree
from tests.app.houses import START


def node(number: int, parent: int | None, selected: int | None = None) -> Node:
    parent_id = UUID(int=parent) if parent else None
    selected_id = UUID(int=selected) if selected else None
    return Node(UUID(int=number), parent_id, number, "user", str(number), None, None, selected_id, START)


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


def test_leaf_below_follows_what_was_chosen_last_and_else_the_newest() -> None:
    nodes = [node(1, None), node(2, 1, selected=4), node(3, 1), node(4, 2), node(5, 2)]
    assert leaf_below(nodes, UUID(int=1)) == UUID(int=3)
    assert leaf_below(nodes, UUID(int=2)) == UUID(int=4)
    assert leaf_below(nodes, UUID(int=5)) == UUID(int=5)
    assert leaf_below([node(1, None, selected=99), node(2, 1)], UUID(int=1)) == UUID(int=2)
    assert leaf_below([node(1, 2), node(2, 1)], UUID(int=1)) in (UUID(int=1), UUID(int=2))


def test_branches_number_the_messages_of_one_parent() -> None:
    found = branches_of([node(1, None), node(2, 1), node(3, 1), node(4, 1), node(5, 4), node(6, None)])
    places = {key.int: (branch.position, branch.count) for key, branch in found.items()}
    assert places == {1: (1, 2), 6: (2, 2), 2: (1, 3), 3: (2, 3), 4: (3, 3)}
    assert (found[UUID(int=3)].previous_id, found[UUID(int=3)].next_id) == (UUID(int=2), UUID(int=4))
    assert (found[UUID(int=2)].previous_id, found[UUID(int=4)].next_id) == (None, None)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=25),
    st.integers(1, 30),
)
def test_walks_agree_with_the_parents_in_any_tree(links: list[tuple[int, int]], start: int) -> None:
    """Any parents at all: missing ones, later ones, circles, a message that is its own parent."""
    nodes = [node(number, parent, selected) for number, (parent, selected) in enumerate(links, 1)]
    by_id = {each.id: each for each in nodes}
    path = active_path(nodes, UUID(int=start))
    assert path
    assert all(child.parent_id == parent.id for parent, child in pairwise(path))
    assert len({each.id for each in path}) == len(path)
    if UUID(int=start) in by_id:
        assert path[-1].id.int == start
        below = subtree(nodes, UUID(int=start))
        assert all(each.id in below for each in nodes if each.parent_id in below)
        assert all(key.int == start or by_id[key].parent_id in below for key in below)
        assert leaf_below(nodes, UUID(int=start)) in below
