"""Settings as they may be shown."""

import pytest

from app.settings import Settings
from app.shown_settings import shown_settings
from tests.app.houses import settings_for


def shown(settings: Settings) -> dict[str, str | None]:
    return {setting.name: setting.value for setting in shown_settings(settings)}


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("sqlite:////var/lib/recount.db", "sqlite:////var/lib/recount.db"),
        ("postgresql://recount@db:5432/recount", "postgresql://recount@db:5432/recount"),
        ("postgresql://recount:word@db/recount", "postgresql://recount:***@db/recount"),
        ("postgresql://recount:w@o:r/d@db/recount", "postgresql://recount:***@db/recount"),
        ("postgresql://db/recount?user=me&password=word", "postgresql://db/recount?***"),
        ("postgresql://:word@db/recount", "postgresql://:***@db/recount"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, written: str) -> None:
    assert shown(settings_for(url, "http://one"))["RECOUNT_DATABASE_URL"] == written


def test_values_are_written_as_in_the_environment() -> None:
    settings = settings_for("sqlite:///x", "http://one", secure_cookies=True, trusted_hosts=("a", "b"), setup_code="c")
    values = shown(settings)
    assert values["RECOUNT_SECURE_COOKIES"] == "true"
    assert values["RECOUNT_TRUSTED_HOSTS"] == "a, b"
    assert values["RECOUNT_MODEL"] is None
    assert values["RECOUNT_SETUP_CODE"] is None
    assert "RECOUNT_BACKENDS" not in values
