"""A query to a database: its address and one SELECT statement. Messages never show either."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl

from cloister.errors import InputError
from cloister.io.csv import load_text
from cloister.io.foreign import translate_errors

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
SECRET = re.compile(r"pass(word|wd|phrase)?$|pwd|secret|token|credential|authorization|access_?key|(?<!ssl)key$")
USER_AND_PASSWORD = re.compile(r"[^/]*//[^@]*:[^@]*@")
SUFFIXES = (".duckdb", ".db", ".sqlite", ".sqlite3")
Dialect = Literal["postgres", "duckdb"]
"""SQL of the databases in which tables are protected, as `sqlglot` names it."""

DIALECTS = {"postgresql": "postgres", "postgres": "postgres", "duckdb": "duckdb", "sqlite": "sqlite"}
IN_FILES = ("duckdb", "sqlite")
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True)
class Query:
    """A query whose result is a table.

    Examples
    --------
    >>> Query("duckdb:hospital.duckdb", "select * from patients", "patients")
    Query(name='patients')
    """

    # where the database is: ``postgresql://host:port/database``, ``duckdb:PATH``, ``sqlite:PATH``, the path of such a
    # file, or an address with the scheme of another ADBC driver; holds no password
    url: str = field(repr=False)
    query: str = field(repr=False)
    name: str = "query"

    def __post_init__(self) -> None:
        check_address(self.url, self.name)
        the_one_select(self.query, self.scheme, self.name)

    @property
    def scheme(self) -> str:
        """The kind of database; for a path, the kind of file."""
        found = SCHEME.fullmatch(self.url)
        if found is not None:
            return found[1].lower()
        return "sqlite" if _begins(Path(self.url)) == _SQLITE else "duckdb"

    @property
    def place(self) -> str:
        """The address without its scheme; for a database in a file, its path."""
        found = SCHEME.fullmatch(self.url)
        return self.url if found is None else found[2]

    def file(self) -> Path:
        """Return the path of a database in a file."""
        path = Path(self.place)
        if not path.is_file():
            raise InputError(f"There is no database file {path.name}, which {self.name} is to be read from.")
        return path

    @property
    def select(self) -> str:
        """The statement, without semicolon and surrounding comments."""
        return the_one_select(self.query, self.scheme, self.name)


@dataclass
class Call:
    """A running query."""

    cancel: Callable[[], None] | None = None
    doing: str = "connect"
    notes: list[str] = field(default_factory=list)

    def stop(self) -> None:
        """Ask the database to stop the query."""
        if self.cancel is not None:
            self.cancel()


def file_of(url: str) -> str | None:
    """Return the path of a database in a file, as written in its address; None for a database on a server.

    Examples
    --------
    >>> [file_of(url) for url in ("duckdb:data/h.duckdb", "hospital.sqlite", "postgresql://host/db")]
    ['data/h.duckdb', 'hospital.sqlite', None]
    """
    found = SCHEME.fullmatch(url)
    if found is None:
        return url
    return found[2] if found[1].lower() in IN_FILES else None


def is_address(text: str) -> bool:
    """Whether a word is the address of a database, not the path of a file.

    Examples
    --------
    >>> [is_address(word) for word in ("postgresql://host/db", "hospital.duckdb", "patients.csv", "a:b.csv")]
    [True, True, False, False]
    """
    found = SCHEME.fullmatch(text)
    if found is None:
        return text.lower().endswith(SUFFIXES)
    return found[2].startswith("//") or found[1].lower() in IN_FILES


def check_address(url: str, name: str) -> None:
    """Refuse a text that is not an address or contains a secret; messages show no part of it."""
    if not is_address(url) or not url.isprintable():
        raise InputError(
            f"The url of {name} names no database. It can be postgresql://host:port/database, duckdb:PATH, sqlite:PATH "
            "or an address with the scheme of an ADBC driver."
        )
    keys = [key for key, _ in parse_qsl(url.partition("?")[2], keep_blank_values=True)]
    if USER_AND_PASSWORD.match(url) or any(SECRET.search(key.lower()) for key in keys):
        raise InputError(
            f"The url of {name} contains a password or another secret. Remove it, and set it in the environment: for "
            "PostgreSQL as PGPASSWORD or PGPASSFILE, for other drivers as CLOISTER_DATABASE_PASSWORD."
        )


def query_text(text: str) -> str:
    """Return the SQL of a word: the word itself, or the content of the file if it ends in ``.sql``."""
    return load_text(Path(text)).data.decode() if is_file_of_sql(text) else text


def is_file_of_sql(text: str) -> bool:
    """Whether a word names a file that contains the query."""
    return re.fullmatch(r"\S+\.sql", text) is not None


@cache
def the_one_select(query: str, scheme: str, name: str) -> str:
    """Return the only statement of a query, without semicolon and surrounding comments."""
    refusal = InputError(
        f"The query of {name} cannot be read as SQL. Give one SELECT statement, as the database takes it."
    )
    parts, reads, text = translate_errors(lambda: _parse_statements(query, scheme), refusal)
    if parts > 1:
        raise InputError(f"The query of {name} has {parts} statements. Give one SELECT.")
    if not reads:
        raise InputError(f"The query of {name} must be one SELECT (or WITH or VALUES) that writes and locks nothing.")
    return text


def _parse_statements(query: str, scheme: str) -> tuple[int, bool, str]:
    """Count the statements, check whether they only read, and cut off the text around them."""
    import sqlglot  # loaded only where there is a query
    from sqlglot import exp, parser

    dialect = DIALECTS.get(scheme, scheme if scheme in sqlglot.Dialects.__members__.values() else None)
    spoke, parser.logger.disabled = parser.logger.disabled, True  # it quotes statements that it does not know
    try:
        found = [one for one in sqlglot.parse(query, dialect=dialect) if one and not isinstance(one, exp.Semicolon)]
    finally:
        parser.logger.disabled = spoke
    writes = (exp.DML, exp.DDL, exp.Into, exp.Command, exp.Lock)
    nodes = [node for one in found for node in one.walk()]
    reads = bool(found) and all(isinstance(one, exp.Query | exp.Values) for one in found)
    reads = reads and not any(isinstance(node, writes) and not isinstance(node, exp.Query) for node in nodes)
    words = [word for word in sqlglot.tokenize(query, dialect=dialect) if word.text != ";" or word.end > word.start]
    return len(found), reads, query[words[0].start : words[-1].end + 1] if words else ""


def _begins(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE))
    except OSError:
        return b""  # anyone who reads it says what is wrong


def quote_name(name: str) -> str:
    """Quote a name as in standard SQL."""
    return '"' + name.replace('"', '""') + '"'
