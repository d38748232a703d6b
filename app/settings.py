"""Every setting of the app, read once from the environment or `.env` into a frozen object."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict
from redis.asyncio.connection import parse_url

_REUSE_RULE = re.compile(r"(?:(block|breakpoint)\(([1-9]\d{0,5})\)|token|none)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ReuseRule:
    """`size` in tokens: of a block, or the shortest prefix that is kept; 1 where every token counts."""

    kind: Literal["token", "block", "breakpoint", "none"]
    size: int = 1

    def __str__(self) -> str:
        return f"{self.kind}({self.size})" if self.kind in ("block", "breakpoint") else self.kind

    @property
    def granularity(self) -> int | None:
        """What is missed of less than so many tokens is rounding; None where nothing is reused."""
        return None if self.kind == "none" else self.size


def _parse_reuse_rule(value: object) -> object:
    match = _REUSE_RULE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError("reuse_rule", "must be token, block(N), breakpoint(N) or none, with N from 1")
    return {"kind": match[1] or match[0], "size": int(match[2] or 1)}


class Backend(BaseModel):
    """One model server that speaks the Messages API."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="Short name, shown to operators and stored with every turn.")
    base_url: str = Field(description="Where it listens, without `/v1`.")
    api_key: SecretStr | None = Field(default=None, description="Sent as `x-api-key`.")
    model: str | None = Field(default=None, description="Model id; empty means the first that it lists.")
    context_window: int | None = Field(default=None, description="In tokens; empty means what it reports.")
    isolation: Literal["metadata", "none"] = Field(
        default="metadata", description="Whether `metadata.user_id` separates the caches of users there."
    )
    prefill: bool = Field(
        default=False,
        description="Whether it goes on from a final assistant message, so that answers can be continued.",
    )
    early_message_start: bool = Field(
        default=False, description="Whether `message_start` comes at admission, before the prefill."
    )
    reuse_rule: Annotated[ReuseRule, BeforeValidator(_parse_reuse_rule)] = Field(
        default=ReuseRule("token"),
        description="What it reuses: `token`, `block(16)` for whole blocks, `breakpoint(1024)` for marked prefixes of"
        " so many tokens or more, or `none`.",
    )
    cache_lifetime_s: float | None = Field(
        default=None,
        gt=0,
        description="How long it keeps a prompt that nobody asks for, in seconds; empty means as room allows.",
    )
    cache_control: bool = Field(
        default=False, description="Whether it must be asked to cache: `cache_control` is then sent with every request."
    )
    session_header: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9-]{1,64}$",
        description="Name of a header that carries an id of the conversation, for routers that keep it on one server.",
    )
    diagnostics: bool = Field(
        default=False,
        description="Whether it takes `diagnostics` and says why it missed, as the bundled server does.",
    )
    inspection: bool = Field(
        default=False,
        description="Whether it shows tokens, attention and its cache to us, as the bundled server does.",
    )
    forgets: bool = Field(
        default=False,
        description="Whether it drops what it remembers of messages that are deleted here, as the bundled server does.",
    )


