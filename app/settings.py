"""Every setting of the app, read once from the environment or `.env` into a frozen object."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict
from redis.asyncio.connection import parse_url


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

    def resolved_database_url(self) -> str:
        return self.database_url or f"sqlite:///{self.data_dir / 'recount.db'}"

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
                forgets=True,
            ),
        )
