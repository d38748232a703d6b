"""What stands around every page of somebody who has signed in."""

import uuid
from typing import Any

from starlette.requests import Request

from app.web.visit import account_of, house_of


async def around(request: Request) -> dict[str, Any]:
    house = house_of(request)
    return {
        "conversations": await house.conversations.list(account_of(request).id),
        "submission_key": new_submission_key(),
        "max_characters": house.settings.max_message_characters,
    }


def new_submission_key() -> str:
    return uuid.uuid4().hex
