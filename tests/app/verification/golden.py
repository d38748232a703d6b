"""The golden conversations of one prompt format: their rows, and the bodies that were sent, byte for byte."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Conversation, Message, SystemPrompt, Turn, User

FOLDER = Path(__file__).parents[1] / "data" / "golden_bodies"
AT = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Golden:
    """`bodies` by the id of their turn."""

    secret: bytes
    reference: str
    bodies: Mapping[UUID, bytes]
    rows: tuple[Sequence[object], ...]

    async def store(self, session: AsyncSession) -> None:
        for rows in self.rows:
            session.add_all(rows)
            await session.flush()


def load(prompt_format: int) -> Golden:
    file = json.loads((FOLDER / f"format_{prompt_format}.json").read_text(encoding="utf-8"))
    conversation = with_ids(file["conversation"])
    conversation["salt"] = bytes.fromhex(conversation["salt"])
    turns = [with_ids(turn) for turn in file["turns"]]
    bodies = {turn["id"]: turn.pop("body").encode() for turn in turns}
    owner = User(
        id=conversation["owner_id"], name="Golden", name_key="golden", password_hash="none", role="user", created_at=AT
    )
    common = {"conversation_id": conversation["id"], "created_at": AT}
    return Golden(
        secret=bytes.fromhex(file["secret"]),
        reference=conversation["reference"],
        bodies=bodies,
        rows=(
            [owner, *(SystemPrompt(**with_ids(each)) for each in file["system_prompts"])],
            [Conversation(**conversation, created_at=AT, updated_at=AT)],
            [Message(**with_ids(each), **common) for each in file["messages"]],
            [Turn(**turn, **common, purpose="chat", status="completed", prompt_format=prompt_format) for turn in turns],
        ),
    )


def with_ids(row: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no ids, only their numbers."""
    return {
        name: UUID(int=value) if value is not None and (name == "id" or name.endswith("_id")) else value
        for name, value in row.items()
    }
