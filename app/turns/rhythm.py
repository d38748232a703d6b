"""How often and how long things happen while turns run, in seconds."""

from dataclasses import dataclass, field

from inference_client import Timeouts


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A worker counts as dead when its heartbeat is older than `stale_after`.

    `preview` is how often the open block of an answer is rendered, `last_render` how long its end waits for HTML.
    `ping` is the longest silence towards a browser; proxies cut connections that say nothing for a minute or less.
    `store_pauses` lie between tries to store an end; the last one repeats. `last_tries` is how long a process
    that shuts down goes on trying. Who follows a log that says nothing for `patience` asks SQL whether anybody still
    writes it. Redis counts as away when it does not answer within `redis_timeout`, and is tried again every
    `redis_pause`. Temporary conversations whose time is over go, and ended days are summed, every `sweep`; what has
    reached the age of the settings goes every `retain`. The model server is asked every `watch` whether it is there,
    and counts as away when it has not answered for `watch_patience`. A page waits `list_patience` for its list of
    models; when none has come, nobody asks for `list_pause`. `timeouts` are those of one request to it.
    """

    coalesce: float = 0.05
    preview: float = 0.5
    last_render: float = 1.0
    checkpoint: float = 2.0
    heartbeat: float = 5.0
    reap: float = 10.0
    stale_after: float = 20.0
    poll: float = 1.0
    ping: float = 15.0
    stop_wait: float = 2.0
    keep_log: float = 60.0
    patience: float = 10.0
    redis_timeout: float = 2.0
    redis_pause: float = 1.0
    store_pauses: tuple[float, ...] = (0.2, 1.0, 3.0, 5.0)
    last_tries: float = 4.0
    sweep: float = 60.0
    retain: float = 300.0
    watch: float = 10.0
    watch_patience: float = 2.0
    list_patience: float = 0.5
    list_pause: float = 5.0
    timeouts: Timeouts = field(default_factory=Timeouts)
