"""The server's settings: one frozen object, read once by the command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Everything that can be chosen at start."""

    model: Path
    host: str
    port: int
    key: str | None
    """The API key that callers must send; None accepts everybody, which only a loopback address allows."""
    kv_bytes: int = 512 * MIB
    history: Literal["transcript", "template"] = "transcript"
    """What a resent conversation becomes: the tokens that the model saw, or what the template makes of it now."""
    prefix_cache: bool = True
    """Without it every request is computed whole, for comparison."""
    shared_cache: bool = False
    """One cache scope for all callers. Otherwise each (key, ``metadata.user_id``) has its own."""
    compute: Literal["auto", "packed", "bfloat16", "float32"] = "auto"
    """How weights are multiplied. `auto` is packed (small integers) on the CPU and bfloat16 on a GPU."""
    deterministic: bool = False
    """Answers that are bit-equal however requests are batched and whatever was cached; slower."""
    device: str = "cpu"
    temperature: float = 0.2
    top_p: float = 0.9
    """What a request that names no sampling parameters gets; the defaults suit the bundled model."""
    max_running: int = 16
    max_waiting: int = 64
    chunk_tokens: int = 256
    """Rows of a prefill chunk at most."""
    least_chunk_tokens: int = 16
    step_s: float = 0.06
    """While others decode, a prefill chunk takes about so long, and has at least ``least_chunk_tokens`` rows."""
    transcript_bytes: int = 64 * MIB
    """Memory of the tokens that models said, by which a resent answer is found again."""
    record_bytes: int = 64 * MIB
    """Memory of the requests that reasons and inspection can tell of."""
    chat_template: str | None = None
    """Instead of the one in the model file."""
    max_body_bytes: int = 8 * MIB
    ping_s: int = 10
    send_timeout_s: int = 60
