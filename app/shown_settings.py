"""Every setting as it may be shown: no secret, no password inside a URL. It knows no pages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from app.settings import Backend, Settings

OF_ONE_PROCESS: Final = frozenset({"host", "port", "inference_host", "inference_port", "inference_key"})
"""Where a process listens: of several on one database each has its own."""
_PASSWORD: Final = re.compile(r"(?<=://)([^/:]*:).*@")
_QUERY: Final = re.compile(r"\?.+", re.DOTALL)
_URLS: Final = frozenset({"database_url", "redis_url", "base_url"})


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """`value` and `default` are as in the environment; None is an empty one. Of a `secret` only `is_set` is known."""

    name: str
    value: str | None
    default: str | None
    description: str
    secret: bool
    is_set: bool


def shown_settings(settings: Settings) -> list[ShownSetting]:
    """All but the backends, under their names in the environment."""
    return [
        _shown(f"RECOUNT_{name.upper()}", name, field, settings)
        for name, field in Settings.model_fields.items()
        if name != "backends"
    ]


def shown_backend(backend: Backend) -> list[ShownSetting]:
    return [_shown(name, name, field, backend) for name, field in Backend.model_fields.items()]


def kept_values(settings: Settings) -> dict[str, str]:
    """What is compared from start to start: all that is no default, no secret, and the same in every process."""
    return {
        setting.name: setting.value
        for setting in _compared(settings)
        if setting.value is not None and setting.value != setting.default
    }


def _compared(settings: Settings) -> Iterator[ShownSetting]:
    for name, field in Settings.model_fields.items():
        if name != "backends" and name not in OF_ONE_PROCESS:
            yield _shown(f"RECOUNT_{name.upper()}", name, field, settings)
    for backend in settings.backends:
        for name, field in Backend.model_fields.items():
            yield _shown(f"{backend.name}.{name}", name, field, backend)


def _shown(shown_name: str, name: str, field: FieldInfo, owner: BaseModel) -> ShownSetting:
    value = getattr(owner, name)
    secret = isinstance(value, SecretStr) or "SecretStr" in str(field.annotation)
    return ShownSetting(
        name=shown_name,
        value=None if secret else _written(name, value),
        default=None if field.default is PydanticUndefined else _written(name, field.default),
        description=field.description or "",
        secret=secret,
        is_set=value not in (None, (), ""),
    )


def _written(name: str, value: object) -> str | None:
    if value in (None, (), ""):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return _without_password(str(value)) if name in _URLS else str(value)


def _without_password(url: str) -> str:
    """The password of `scheme://user:password@host` becomes stars, and so does what stands behind a `?`."""
    return _QUERY.sub("?***", _PASSWORD.sub(r"\1***@", url))
