"""The common head of every manifest, and the rules for reading and writing manifests.

Types are strict and frozen, and refuse unknown keys: nothing that a releaser could write freely is left but names of
columns and files. What does not fit its type was not written by cloister.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from cloister.errors import InputError
from cloister.results import Manifest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Delimiter = Annotated[str, StringConstraints(min_length=1, max_length=1)]
Positive = Annotated[int, Field(ge=1)]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z.+_-]{1,40}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[^/]*$")]
Hash = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


def _moment(text: str) -> str:
    datetime.fromisoformat(text)  # refuses the 31st of February
    return text


Moment = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\+00:00$"),
    AfterValidator(_moment),
]

ALL_LOST = 0.99  # a column that lost so much says nothing
MOST_LOST = 0.9  # more is no useful release


class Section(BaseModel):
    """A section of a manifest."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True, defer_build=True
    )

    @model_validator(mode="after")
    def _absent_is_not_null(self) -> Self:
        fields = type(self).model_fields
        return fitting(
            self,
            {
                name: fields[name].is_required() or fields[name].default is not None or getattr(self, name) is not None
                for name in self.model_fields_set
            },
        )

    @classmethod
    def of_known(cls, **fields: object) -> Self:
        """Return a section with these field values; optional values that are None are omitted."""
        required = {name for name, field in cls.model_fields.items() if field.is_required()}
        return cls.model_validate({name: one for name, one in fields.items() if one is not None or name in required})

    def as_json(self) -> Manifest:
        """Return the section in its JSON form, without unset values."""
        found: Manifest = self.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return found


class NumberColumn(Section):
    """A number in the place of ids."""

    role: Literal["identifier"]
    ids: Literal["number"]


class AttributeColumn(Section):
    """A column of auxiliary attributes."""

    role: Literal["auxiliary"]


class AttributesFile(Section):
    """The columns of auxiliary attributes, in a file of their own or beside codes."""

    columns: dict[str, AttributeColumn]

    @classmethod
    def of(cls, columns: Iterable[str]) -> Self:
        """Return the declaration of these columns."""
        return cls(columns={column: AttributeColumn(role="auxiliary") for column in columns})

    def roles(self) -> dict[str, str]:
        """Return the role of each column."""
        return {name: column.role for name, column in self.columns.items()}


class Machine(Section):
    """Where a release was made."""

    cores: Positive
    system: Version
    python: Version
    numpy: Version
    numba: Version
    polars: Version


class Seconds(Section):
    """Time spent in each stage."""

    start: float
    read: float
    encode: float
    search: float
    protect: float
    verify: float
    measure: float
    write: float
    total: float


class AttackSummary(Section):
    """An attack that the release stood: how many targets were asked for."""

    targets: Positive
    holds: Literal[True]


MANIFEST = "release.json"
DATA = ("data.csv", "data.parquet")
"""Names of the data file; a release has one of them, but for claims and what stays in a database."""

PATIENTS_AND_CLAIMS = (("patients.csv", "claims.csv"), ("patients.parquet", "claims.parquet"))
"""Names of the two files of a release of claims; it has one of these pairs."""

CODEBOOK = "codebook.csv"
SCRIPT = "verify.sql"
"""The promises as SQL, which a recipient runs without cloister."""

REPORT = "report.html"
FIGURES = "report.json"
"""What the report shows: the manifest, and figures that follow from the files."""

README = "README.txt"
REPORTS = (REPORT, FIGURES, README)
"""What people read. Hashes bind its words; only its figures are derived again."""

WITHOUT_RECORDS = (CODEBOOK, SCRIPT, *REPORTS)
"""Listed files that follow from the records and the manifest."""

SCHEMA: Literal[3] = 3
UNBOUND: Literal[2] = 2
"""The schema whose manifests list no hashes of what people read."""

UNBOUND_REPORT = (
    "report",
    f"whether {REPORT} and {README} are as they were written: {MANIFEST} of schema {UNBOUND} lists no hash of them",
)
"""What cannot be checked of a release of that schema: its name, and why."""

CLUSTERS = "clusters.json"
"""The file of disassociated code sets, next to the data file ``data.csv``."""

ATTRIBUTES = "attributes.csv"
"""What is known of patients besides their trajectories, one row a patient, under the released ids."""

QUASI = "quasi-identifier"

WITH_CODES = "codes"
"""The part of the manifest that a table with a column of codes has; its clusters are in a file of their own."""


@dataclass(frozen=True)
class FileSpec:
    """A file of a release: its name, and the columns of its table in order; None if it contains no table."""

    name: str
    columns: tuple[str, ...] | None = None


FIRST = ("schema", "cloister", "shape", "method", "settings", "seed", "created", "machine")
LAST = ("seconds", "files", "attack")
"""Keys with which every manifest begins and ends; what is particular to a shape is between them."""


