"""Event logs of turns: append-only, followed by cursor, in the memory of one process or in Redis for several."""

from app.turns.bus.bus import Bus, LogLost
from app.turns.bus.log import LONGEST_LOG
from app.turns.bus.memory import MemoryBus
from app.turns.bus.redis_bus import RedisBus

__all__ = ["LONGEST_LOG", "Bus", "LogLost", "MemoryBus", "RedisBus"]
