"""Sections ``[[protect]]`` of a job; their keys are the settings of each shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cloister.errors import NamedSetting
from cloister.settings.analyses import FORMULA, MODELS, Analysis
from cloister.settings.constraints import COLUMN, Described, Kind, OneOf
from cloister.settings.declaration import Given, Keywords, settings_of
from cloister.settings.reading import ReadingWords
from cloister.settings.run_options import ENGINE, SEED_OF_NUMPY, THREADS, K
from cloister.settings.toml import STRICT, parse_section
from cloister.shapes.registry import SHAPES

if TYPE_CHECKING:
    from cloister.io.query import Query

OF_SOURCE = Described("the name of a section [sources.NAME]")
NAME = Described("letters, digits and . _ -, at most 64, the first no sign")
PLAN = Described("the name of a plan, or a section [protect.plan]")


CLAIMS, TABLE = "claims", "table"


@dataclass(frozen=True)
class Part:
    """The settings that a job states for one shape."""

    shape: str
    # the settings of its section, by key; an omitted key is absent, so the default of the setting applies
    keywords: Keywords

    @property
    def sources(self) -> dict[str, str]:
        """The names of the part's sources, by key."""
        return {key: self.keywords[key] for key in SHAPES[self.shape].sources}

    @property
    def usual_name(self) -> str:
        """The default name of the part."""
        usual: str = self.keywords.get("name") or self.keywords.get("source", CLAIMS)
        return usual

    def options(self) -> Given:
        """Return the settings that the part states, by field name."""
        return {
            one.name: one.from_toml(self.keywords[one.word])
            for one in settings_of(SHAPES[self.shape].options)
            if one.key is not None and one.word in self.keywords
        }


@cache
def section_of(shape: str) -> type:
    """Return the record type of a section ``[[protect]]`` of this shape, with its declared keys."""
    made: list[tuple[str, Kind, Kind]] = [("shape", Annotated[str, Described("the name of a shape")], field())]
    made += [(name, Annotated[str, OF_SOURCE], field()) for name in SHAPES[shape].sources]
    if shape == CLAIMS:
        made.append(("plan", Annotated[str | Keywords, PLAN], field()))
    made.append(("name", Annotated[str | None, NAME], field(default=None)))
    for one in (one for one in settings_of(SHAPES[shape].options) if one.key is not None):
        usual: Kind = field(default_factory=dict) if one.by_column else field(default=None)
        made.append((one.word, one.in_toml, usual))
    return make_dataclass(f"Section{shape.title()}", made, frozen=True, namespace={"__pydantic_config__": STRICT})


def part_of(shape: str, section: Keywords, file: str | NamedSetting, inside: Sequence[str] = ()) -> Part:
    """Parse a section ``[[protect]]`` into a part."""
    read: Kind = parse_section(section, section_of(shape), file, inside)
    keywords = {one.name: getattr(read, one.name) for one in fields(read)}
    return Part(shape, {name: value for name, value in keywords.items() if value is not None and value not in ((), {})})


OF_FILE = Described("the name of a CSV or Parquet file, from the folder of the job")
OF_URL = Described("the address of a database, as postgresql://host/database or duckdb:PATH")
OF_QUERY = Described("one SELECT, or the name of a file that ends in .sql")


@dataclass(frozen=True, kw_only=True)
class FileSource(ReadingWords):
    """A file of data, or a query to a database, and how it is read."""

    __pydantic_config__: ClassVar = STRICT
    file: Annotated[str, OF_FILE] = ""
    url: Annotated[str | None, Described("the address of a database, as postgresql://host/database or duckdb:PATH")] = (
        field(default=None, repr=False)
    )
    query: Annotated[str | None, OF_QUERY] = field(default=None, repr=False)
    id: Annotated[str | None, COLUMN] = None

    def data(self, name: str) -> "Path | Query":
        """Return the location of the data: a file, from the folder of the job, or a query, named like the source."""
        if self.url is None or self.query is None:
            return Path(self.file)
        from cloister.io.query import Query, query_text  # what a help page needs loads no dataframes

        return Query(self.url, query_text(self.query), name)


@dataclass(frozen=True)
class Written:
    """A job as its file states it, with unparsed sections."""

    __pydantic_config__: ClassVar = STRICT
    name: Annotated[str, Described("a name, at most 100 characters")]
    output: Annotated[str, Described("the name of a folder, from the folder of the job")]
    sources: Annotated[Mapping[str, Keywords], Described("sections [sources.NAME] with a file, or a url and a query")]
    protect: Annotated[tuple[Keywords, ...], Described("sections written [[protect]]")]
    k: Annotated[int | None, K] = None
    seed: Annotated[int, SEED_OF_NUMPY] = 0
    threads: Annotated[int | None, THREADS] = None
    engine: Annotated[str, ENGINE] = "auto"
    link: Annotated[tuple[str, ...], Described("a list of parts")] = ()
    attack: bool = False
    analysis: Annotated[tuple[Keywords, ...], Described("sections written [[analysis]]")] = ()


@dataclass(frozen=True, kw_only=True)
class AnalysisSection:
    """A section ``[[analysis]]``: what researchers will do with a part that is a table."""

    __pydantic_config__: ClassVar = STRICT
    model: Annotated[str, OneOf(*MODELS)]
    formula: Annotated[str, FORMULA]
    name: Annotated[str, Described("a name for the results")] = ""
    part: Annotated[str | None, Described("the name of a part, which is a table")] = None


@dataclass(frozen=True)
class Job:
    """A job with consistent parts."""

    name: str
    output: str
    file: str
    sources: Mapping[str, FileSource]
    parts: Mapping[str, Part]  # by name, in the order of the file; each has its k, unless it is of claims
    seed: int = 0
    threads: int | None = None
    engine: str = "auto"
    attack: bool = False
    analyses: Mapping[str, tuple[Analysis, ...]] = field(default_factory=dict)  # by name of a part

    def deciding(self, words: Sequence[str], accept: Sequence[str] = ()) -> "Job":
        """Return the job with additional decisions for the undecided columns of its tables.

        ``accept``: columns of its tables that are accepted, too
        """
        added = {key: tuple(more) for key, more in (("undecided", words), ("accept", accept)) if more}
        parts = {
            name: replace(
                part, keywords={**part.keywords, **{key: (*part.keywords.get(key, ()), *added[key]) for key in added}}
            )
            if part.shape == TABLE
            else part
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts)
