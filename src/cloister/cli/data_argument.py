"""DATA of a command: a file, or the address of a database together with ``--query``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from cloister.errors import InputError

if TYPE_CHECKING:
    from cloister.io.query import Query

QueryText = Annotated[
    str | None,
    Option(
        "--query",
        metavar="SQL",
        help="DATA is the address of a database (postgresql://HOST/DATABASE, duckdb:PATH): read what this SELECT, or "
        "the one in a file that ends in .sql, gives. User and password come from the environment.",
    ),
]
CALLED = "the database"


class Address(str):
    """A word that says where a database is, as typed: a path would lose a stroke of ``//``."""

    __slots__ = ()


def data_word(text: str) -> Path | Address:
    """Return what DATA is, by how it is written."""
    from cloister.io.query import is_address  # loaded once a command runs

    return Address(text) if is_address(text) else Path(text)


def data_of(data: Path | Address, query: str | None, **of_files: str | None) -> "Path | Query":
    """Return the file, or the query to the database."""
    if not isinstance(data, Address):
        if query is not None:
            raise InputError("--query is for databases, but DATA is a file. Leave it out, or name a database.")
        return data
    if query is None:
        raise InputError("DATA is the address of a database. Say with --query what is to be read of it.")
    told = [f"--{name}" for name, value in of_files.items() if value is not None]
    if told:
        raise InputError(f"{' and '.join(told)}: for files alone, but DATA is in a database. Leave it out.")
    from cloister.io.query import Query, is_file_of_sql, query_text

    return Query(data, query_text(query), Path(query).stem if is_file_of_sql(query) else CALLED)
