"""`search_key(text)` in SQL, the same on both databases. SQLite asks Python, PostgreSQL has what it takes.

On PostgreSQL the database's own character types decide what is upper and lower case.
"""

from typing import Any

from sqlalchemy import Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from app import text


class SearchKey(GenericFunction[str]):
    """`app.text.search_key` of a column or a value."""

    type = Text()
    name = "search_key"
    inherit_cache = True


@compiles(SearchKey, "postgresql")
def _for_postgresql(element: SearchKey, compiler: SQLCompiler, **options: Any) -> str:
    return f"lower(normalize({compiler.process(element.clauses, **options)}, NFKC))"


def add_to_sqlite(connection: Any) -> None:
    """To be called on every new connection of the driver."""
    connection.create_function("search_key", 1, _key_or_null, deterministic=True)


def _key_or_null(value: str | None) -> str | None:
    return None if value is None else text.search_key(value)
