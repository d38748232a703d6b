"""SQL on SQLite or PostgreSQL: engines, short units of work, migrations."""

from app.database.database import Database
from app.database.migration import check_drift, check_revision, migrate, new_revision

__all__ = ["Database", "check_drift", "check_revision", "migrate", "new_revision"]
