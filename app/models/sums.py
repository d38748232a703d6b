"""Tables of what the turns of ended days add up to. Reports read them in place of the turns themselves."""

from datetime import date, datetime

from sqlalchemy import BigInteger, ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.base import Base
from app.database.types import UtcDateTime


class SummedDay(Base):
    """A day in UTC whose turns stand in `turn_sums`. It goes with its sums as soon as one of those turns changes."""

    __tablename__ = "summed_days"

    day: Mapped[date] = mapped_column(primary_key=True)


class TurnSums(Base):
    """What the counted turns of half an hour add up to, on one backend with one model ('' is not known).

    Each sum is as in `app.reports.sums`. Those ending in `_times` are histograms as in `app.reports.time_histograms`.
    """

    __tablename__ = "turn_sums"

    day: Mapped[date] = mapped_column(ForeignKey("summed_days.day", ondelete="CASCADE"), primary_key=True)
    start: Mapped[datetime] = mapped_column(UtcDateTime, primary_key=True)
    backend: Mapped[str] = mapped_column(Text, primary_key=True)
    model: Mapped[str] = mapped_column(Text, primary_key=True)
    turns: Mapped[int]
    completed: Mapped[int]
    stopped: Mapped[int]
    interrupted: Mapped[int]
    failed: Mapped[int]
    reported: Mapped[int]
    prompt: Mapped[int] = mapped_column(BigInteger)
    cached: Mapped[int] = mapped_column(BigInteger)
    output: Mapped[int] = mapped_column(BigInteger)
    output_known: Mapped[int]
    on_purpose: Mapped[int] = mapped_column(BigInteger)
    on_purpose_known: Mapped[int]
    lost: Mapped[int] = mapped_column(BigInteger)
    lost_known: Mapped[int]
    rounding: Mapped[int] = mapped_column(BigInteger)
    rounding_known: Mapped[int]
    losing: Mapped[int]
    expected: Mapped[int] = mapped_column(BigInteger)
    expected_known: Mapped[int]
    achieved: Mapped[int] = mapped_column(BigInteger)
    could_miss: Mapped[int]
    hits: Mapped[int]
    law_mismatches: Mapped[int]
    total_times: Mapped[str] = mapped_column(Text)
    queued_times: Mapped[str] = mapped_column(Text)
    admission_times: Mapped[str] = mapped_column(Text)
    prefill_times: Mapped[str] = mapped_column(Text)