class ManifestHead(Section):
    """The keys of every manifest that do not depend on the shape."""

    schema_: Literal[2, 3] = Field(alias="schema")
    cloister: Version
    seed: Count
    created: Moment
    machine: Machine
    seconds: Seconds
    files: dict[FileName, Hash]  # none before they are written
    attack: AttackSummary | None = None
    is_whole: ClassVar[bool] = True  # whether each record, or row, has all codes of its patient together

    def as_json(self) -> Manifest:
        """Return the manifest in its JSON form, with keys in canonical order."""
        found = super().as_json()
        between = [name for name in found if name not in (*FIRST, *LAST)]
        return {name: found[name] for name in (*FIRST, *between, *LAST) if name in found}

    @property
    def with_records(self) -> list[str]:
        """The names of the files that contain released records."""
        return [name for name in self.files if name not in WITHOUT_RECORDS]

    @property
    def is_in_database(self) -> bool:
        """Whether the released records stay in a database."""
        return getattr(self, "table", None) is not None

    @property
    def suffix(self) -> str:
        """The ending of the names of record files, for the format that the manifest lists."""
        found = {name.removesuffix(".parquet") for name in self.files if name.endswith(".parquet")}
        return ".parquet" if found and not any(f"{name}.csv" in self.files for name in found) else ".csv"

    @property
    def data_file(self) -> str:
        """The name of the data file, for forms with a single one."""
        return f"data{self.suffix}"

    def file_specs(self) -> tuple[FileSpec, ...]:
        """Return the files of such a release that contain records: by default one file with all declared columns."""
        return (FileSpec(self.data_file, tuple(self.roles())),)

    @property
    def empty(self) -> list[str]:
        """The columns without information in this release; empty for forms that keep or suppress complete values."""
        return []

    def roles(self) -> dict[str, str]:
        """Return the role of each released column; for claims, of each column of patients."""
        columns: dict[str, Any] = dict(getattr(self, "columns", {}))  # each form has columns of its own types
        return {name: column.role for name, column in columns.items() if column is not None}

    def must_list(self) -> str | None:
        """Return the files that the manifest must list, in words; None if it lists exactly these."""
        names = [one.name for one in self.file_specs()]
        if self.files.keys() - {SCRIPT, *REPORTS} == {*names, CODEBOOK}:
            return None
        return f"{' and '.join((*names, CODEBOOK))}, no more"

    def one_row_a_patient(self) -> tuple[str, dict[str, str]] | None:
        """Return the file with one row per patient, and the roles of its columns that could link to another release.

        None where there is no such file.
        """
        return None

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """Parse a manifest, or raise an error that names the wrong places."""
        found, places = read_section(cls, manifest)
        if found is None:
            raise InputError(f"release.json is not what a release says: {', '.join(places)}.", file="release.json")
        return found


def same(stated: object, expected: object) -> bool:
    """Return whether two values are the same in JSON, where 1, 1.0 and true differ."""
    return json.dumps(stated, sort_keys=True) == json.dumps(expected, sort_keys=True)


S = TypeVar("S", bound=Section)


class MisfitError(ValueError):
    """Parts of a manifest that are inconsistent with each other."""

    def __init__(self, parts: list[str]) -> None:
        super().__init__(f"{parts} do not fit")
        self.parts = parts


def fitting(section: S, fits: Mapping[str, bool]) -> S:
    """Return a section if all named parts are consistent, else raise an error; for validators."""
    if not all(fits.values()):
        raise MisfitError([part for part, fit in fits.items() if not fit])
    return section


def read_section(kind: type[S], content: object) -> tuple[S | None, list[str]]:
    """Parse JSON as a section; return it, or None and the places of the errors, without values."""
    try:
        found = kind.model_validate_json(json.dumps(content))
        if same(found.as_json(), content):
            return found, []
        return None, ["numbers in place of true or false"]  # which are equal in Python
    except ValidationError as error:
        known = _fields(kind)
        return None, sorted({place for one in error.errors(include_url=False) for place in _places(one, known)})
    except (ValueError, ArithmeticError, RecursionError):
        return None, ["its text"]


def _places(error: "ErrorDetails", known: set[str]) -> list[str]:
    """Return the places of an error, by known fields only: each inconsistent part, or the section with unknown keys."""
    found, path, kind = error.get("ctx", {}).get("error"), error["loc"], error["type"]
    inside = path[:-1] if kind == "extra_forbidden" else path
    name = ".".join(str(part) for part in inside if isinstance(part, int) or part in known)
    if isinstance(found, MisfitError):
        return [f"{name}.{part}".removeprefix(".") for part in found.parts]
    return [f"{name}, which has unknown keys" if name and kind == "extra_forbidden" else name or "its keys"]


@cache
def _fields(kind: type[Section]) -> set[str]:
    """Return the names of all fields of a section and its subsections; other keys may be values of patients."""
    schema = kind.model_json_schema()
    return {name for one in (schema, *schema.get("$defs", {}).values()) for name in one.get("properties", {})}