class Settings(BaseSettings):
    """Settings of the whole product; names in the environment start with `RECOUNT_`."""

    model_config = SettingsConfigDict(
        env_prefix="RECOUNT_",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        protected_namespaces=(),
    )

    host: str = Field(default="127.0.0.1", description="Address that the web app listens on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port that the web app listens on.")
    inference_host: str = Field(default="127.0.0.1", description="Address of the bundled inference server.")
    inference_port: int = Field(default=8100, ge=0, le=65535, description="Port of the bundled server.")
    inference_key: SecretStr | None = Field(
        default=None, description="Key of the bundled server; made and kept in the data folder when unset."
    )
    data_dir: Path = Field(default=Path("data"), description="Folder for the database and made secrets.")
    database_url: str | None = Field(
        default=None, description="SQLAlchemy URL, sqlite or postgresql; empty means SQLite in the data folder."
    )
    redis_url: str | None = Field(
        default=None,
        description="Redis, which several processes of the app need: live answers, stops, and limits are shared there.",
    )
    model: Path | None = Field(
        default=None, description="Model file of the bundled server; empty means the bundled file."
    )
    backends: tuple[Backend, ...] = Field(
        default=(), description="Model servers as a JSON list; empty means the bundled one."
    )
    allow_shared_cache: bool = Field(
        default=False,
        description="Allows several users on a backend that does not separate their caches (`isolation` is `none`).",
    )
    operators_read_text: bool = Field(
        default=False,
        description="Lets operators read titles and texts of other people's conversations; every view is audited.",
    )
    setup_code: SecretStr | None = Field(
        default=None, description="Fixes the one-time code of the first account, for automation."
    )
    live_turns_per_user: int = Field(default=2, ge=1, description="Answers in the making, per user.")
    sends_per_minute: int = Field(default=60, ge=1, description="Messages and other changes, per user and minute.")
    session_idle_days: int = Field(default=7, ge=1, description="Days without use until a session ends.")
    session_absolute_days: int = Field(default=30, ge=1, description="Days until a session ends anyway.")
    max_message_characters: int = Field(default=32_000, ge=1, description="Longest message, in characters.")
    answer_tokens: int = Field(default=1024, ge=1, description="Longest answer, in tokens (`max_tokens`).")
    default_system_prompt: str | None = Field(
        default=None, description="What new conversations begin with, where their owner has no default of their own."
    )
    retention_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after which a conversation that nobody has touched is deleted; empty keeps all.",
    )
    turn_retention_days: int | None = Field(
        default=None,
        ge=1,
        description="Days after which the figures of turns whose text was deleted go too; empty keeps all.",
    )
    metrics_token: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Whoever sends it as a bearer token may read `/metrics`; empty means that there is no such page.",
    )
    drain_seconds: float = Field(
        default=5.0, ge=0, description="How long a stopping process waits for answers before it cuts them."
    )
    secure_cookies: bool = Field(default=False, description="Set behind TLS: cookies only over HTTPS.")
    trusted_hosts: tuple[str, ...] = Field(
        default=(), description="Host names that the app answers to, as a JSON list; empty means any."
    )
    trusted_proxies: tuple[str, ...] = Field(
        default=(), description="Addresses of proxies whose X-Forwarded-For is believed, as a JSON list."
    )

    @field_validator("redis_url")
    @classmethod
    def _check_redis_url(cls, value: str | None) -> str | None:
        """By the very parser that the connections use."""
        try:
            parse_url(value or "redis://")
        except ValueError:
            message = "not a usable URL; it starts with redis://, rediss:// or unix://"
            raise PydanticCustomError("redis_url", message) from None
        return value

    @field_validator("backends")
    @classmethod
    def _check_names(cls, value: tuple[Backend, ...]) -> tuple[Backend, ...]:
        """Turns are stored with the name of their backend."""
        names = [backend.name for backend in value]
        if len(set(names)) < len(names):
            raise PydanticCustomError("backend_names", "every backend needs a name of its own")
        return value

    def resolved_database_url(self) -> str:
        return self.database_url or f"sqlite:///{self.data_dir / 'recount.db'}"

    @property
    def only_one_account(self) -> bool:
        """Whether several accounts would share a cache that nobody has allowed them to share."""
        return not self.allow_shared_cache and any(each.isolation == "none" for each in self.resolved_backends())

    def resolved_backends(self) -> tuple[Backend, ...]:
        """The configured backends, or the bundled server alone."""
        if self.backends:
            return self.backends
        host = f"[{self.inference_host}]" if ":" in self.inference_host else self.inference_host
        return (
            Backend(
                name="bundled",
                base_url=f"http://{host}:{self.inference_port}",
                api_key=self.inference_key,
                early_message_start=True,
                prefill=True,
                diagnostics=True,
                inspection=True,
                forgets=True,
            ),
        )
