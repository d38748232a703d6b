"""Steps of time that turns are put into, on the clock of a zone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, SQLColumnExpression

from app.database.epoch import EpochSeconds

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Slots:
    """Steps of so many seconds, counted from 1970 on a clock that is ahead of UTC by `ahead` seconds."""

    step: int
    ahead: int = 0

    def number(self, at: datetime) -> int:
        return ((at - _EPOCH) // timedelta(seconds=1) + self.ahead) // self.step

    def start(self, number: int) -> datetime:
        return _EPOCH + timedelta(seconds=number * self.step - self.ahead)

    def number_of(self, instant: SQLColumnExpression[datetime]) -> ColumnElement[int]:
        return (EpochSeconds(instant) + self.ahead) // self.step

    def consist_of(self, finer: "Slots") -> bool:
        """Whether each step is made of whole ones of the other."""
        return self.step % finer.step == (self.ahead - finer.ahead) % finer.step == 0
