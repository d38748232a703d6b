"""How often things happen while turns run, in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A worker counts as dead when its heartbeat is older than `stale_after`."""

    coalesce: float = 0.05
    checkpoint: float = 2.0
    heartbeat: float = 5.0
    reap: float = 10.0
    stale_after: float = 20.0
    poll: float = 1.0
    stop_wait: float = 2.0
    keep_log: float = 60.0
