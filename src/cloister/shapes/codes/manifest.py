"""The manifest, codebook and data file of code sets, as far as they do not depend on the method."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

import numpy as np
import polars as pl
from annotated_types import Ge, Le
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from cloister.release.codebook import Row, Type, codebook_of, type_of
from cloister.release.head import (
    Count,
    Delimiter,
    FileName,
    ManifestHead,
    MisfitError,
    NumberColumn,
    Positive,
    Section,
    fitting,
)
from cloister.release.masking import below, mask_small_count, mask_total, must_mask
from cloister.results import Manifest

from .data import CODES, ID, LARGEST, CodeSets, GivenCodes, plain_code
from .policy import is_built, is_support, policy_words
from .request import CodesRequest

Whole = Annotated[int, Ge(1), Le(LARGEST)]
Below = Annotated[str, StringConstraints(pattern=r"^<[1-9][0-9]{0,17}$")]  # A number that is masked: it is smaller
Workload = Annotated[str, StringConstraints(pattern=r"^(frequent:[0-9.]+(e[+-]?[0-9]+)?|random:[0-9]+)$")]
LINES_AT_ONCE = 1 << 18
SUPPORT = re.compile(r"sup:[0-9.]+(e[+-]?[0-9]+)?")


def _makes_a_policy(words: str) -> str:
    is_path = not is_built(words) and not is_support(words) and set(words) & {"/", "\\"}
    if (
        is_path
        or (is_built(words) and policy_words(words) is None)
        or (is_support(words) and not SUPPORT.fullmatch(words))
    ):
        raise MisfitError(["policy"])
    return words


PolicyText = Annotated[str, AfterValidator(_makes_a_policy)]
"""Of a utility policy: how it is made of codes, or what its file is called."""


class CodeInput(Section):
    """Which column of the input was what."""

    id: str | None
    codes: str | None
    code: str | None
    separator: str | None = None  # of codes in a cell, where it was named

    @model_validator(mode="after")
    def _fit(self) -> Self:
        named = [name for name in (self.id, self.codes, self.code) if name is not None]
        return fitting(self, {"input_columns": len(set(named)) == len(named)})


class SharedCodesSettings(Section):
    """How the input was read, and what was asked whatever the method; ``policy``: the utility policy in words."""

    source: FileName
    k: Whole
    policy: PolicyText | None
    repeats: bool
    drop_empty: bool
    workload: Workload | None
    ids: Literal["number", "drop"]
    input_columns: CodeInput
    not_released: tuple[str, ...]
    delimiter: Delimiter = ","

    @model_validator(mode="after")
    def _fit_input(self) -> Self:
        is_read = (self.input_columns.id, self.input_columns.codes, self.input_columns.code)
        return fitting(self, {"not_released": {*self.not_released}.isdisjoint(is_read)})


class CodesColumn(Section):
    """Codes, or what stands for them."""

    role: Literal["codes"]


class CodeDataColumns(Section):
    """The columns of the data file."""

    id: NumberColumn | None = None
    codes: CodesColumn


class CodeRecords(Section):
    """How many patients there were, are and were omitted; fewer than k are masked, and what they follow from."""

    in_: Count | Below = Field(alias="in")
    released: Positive
    suppressed: Count | Below

    @classmethod
    def of(cls, released: int, suppressed: int | str) -> Self:
        """Return the numbers; ``suppressed`` is ``<N`` for fewer than N."""
        numbers = {"in": mask_total(released, suppressed), "released": released, "suppressed": suppressed}
        return cls.model_validate(numbers)


class KmRule(Section):
    """Anyone who knows up to m codes of a patient is left with k candidates."""

    model: Literal["k^m-anonymity"]
    k: Whole
    m: Positive


class CodesGuarantee(Section):
    """What is promised, and that it was verified; ``assumed``: nothing told patients apart, each record is one."""

    rules: tuple[Section, ...]
    verified: Literal[True]
    one_row_per_patient: Literal["assumed", "ids"]


class PolicySets(Section):
    """What became of the sets of a utility policy; null without one, and of frequent sets."""

    constraints: Count | None
    constraints_satisfied: Count | None
    constraints_preserved: Count | None

    @model_validator(mode="after")
    def _descend(self) -> Self:
        counts = self.counts()
        fits = None not in counts or counts == (None, None, None)
        return fitting(self, {"constraints": fits and counts == tuple(sorted(counts, key=lambda n: -(n or 0)))})

    def counts(self) -> tuple[int | None, int | None, int | None]:
        """Return sets, satisfied and preserved ones."""
        return self.constraints, self.constraints_satisfied, self.constraints_preserved


class CodesUtility(PolicySets):
    """What was lost; the error of a workload is the custodian's."""

    codes: Positive
    suppressed_codes: Count
    average_relative_error: None


