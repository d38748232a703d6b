from array import array
from collections.abc import Iterator

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inference_server.radix_tree import Node, RadixTree

SCOPE = b"scope"
NUMBERS = iter(range(10**9))


def ids(text: str) -> "array[int]":
    return array("i", map(ord, text))


def insert(tree: RadixTree, text: str, *, scope: bytes = SCOPE) -> list[int]:
    """What a request does that computes ``text``: match, pin, extend, unpin. Returns its slots."""
    match = tree.match(scope, ids(text))
    tree.pin(match.node)
    slots = [next(NUMBERS) for _ in text[match.length :]]
    node, duplicates = tree.extend(match.node, ids(text)[match.length :], slots)
    assert duplicates == 0
    tree.unpin(node)
    tree.check()
    return [*match.slots(), *slots]


def length(tree: RadixTree, text: str, *, scope: bytes = SCOPE) -> int:
    found = tree.match(scope, ids(text)).length
    tree.check()
    return found


def test_a_match_ends_at_the_first_difference() -> None:
    tree = RadixTree(max_ghosts=100)
    slots = insert(tree, "the cat sat")
    match = tree.match(SCOPE, ids("the cow"))
    assert (match.length, match.known, list(match.slots())) == (5, 5, slots[:5])
    assert length(tree, "the cat sat on the mat") == 11
    assert length(tree, "The cat") == 0


def test_scopes_share_nothing() -> None:
    tree = RadixTree(max_ghosts=100)
    insert(tree, "secret")
    assert length(tree, "secret", scope=b"other") == 0
    insert(tree, "secret", scope=b"other")
    assert (tree.num_resident, tree.num_scopes) == (12, 2)


def test_eviction_takes_the_tail_of_the_least_recently_used() -> None:
    tree = RadixTree(max_ghosts=100)
    first, second = insert(tree, "aaaaaaaa"), insert(tree, "bbbbbbbb")
    assert tree.evict(3) == first[5:]
    assert length(tree, "aaaaaaaa") == 5
    assert length(tree, "bbbbbbbb") == 8
    insert(tree, "aaaaaaaa")
    assert set(tree.evict(8)) == set(second)


def test_a_branch_is_evicted_before_what_it_shares() -> None:
    tree = RadixTree(max_ghosts=100)
    insert(tree, "system:one")
    insert(tree, "system:two")
    tree.evict(6)
    assert length(tree, "system:one") == 7
    assert length(tree, "system:two") == 7
    tree.evict(100)
    assert tree.num_resident == 0


def test_a_pinned_path_is_not_evicted() -> None:
    tree = RadixTree(max_ghosts=100)
    insert(tree, "system:one")
    match = tree.match(SCOPE, ids("system:"))
    tree.pin(match.node)
    assert len(tree.evict(100)) == 3
    assert tree.num_evictable == 0
    tree.unpin(match.node)
    assert len(tree.evict(100)) == 7
    tree.check()


def test_evicted_tokens_are_still_known() -> None:
    tree = RadixTree(max_ghosts=100)
    insert(tree, "hello world")
    tree.evict(5)
    match = tree.match(SCOPE, ids("hello wolf"))
    assert (match.length, match.known) == (6, 8)
    tree.evict(100)
    match = tree.match(SCOPE, ids("hello world and more"))
    assert (match.length, match.known) == (0, 11)


def test_ghosts_are_bounded() -> None:
    tree = RadixTree(max_ghosts=8)
    for text in ("aaaaa", "bbbbb", "ccccc"):
        insert(tree, text)
    tree.evict(15)
    tree.check()
    assert tree.num_ghosts <= 8
    assert tree.match(SCOPE, ids("ccccc")).known == 5
    assert tree.match(SCOPE, ids("aaaaa")).known == 0
    tree.check()


def test_a_running_request_extends_its_own_leaf_in_place() -> None:
    tree = RadixTree(max_ghosts=8)
    match = tree.match(SCOPE, ids("abc"))
    tree.pin(match.node)
    node, _ = tree.extend(match.node, ids("abc"), [0, 1, 2])
    same, _ = tree.extend(node, ids("d"), [3])
    assert same is node
    assert tree.num_nodes == 1
    assert tree.match(SCOPE, ids("abcd")).length == 4
    tree.unpin(node)
    tree.check()


def test_a_leaf_that_another_request_uses_is_not_extended_in_place() -> None:
    tree = RadixTree(max_ghosts=8)
    node = _start(tree, "abc", [0, 1, 2])
    reader = tree.match(SCOPE, ids("abc")).node
    tree.pin(reader)
    longer, _ = tree.extend(node, ids("d"), [3])
    assert longer is not node
    tree.unpin(longer)
    assert tree.evict(10) == [3]
    tree.unpin(reader)
    tree.check()


def test_the_same_tokens_computed_twice_stay_with_the_second_request() -> None:
    tree = RadixTree(max_ghosts=8)
    root = tree.match(SCOPE, ids("abcdX")).node
    tree.pin(root)  # The second request has matched nothing yet.
    first = _start(tree, "abcd", [0, 1, 2, 3])
    node, duplicates = tree.extend(root, ids("abcd"), [10, 11, 12, 13])
    assert (node, duplicates) == (root, 4)
    node, duplicates = tree.extend(root, ids("abcdX"), [10, 11, 12, 13, 14])
    assert duplicates == 4
    assert list(tree.match(SCOPE, ids("abcdX")).slots()) == [0, 1, 2, 3, 14]
    tree.unpin(first)
    tree.unpin(node)
    tree.check()


