import pytest
from pydantic import ValidationError

from app.settings import Backend, Settings


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOUNT_PORT", "9000")
    monkeypatch.setenv("RECOUNT_BACKENDS", '[{"name": "vllm", "base_url": "http://gpu:8000"}]')
    monkeypatch.setenv("RECOUNT_TRUSTED_HOSTS", '["chat.example.org"]')
    monkeypatch.setenv("RECOUNT_TRUSTED_PROXIES", '["10.0.0.1"]')
    settings = Settings(_env_file=None)
    assert settings.port == 9000
    assert settings.trusted_proxies == ("10.0.0.1",)
    assert settings.resolved_backends() == (Backend(name="vllm", base_url="http://gpu:8000"),)
    assert settings.trusted_hosts == ("chat.example.org",)


def test_settings_default_to_sqlite_and_the_bundled_server() -> None:
    settings = Settings(_env_file=None, inference_key="secret")
    assert settings.resolved_database_url() == "sqlite:///data/recount.db"
    (bundled,) = settings.resolved_backends()
    assert bundled.base_url == "http://127.0.0.1:8100"
    assert bundled.early_message_start
    assert bundled.api_key is not None
    assert "secret" not in repr(settings)


def test_settings_bracket_an_ipv6_address() -> None:
    settings = Settings(_env_file=None, inference_host="::1")
    assert settings.resolved_backends()[0].base_url == "http://[::1]:8100"


def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RECOUNT_MODEL", "RECOUNT_REDIS_URL", "RECOUNT_PORT", "RECOUNT_BACKENDS"):
        monkeypatch.setenv(name, "")
    settings = Settings(_env_file=None)
    assert (settings.model, settings.redis_url, settings.port, settings.backends) == (None, None, 8000, ())


@pytest.mark.parametrize("url", ["http://127.0.0.1", "localhost:6379", "redis://host:port", "redis://[::1"])
def test_a_redis_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(_env_file=None, redis_url=url)
    (error,) = caught.value.errors()
    assert (error["loc"], error["type"]) == (("redis_url",), "redis_url")
    assert "redis://" in error["msg"]


@pytest.mark.parametrize("url", [None, "redis://localhost", "rediss://:secret@host:1/0", "unix:///run/redis.sock?db=1"])
def test_usable_redis_urls_are_taken(url: str | None) -> None:
    assert Settings(_env_file=None, redis_url=url).redis_url == url


def test_settings_are_frozen_and_checked() -> None:
    settings = Settings(_env_file=None)
    with pytest.raises(ValidationError):
        settings.port = 1  # type: ignore[misc]
    with pytest.raises(ValidationError, match="port"):
        Settings(_env_file=None, port=70_000)


def test_every_setting_is_described() -> None:
    fields = {**Settings.model_fields, **Backend.model_fields}
    assert [name for name, field in fields.items() if not field.description] == []


def test_backends_have_names_of_their_own() -> None:
    twice = tuple(Backend(name="gpu", base_url=f"http://127.0.0.1:{port}") for port in (1, 2))
    with pytest.raises(ValidationError, match="every backend needs a name of its own"):
        Settings(_env_file=None, backends=twice)