class CodesManifest(ManifestHead):
    """All that ``release.json`` of code sets says, whatever the method."""

    shape: Literal["codes"]
    settings: SharedCodesSettings
    columns: CodeDataColumns
    records: CodeRecords
    guarantee: CodesGuarantee
    utility: CodesUtility

    @model_validator(mode="after")
    def _fit_inside(self) -> Self:
        settings = self.settings
        fits = {
            "columns": self.columns.as_json() == columns_of(settings.ids).as_json(),
            "guarantee.one_row_per_patient": settings.input_columns.id is None
            or self.guarantee.one_row_per_patient == "ids",
            "settings.delimiter": not self.files
            or ("delimiter" in settings.model_fields_set) is ("data.csv" in self.files),
            "utility.constraints": (self.utility.constraints is not None) is has_sets(settings.policy),
        }
        return fitting(self, fits)


def columns_of(ids: str) -> CodeDataColumns:
    """Return the columns of the data file, with their roles."""
    numbered = {"id": NumberColumn(role="identifier", ids="number")} if ids == "number" else {}
    return CodeDataColumns(**numbered, codes=CodesColumn(role="codes"))


def input_settings(given: GivenCodes, request: CodesRequest, policy: str | None) -> dict[str, object]:
    """Return the settings that do not depend on the method; the delimiter is set when a file is written."""
    columns = given.columns
    return {
        "source": given.name,
        "k": request.k,
        "policy": policy,
        "repeats": given.codes.repeats,
        "drop_empty": request.drop_empty,
        "workload": None if request.workload is None else request.workload.spec,
        "ids": "number" if request.numbered else "drop",
        "input_columns": CodeInput.of_known(**vars(columns)),
        "not_released": tuple(given.not_released),
    }


def describe_code_sets(given: GivenCodes, settings: SharedCodesSettings, method: str) -> Manifest:
    """Return the stated parts of any release of code sets; an id distinguishes patients, or nothing does."""
    has_ids = given.columns.id is not None or given.codes.ids is not None
    return {
        "shape": "codes",
        "method": method,
        "settings": settings.as_json(),
        "columns": columns_of(settings.ids).as_json(),
        "guarantee": {"verified": True, "one_row_per_patient": "ids" if has_ids else "assumed"},
    }


def has_sets(policy: str | None) -> bool:
    """Return whether the outcome of a policy's sets is published: for frequent sets it is not."""
    return policy is not None and not is_support(policy)


def count_suppressed(n_empty: int, k: int, few: int = 0) -> int | str:
    """Return the number of suppressed patients: those without codes, and a few without any released code.

    Of fewer than k only a bound is published. The few, fewer than k, are never counted, nor is what they follow from.
    """
    if not few:
        return mask_small_count(n_empty, k)
    return below((k if must_mask(n_empty, k) else n_empty + 1) + k - 1)


def data_frame(codes: CodeSets, *, numbered: bool) -> pl.DataFrame:
    """Return one row per record, with codes separated by spaces, in the order of the text's UTF-8 bytes.

    Occurrences of a code are not numbered: the code is repeated as often as it occurs. ``numbered`` numbers the rows.

    Examples
    --------
    >>> data_frame(CodeSets.from_records([["b", "a"], ["a"]]), numbered=True).rows()
    [(1, 'a'), (2, 'a b')]
    """
    return frame_codes(code_texts(codes).sort().alias(CODES), numbered)


def frame_codes(column: pl.Series, numbered: bool) -> pl.DataFrame:
    """Return the column of codes, preceded by row numbers if it is numbered."""
    return pl.DataFrame([pl.Series(ID, np.arange(1, len(column) + 1)), column]) if numbered else column.to_frame()


def codebook_of_codes(
    meanings: Mapping[str, str], of_numbers: str | None, attributes: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the codebook of codes or terms by meaning, and of numbers and auxiliary attributes, if any."""
    rows: list[Row] = [] if of_numbers is None else [(ID, "identifier", None, None, None, of_numbers)]
    rows += [(CODES, "codes", None, None, text, meaning) for text, meaning in meanings.items()]
    columns = [] if attributes is None else attributes.get_columns()
    rows += [(column.name, "auxiliary", None, None, None, "as recorded") for column in columns]
    types: dict[str, Type] = {column.name: type_of(column) for column in columns}
    return codebook_of(rows, types | {ID: "number", CODES: "text"})


def code_texts(codes: CodeSets) -> pl.Series:
    """Return the codes of each record as text, separated by spaces."""
    names = [plain_code(code, repeats=codes.repeats) for code in codes.vocabulary]
    tokens = np.array([name + ending for name in names for ending in (" ", "\n")], dtype=object)
    texts = []
    for start in range(0, codes.n_records, LINES_AT_ONCE):
        bounds = codes.offsets[start : start + LINES_AT_ONCE + 1]
        is_last = np.zeros(int(bounds[-1] - bounds[0]), dtype=np.int64)
        is_last[bounds[1:] - bounds[0] - 1] = 1
        words = tokens[codes.items[bounds[0] : bounds[-1]] * np.int64(2) + is_last].tolist()
        texts.append(pl.Series("".join(words).split("\n")[:-1], dtype=pl.String))
    return pl.concat(texts)
