"""What a run has measured, as samples per server; medians and ratios to the first server. Prints nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from benchmarks.chat import Chat
from inference_client import Usage


@dataclass(frozen=True)
class Figure:
    """One row of the table. `unit` is "ms" (less is better), "tok/s" (more is better) or "x" (less is better)."""

    workload: str
    label: str
    unit: str


@dataclass(frozen=True)
class Refusal:
    workload: str
    server: str
    reason: str


@dataclass(frozen=True)
class TurnUsage:
    """`turn` counts from 1; `expected_read` is None on the first turn and where the server reports too little."""

    workload: str
    server: str
    repetition: int
    turn: int
    usage: Usage
    expected_read: int | None


class Results:
    """Servers are named in their order; the first is the one that the others are compared with."""

    def __init__(self, servers: Sequence[str]) -> None:
        self.servers = tuple(servers)
        self.refusals: list[Refusal] = []
        self.usages: list[TurnUsage] = []
        self._samples: dict[Figure, dict[str, list[float]]] = {}
        self._exact_reads: dict[str, dict[str, tuple[int, int]]] = {}

    @property
    def workloads(self) -> list[str]:
        """Those with anything to show, in the order in which it came."""
        seen = [figure.workload for figure in self._samples] + [refusal.workload for refusal in self.refusals]
        return list(dict.fromkeys(seen))

    def add(self, workload: str, label: str, unit: str, server: str, sample: float | None) -> None:
        """None is a value that the server does not allow to be measured, and no sample."""
        if sample is not None:
            by_server = self._samples.setdefault(Figure(workload, label, unit), {})
            by_server.setdefault(server, []).append(sample)

    def add_reads(self, workload: str, repetition: int, chat: Chat) -> None:
        """The usage of every turn, whether the reads were exact, and why the chat ended early if it did."""
        server = chat.server.name
        exact, turns = self.exact_reads(workload, server)
        by_server = self._exact_reads.setdefault(workload, {})
        by_server[server] = (exact + chat.exact_reads, turns + len(chat.expected_reads))
        expected = [None, *chat.expected_reads]
        for turn, (exchange, read) in enumerate(zip(chat.exchanges, expected, strict=False), start=1):
            self.usages.append(TurnUsage(workload, server, repetition, turn, exchange.usage, read))
        if chat.refusal is not None:
            self.refusals.append(Refusal(workload, server, chat.refusal))

    def exact_reads(self, workload: str, server: str) -> tuple[int, int]:
        """(exact ones, turns that could have been)."""
        return self._exact_reads.get(workload, {}).get(server, (0, 0))

    def figures(self, workload: str) -> list[Figure]:
        return [figure for figure in self._samples if figure.workload == workload]

    def median(self, figure: Figure, server: str) -> float | None:
        samples = self._samples[figure].get(server)
        return median(samples) if samples else None

    def ratio(self, figure: Figure, server: str) -> float | None:
        """This server's median over the first server's."""
        own, first = self.median(figure, server), self.median(figure, self.servers[0])
        return None if own is None or not first else own / first

    def as_json(self) -> Mapping[str, object]:
        return {
            "servers": self.servers,
            "figures": [
                {
                    **asdict(figure),
                    "medians": {server: self.median(figure, server) for server in self.servers},
                    "ratios": {server: self.ratio(figure, server) for server in self.servers},
                    "samples": samples,
                }
                for figure, samples in self._samples.items()
            ],
            "exact_reads": self._exact_reads,
            "usages": [asdict(usage) for usage in self.usages],
            "refusals": [asdict(refusal) for refusal in self.refusals],
        }
