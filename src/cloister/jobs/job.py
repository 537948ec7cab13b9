"""What a job asks for, as its TOML file states it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from cloister.io.query import Query, query_text
from cloister.settings import COLUMN, ENGINE, WHOLE, YES_OR_NO
from cloister.typed_toml import STRICT, key

from .sections import Part

OF_FILE = "the name of a CSV or Parquet file, from the folder of the job"
OF_URL = "the address of a database, as postgresql://host/database or duckdb:PATH"
OF_QUERY = "one SELECT, or the name of a file that ends in .sql"


@dataclass(frozen=True)
class FileSource:
    """A file of data, or a query to a database, and how it is read."""

    __pydantic_config__: ClassVar = STRICT
    file: str = key("", OF_FILE)
    url: str | None = field(default=None, repr=False, metadata={"allowed": OF_URL})
    query: str | None = field(default=None, repr=False, metadata={"allowed": OF_QUERY})
    id: str | None = key(None, COLUMN)
    encoding: str | None = key(None, "the name of an encoding")
    delimiter: str | None = key(None, "one character")
    missing: tuple[str, ...] = key((), "a list of texts")

    def data(self, name: str) -> Path | Query:
        """Where the data are: the file, from the folder of the job, or the query, called as the source is."""
        if self.url is None or self.query is None:
            return Path(self.file)
        return Query(self.url, query_text(self.query), name)


@dataclass(frozen=True)
class Written:
    """A job as the file has it, its sections not yet looked into."""

    __pydantic_config__: ClassVar = STRICT
    name: str = field(metadata={"allowed": "a name, at most 100 characters"})
    output: str = field(metadata={"allowed": "the name of a folder, from the folder of the job"})
    sources: Mapping[str, Mapping[str, Any]] = field(
        metadata={"allowed": "sections [sources.NAME] with a file, or a url and a query"}
    )
    protect: tuple[Mapping[str, Any], ...] = field(metadata={"allowed": "sections written [[protect]]"})
    k: int | None = key(None, "a whole number from 2")
    seed: int = key(0, "a whole number from 0 to below 2^32")
    threads: int | None = key(None, WHOLE)
    engine: str = key("auto", ENGINE)
    link: tuple[str, ...] = key((), "a list of parts")
    attack: bool = key(False, YES_OR_NO)


@dataclass(frozen=True)
class Job:
    """A job whose parts fit together.

    Attributes
    ----------
    parts : by name, in the order of the file; each has its k, unless it is of claims
    """

    name: str
    output: str
    file: str
    sources: Mapping[str, FileSource]
    parts: Mapping[str, Part]
    seed: int = 0
    threads: int | None = None
    engine: str = "auto"
    attack: bool = False
