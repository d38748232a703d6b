"""The fields of model and parameters, on the page of a conversation and in the form of a new one."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request

from app.conversations.choices import Choice
from app.conversations.param_fields import read_params
from app.conversations.params import HOTTEST, MOST_TOKENS
from app.turns.offered_models import OfferedModel
from app.web.forms import CHOICE_FIELDS, field, form_of, optional_field
from app.web.visit import house_of

NOTHING_TYPED: Final[Mapping[str, str]] = dict.fromkeys(CHOICE_FIELDS, "")


def read_choice(request: Request) -> Choice:
    """What the form chooses. InvalidInput names the field."""
    return Choice(optional_field(request, "model"), read_params(form_of(request)))


def typed_choice(request: Request) -> dict[str, str]:
    """The fields as they were typed, to show them again."""
    return {name: field(request, name) for name in CHOICE_FIELDS}


async def offered_models(request: Request) -> Sequence[OfferedModel]:
    """Nobody waits for a model server that is known to be away."""
    house = house_of(request)
    return house.offered_models.known() if house.backend_watch.away else await house.offered_models.list()


async def choice_values(request: Request, fields: Mapping[str, str], problem_field: str | None) -> dict[str, Any]:
    """What the template of the fields needs; `problem_field` is the one that was refused."""
    return {
        "models": await offered_models(request),
        "fields": fields,
        "usual_tokens": house_of(request).settings.answer_tokens,
        "most_tokens": MOST_TOKENS,
        "hottest": HOTTEST,
        "problem_field": problem_field,
    }
