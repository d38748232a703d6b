"""docs/configuration.md names every setting with its default and meaning, as the code has them."""

from pathlib import Path

import pytest
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from app.settings import Backend, Settings

DOCUMENT = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text()


def shown_default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    if field.default in (None, ()):
        return "empty"
    return f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_a_setting_is_documented(name: str) -> None:
    field = Settings.model_fields[name]
    assert f"| `RECOUNT_{name.upper()}` | {shown_default(field)} | {field.description} |\n" in DOCUMENT


@pytest.mark.parametrize("name", list(Backend.model_fields))
def test_a_field_of_a_backend_is_documented(name: str) -> None:
    field = Backend.model_fields[name]
    assert f"| `{name}` | {shown_default(field)} | {field.description} |\n" in DOCUMENT