def test_a_finished_request_hands_its_run_over_where_nobody_else_reads() -> None:
    tree = RadixTree(max_ghosts=8)
    insert(tree, "abcd")
    old = list(tree.match(SCOPE, ids("abcd")).slots())
    node = tree.match(SCOPE, ids("abcd")).node
    tree.pin(node)
    node, _ = tree.extend(node, ids("ef"), [104, 105])
    taken, given = tree.adopt(node, range(100, 106))
    assert (taken, given) == ({100, 101, 102, 103}, set(old))
    tree.unpin(node)
    assert list(tree.match(SCOPE, ids("abcdef")).slots()) == list(range(100, 106))
    tree.check()


def test_a_shared_prefix_keeps_its_slots_when_a_request_finishes() -> None:
    tree = RadixTree(max_ghosts=8)
    old = insert(tree, "abcd")
    reader = tree.match(SCOPE, ids("ab")).node
    tree.pin(reader)
    node = tree.match(SCOPE, ids("abcd")).node
    tree.pin(node)
    taken, given = tree.adopt(node, range(100, 104))
    assert (taken, given) == ({102, 103}, set(old[2:]))
    assert list(tree.match(SCOPE, ids("abcd")).slots()) == [*old[:2], 102, 103]
    tree.unpin(node)
    tree.unpin(reader)
    tree.check()


def test_an_idle_scope_leaves_nothing_behind() -> None:
    tree = RadixTree(max_ghosts=0)
    insert(tree, "abc")
    tree.evict(3)
    tree.check()
    assert (tree.num_scopes, tree.num_nodes) == (0, 0)


def test_outdated_eviction_candidates_do_not_pile_up() -> None:
    tree = RadixTree(max_ghosts=8)
    insert(tree, "abc")
    for _ in range(1000):
        node = tree.match(SCOPE, ids("abc")).node
        tree.pin(node)
        tree.unpin(node)
    assert len(tree._leaves) < 200
    assert len(tree.evict(3)) == 3


def _start(tree: RadixTree, text: str, slots: list[int]) -> Node:
    match = tree.match(SCOPE, ids(text))
    tree.pin(match.node)
    return tree.extend(match.node, ids(text)[match.length :], slots[match.length :])[0]


class TreeMachine(RuleBasedStateMachine):
    """Random operations against a naive model: a table from prefix to slot."""

    TEXTS = st.text("ab", min_size=1, max_size=12)

    def __init__(self) -> None:
        super().__init__()
        self.tree = RadixTree(max_ghosts=20)
        self.resident: dict[str, int] = {}  # each resident prefix -> the slot of its last token
        self.running: list[tuple[Node, str]] = []
        self.numbers: Iterator[int] = iter(range(10**9))

    def naive_length(self, text: str) -> int:
        return next((n for n in range(len(text), 0, -1) if text[:n] in self.resident), 0)

    @rule(text=TEXTS)
    def match_is_exact(self, text: str) -> None:
        match = self.tree.match(SCOPE, ids(text))
        assert match.length == self.naive_length(text)
        assert match.known >= match.length
        assert list(match.slots()) == [self.resident[text[:n]] for n in range(1, match.length + 1)]

    @rule(text=TEXTS)
    def start(self, text: str) -> None:
        match = self.tree.match(SCOPE, ids(text))
        self.tree.pin(match.node)
        self.running.append((match.node, text[: match.length]))

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0), more=TEXTS)
    def extend(self, which: int, more: str) -> None:
        node, text = self.running.pop(which % len(self.running))
        slots = [next(self.numbers) for _ in more]
        duplicates = 0
        while duplicates < len(more) and text + more[: duplicates + 1] in self.resident:
            duplicates += 1
        node, found = self.tree.extend(node, ids(more), slots)
        assert found == duplicates
        for n in range(duplicates, len(more)):
            self.resident[text + more[: n + 1]] = slots[n]
        self.running.append((node, text if duplicates == len(more) else text + more))

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0))
    def finish(self, which: int) -> None:
        node, text = self.running.pop(which % len(self.running))
        own = [next(self.numbers) for _ in text]
        taken, _ = self.tree.adopt(node, own)
        for n, slot in enumerate(own, 1):
            if slot in taken:
                self.resident[text[:n]] = slot
        self.tree.unpin(node)

    @rule(count=st.integers(1, 15))
    def evict(self, count: int) -> None:
        freed = set(self.tree.evict(count))
        pinned = {text[:n] for _, text in self.running for n in range(1, len(text) + 1)}
        gone = {prefix for prefix, slot in self.resident.items() if slot in freed}
        assert not gone & pinned
        assert len(freed) == min(count, len(self.resident) - len(pinned))
        self.resident = {prefix: slot for prefix, slot in self.resident.items() if prefix not in gone}
        assert all(prefix[:-1] in self.resident for prefix in self.resident if len(prefix) > 1)

    @invariant()
    def holds(self) -> None:
        self.tree.check()
        assert self.tree.num_resident == len(self.resident)


TestTreeMachine = TreeMachine.TestCase
TestTreeMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
