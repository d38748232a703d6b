"""The prefix cache's index: which token sequences have keys and values in the KV pool, and in which slots.

A radix tree over token ids, one root per cache scope. It compares tokens, so a match is exact to the token. It knows
token ids and slot numbers and nothing of models or requests; slots that it gives up are returned to the caller.

Words: a token of a node is *resident* while it has a slot. Residents are always a prefix of a node and of a path. What
was evicted keeps its ids without slots (a *ghost*), so that a later miss can be told from a prompt never seen. Ghosts
are bounded in number, and those below a stretch that is computed again are forgotten. A node is *pinned* while a
request uses it or a node below it.
"""

import heapq
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


class Node:
    """A run of tokens below ``parent``. ``slots`` covers the leading, resident part of ``tokens``."""

    __slots__ = ("children", "last_used", "parent", "pins", "scope", "slots", "start", "tokens")

    def __init__(
        self, parent: "Node | None", scope: bytes, start: int, tokens: "array[int]", slots: "array[int]"
    ) -> None:
        self.parent = parent
        self.scope = scope
        self.start = start
        self.tokens = tokens
        self.slots = slots
        self.children: dict[int, Node] = {}  # by first token
        self.pins = 0  # requests whose path ends here or below
        self.last_used = 0  # the tree's clock when it was last pinned or unpinned

    @property
    def end(self) -> int:
        """Position behind the node's last token."""
        return self.start + len(self.tokens)

    def child_at(self, tokens: "array[int]", position: int) -> "Node | None":
        """The child that ``tokens`` lead to, where ``position`` is this node's end among them."""
        return self.children.get(tokens[position]) if position < len(tokens) else None

    def has_resident_child(self) -> bool:
        """Whether eviction has to start below this node."""
        return any(child.slots for child in self.children.values())

    def path(self) -> "Iterator[Node]":
        """The node and its ancestors, up to and with the root."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent


@dataclass(frozen=True, slots=True)
class Match:
    """The longest known prefix of a prompt.

    ``length`` tokens are resident, up to the end of ``node``; ``known`` (>= length) counts ghosts too.
    """

    node: Node
    length: int
    known: int

    def slots(self) -> "array[int]":
        """Slots of the ``length`` resident tokens, in order."""
        parts = [node.slots for node in self.node.path()]
        slots = array("i")
        for part in reversed(parts):
            slots.extend(part)
        return slots


class RadixTree:
    """Match, extend, pin and evict. Not thread-safe: the engine thread owns it."""

    def __init__(self, *, max_ghosts: int) -> None:
        self.max_ghosts = max_ghosts
        self.num_resident = 0
        self.num_pinned = 0
        self.num_ghosts = 0
        self.num_nodes = 0
        self._roots: dict[bytes, Node] = {}
        self._clock = 0
        self._serial = 0
        # A heap by last use, then by a serial number, as nodes have no order. Every evictable leaf has an entry with
        # its present last use; outdated entries are passed over when they are popped.
        self._leaves: list[tuple[int, int, Node]] = []
        self._ghosts: dict[Node, None] = {}  # nodes with ghosts, in the order of their first eviction

    @property
    def num_evictable(self) -> int:
        """Slots that :meth:`evict` can give back: a node below an unpinned node is never pinned."""
        return self.num_resident - self.num_pinned

    def match(self, scope: bytes, tokens: "array[int]") -> Match:
        """Find the longest resident prefix of ``tokens``; splits a node so that the match ends at a node's end.

        The caller pins the match's node before it calls anything else: only a pinned match stays true.
        """
        node = self._root(scope)
        length = 0
        while (child := node.child_at(tokens, length)) is not None:
            common = common_prefix(child.tokens, tokens, length)
            resident = min(common, len(child.slots))
            if resident < len(child.tokens):
                known = length + common if common < len(child.tokens) else self._known(child, tokens)
                end = self._split(child, resident) if resident else node  # After _known: a split moves the child.
                return Match(end, length + resident, known)
            node = child
            length += resident
        return Match(node, length, length)

    def resident(self, scope: bytes, tokens: "array[int]") -> "array[int]":
        """Slots of the longest resident prefix of ``tokens``; unlike :meth:`match` it changes nothing."""
        slots = array("i")
        node = self._roots.get(scope)
        while node is not None and (child := node.child_at(tokens, len(slots))) is not None:
            resident = min(common_prefix(child.tokens, tokens, len(slots)), len(child.slots))
            slots.extend(child.slots[:resident])
            node = child if resident == len(child.tokens) else None
        return slots

    def drop(self, scope: bytes, tokens: "array[int]") -> "array[int]":
        """Give up what only this path has: from its end up to what is pinned or leads on to other tokens."""
        freed = array("i")
        node = self.match(scope, tokens).node
        while node.parent is not None and not node.pins and not node.has_resident_child():
            freed.extend(node.slots)
            self.num_resident -= len(node.slots)
            self.num_ghosts += len(node.slots)
            node.slots = array("i")
            parent = node.parent
            self._forget(node)
            self._offer(parent)
            node = parent
        self._drop_empty_root(scope)
        return freed

    def pin(self, node: Node) -> None:
        """Keep the path to ``node`` from eviction until :meth:`unpin`."""
        self._pin_below(None, node)

    def unpin(self, node: Node) -> None:
        """Undo one :meth:`pin` of the same path; what nobody pins any more becomes evictable."""
        self._clock += 1
        for part in node.path():
            assert part.pins > 0, "a node was unpinned more often than pinned"
            part.pins -= 1
            part.last_used = self._clock
            if part.pins == 0:
                self.num_pinned -= len(part.slots)
                self._offer(part)
        self._drop_empty_root(node.scope)

    def extend(self, node: Node, tokens: Sequence[int], slots: Sequence[int]) -> tuple[Node, int]:
        """Add ``tokens`` behind ``node``, which the caller has pinned; the pin moves to the new end.

        Returns ``(end, duplicates)``. The leading ``duplicates`` tokens were resident already: their slots stay the
        caller's; the tree owns the others from now on. When all are duplicates the pin stays at ``node``, and the
        caller passes these tokens again next time, with its own behind them.
        """
        assert len(tokens) == len(slots)
        at, duplicates = self._descend(node, tokens)
        if duplicates == len(tokens):
            return node, duplicates
        ghost = at.children.get(tokens[duplicates])
        if ghost is not None:
            self._forget(ghost)  # A pure ghost: _descend has followed all that is resident.
        new_tokens, new_slots = array("i", tokens[duplicates:]), array("i", slots[duplicates:])
        self.num_resident += len(new_tokens)
        is_ours_alone = node.parent is not None and node.pins == 1 and not node.children
        if at is node and is_ours_alone:  # Nobody else's path ends here, so nobody else's end moves.
            node.tokens.extend(new_tokens)
            node.slots.extend(new_slots)
            self.num_pinned += len(new_tokens)
            return node, duplicates
        leaf = Node(at, at.scope, at.end, new_tokens, new_slots)
        at.children[new_tokens[0]] = leaf
        self.num_nodes += 1
        self._pin_below(node, leaf)
        return leaf, duplicates

    def adopt(self, node: Node, slots: Sequence[int]) -> tuple[set[int], set[int]]:
        """Let the path to ``node`` use the caller's ``slots`` where only the caller pins it.

        ``slots[i]`` is the caller's slot of position i; where that is the tree's already, nothing changes. A request
        that copied its prefix hands its contiguous run over this way. Returns (taken from the caller, given back).
        """
        taken: set[int] = set()
        given: set[int] = set()
        for part in node.path():
            own = array("i", slots[part.start : part.end])
            if part.pins == 1 and own != part.slots:
                taken.update(own)
                given.update(part.slots)
                part.slots = own
        return taken - given, given - taken

    def evict(self, count: int) -> list[int]:
        """Give up at most ``count`` slots: least recently used leaves first, each from its tail."""
        freed: list[int] = []
        while len(freed) < count and self._leaves:
            entry = heapq.heappop(self._leaves)
            if self._is_current(entry):
                leaf = entry[2]
                keep = max(0, len(leaf.slots) - (count - len(freed)))
                freed.extend(leaf.slots[keep:])
                self._trim(leaf, keep)
        return freed

    def check(self) -> None:
        """Assert the structure's and the counters' invariants; for tests and the hourly self-check."""
        resident = pinned = ghosts = nodes = 0
        slots: set[int] = set()
        stack = list(self._roots.values())
        while stack:
            node = stack.pop()
            assert node.tokens or node.parent is None
            assert len(node.slots) <= len(node.tokens)
            for first, child in node.children.items():
                assert child.parent is node
                assert child.tokens[0] == first
                assert child.start == node.end
                assert child.pins <= node.pins
                assert not child.slots or len(node.slots) == len(node.tokens), "resident below a ghost"
                stack.append(child)
                nodes += 1
            assert not node.pins or len(node.slots) == len(node.tokens), "a pinned token was evicted"
            resident += len(node.slots)
            pinned += len(node.slots) if node.pins else 0
            ghosts += len(node.tokens) - len(node.slots)
            slots.update(node.slots)
        assert len(slots) == resident, "a slot is used twice"
        assert (resident, pinned, ghosts, nodes) == (
            self.num_resident,
            self.num_pinned,
            self.num_ghosts,
            self.num_nodes,
        )

    def resident_slots(self) -> set[int]:
        """Every slot that the tree owns, for invariant checks."""
        slots: set[int] = set()
        stack = list(self._roots.values())
        while stack:
            node = stack.pop()
            slots.update(node.slots)
            stack.extend(node.children.values())
        return slots

    @property
    def num_scopes(self) -> int:
        """Number of cache scopes with at least one token or request."""
        return len(self._roots)

    def _root(self, scope: bytes) -> Node:
        root = self._roots.get(scope)
        if root is None:
            root = self._roots[scope] = Node(None, scope, 0, array("i"), array("i"))
        return root

    def _drop_empty_root(self, scope: bytes) -> None:
        root = self._roots.get(scope)
        if root is not None and not root.children and not root.pins:
            del self._roots[scope]

    def _known(self, node: Node, tokens: "array[int]") -> int:
        """How far ``tokens`` agree with ghosts, given that they agree with all of ``node``."""
        while (child := node.child_at(tokens, node.end)) is not None:
            common = common_prefix(child.tokens, tokens, child.start)
            if common < len(child.tokens):
                return child.start + common
            node = child
        return node.end

    def _descend(self, node: Node, tokens: Sequence[int]) -> tuple[Node, int]:
        """Follow ``tokens`` below ``node`` as far as they are resident, and split where they part.

        Where all are resident nothing is split, and the node returned may end before the last of them.
        """
        sought = array("i", tokens)
        at, done = node, 0
        while (child := at.child_at(sought, done)) is not None and child.slots:
            common = min(common_prefix(child.tokens, sought, done), len(child.slots))
            done += common
            if common < len(child.tokens):
                return (at if done == len(sought) else self._split(child, common)), done
            at = child
        return at, done

    def _split(self, node: Node, length: int) -> Node:
        """Cut ``node`` behind ``length`` tokens. The node object stays the lower part, so that pins at its end hold."""
        assert node.parent is not None
        upper = Node(node.parent, node.scope, node.start, node.tokens[:length], node.slots[:length])
        upper.pins, upper.last_used = node.pins, node.last_used
        node.parent.children[upper.tokens[0]] = upper
        node.parent, node.start = upper, node.start + length
        node.tokens, node.slots = node.tokens[length:], node.slots[length:]
        upper.children[node.tokens[0]] = node
        self.num_nodes += 1
        self._offer(upper)
        return upper

    def _pin_below(self, above: Node | None, node: Node) -> None:
        self._clock += 1
        for part in node.path():
            if part is above:
                return
            if part.pins == 0:
                self.num_pinned += len(part.slots)
            part.pins += 1
            part.last_used = self._clock

    def _is_evictable_leaf(self, node: Node) -> bool:
        return bool(node.slots) and not node.pins and not node.has_resident_child()

    def _offer(self, node: Node) -> None:
        """Put a node among the eviction candidates if it is one."""
        if self._is_evictable_leaf(node):
            self._serial += 1
            heapq.heappush(self._leaves, (node.last_used, self._serial, node))
        if len(self._leaves) > 64 + 4 * self.num_nodes:  # Outdated entries pile up while nothing is evicted.
            self._leaves = [entry for entry in self._leaves if self._is_current(entry)]
            heapq.heapify(self._leaves)

    def _is_current(self, entry: tuple[int, int, Node]) -> bool:
        return entry[0] == entry[2].last_used and self._is_evictable_leaf(entry[2])

    def _trim(self, leaf: Node, keep: int) -> None:
        """Make the tail of an evictable leaf a ghost."""
        removed = len(leaf.slots) - keep
        self._ghosts.setdefault(leaf)
        del leaf.slots[keep:]
        self.num_resident -= removed
        self.num_ghosts += removed
        self._offer(leaf)
        if not keep and leaf.parent is not None:
            self._offer(leaf.parent)
        while self.num_ghosts > self.max_ghosts:
            self._forget(next(iter(self._ghosts)))

    def _forget(self, node: Node) -> None:
        """Drop the ghosts of a node and of everything below it."""
        first = node.tokens[0]
        stack = [node]
        while stack:
            part = stack.pop()
            self._ghosts.pop(part, None)
            stack.extend(part.children.values())
            self.num_nodes -= len(part.children)
            self.num_ghosts -= len(part.tokens) - len(part.slots)
            part.children = {}
            del part.tokens[len(part.slots) :]
        if not node.tokens and node.parent is not None:
            del node.parent.children[first]
            self.num_nodes -= 1
            self._drop_empty_root(node.scope)


def common_prefix(run: "array[int]", tokens: "array[int]", offset: int = 0) -> int:
    """Length of the common prefix of ``run`` and ``tokens[offset:]``."""
    limit = min(len(run), len(tokens) - offset)
    if run[:limit] == tokens[offset : offset + limit]:
        return limit
    low, high = 0, limit  # run[:low] agrees, run[:high] does not
    while high - low > 1:
        middle = (low + high) // 2
        if run[low:middle] == tokens[offset + low : offset + middle]:
            low = middle
        else:
            high = middle
    return low
