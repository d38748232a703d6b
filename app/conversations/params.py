"""What a conversation may choose of how its answers are written. Stored as canonical JSON; absent is not sent."""

import json
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

MOST_TOKENS = 1_000_000
HOTTEST = 2.0
MOST_STOPS = 8
LONGEST_STOP = 100

# One line each, as they are typed; NUL is a character that no database keeps.
StopSequence = Annotated[str, Field(min_length=1, max_length=LONGEST_STOP, pattern=r"^[^\n\r\x00]+$")]


class Params(BaseModel):
    """Under their wire names. None means that the model server decides; for `max_tokens`, that the setting does."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    max_tokens: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    temperature: float | None = Field(default=None, ge=0, le=HOTTEST)
    top_p: float | None = Field(default=None, gt=0, le=1)
    stop_sequences: Annotated[list[StopSequence], Field(min_length=1, max_length=MOST_STOPS)] | None = None

    @classmethod
    def parse(cls, stored: str) -> Self:
        return cls.model_validate_json(stored)

    def chosen(self) -> dict[str, Any]:
        """Only what was chosen, in the one order in which it is stored and sent."""
        return self.model_dump(exclude_none=True)

    def canonical(self) -> str:
        return canonical_json(self.chosen())


def canonical_json(value: object) -> str:
    """The same text for the same value, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
