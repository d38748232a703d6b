"""`epoch_seconds(instant)` in SQL: whole seconds since 1970 in UTC, rounded down, the same on both databases."""

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction


class EpochSeconds(GenericFunction[int]):
    type = BigInteger()
    name = "epoch_seconds"
    inherit_cache = True


@compiles(EpochSeconds, "postgresql")
def _for_postgresql(element: EpochSeconds, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST(floor(date_part('epoch', {compiler.process(element.clauses, **options)})) AS BIGINT)"


@compiles(EpochSeconds, "sqlite")
def _for_sqlite(element: EpochSeconds, compiler: SQLCompiler, **options: Any) -> str:
    # Of the text without its fraction, which SQLite would round to milliseconds, and so into the next second.
    return f"CAST(strftime('%s', substr({compiler.process(element.clauses, **options)}, 1, 19)) AS INTEGER)"
