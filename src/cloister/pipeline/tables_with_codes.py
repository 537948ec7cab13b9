"""Protection of a table with a column of code sets: protect the table, then the codes inside its classes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io import Source, Tally, as_text
from cloister.io.foreign import interruptible
from cloister.kernels.compiling import load
from cloister.release.head import WITH_CODES
from cloister.report.promises import promise_codes_of_table
from cloister.results import Verdict
from cloister.settings.run_options import DISASSOCIATION
from cloister.shapes.codes.data import CodeSets, GivenCodes
from cloister.shapes.codes.policy import name_classification
from cloister.shapes.disassociation.format.data import Disassociation
from cloister.shapes.disassociation.format.facts import count_sets
from cloister.shapes.disassociation.format.manifest import NO_SETS, MethodSettings, method_settings
from cloister.shapes.disassociation.method.release import exact_figures
from cloister.shapes.disassociation.verify.verify import DisassociationSecret
from cloister.shapes.generalization.method.release import check_writable
from cloister.shapes.protocol import Run
from cloister.shapes.table.format.guarantee import Guarantee
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.method.data import ProtectedTable, TableRequest
from cloister.shapes.table.method.protect import TableRelease
from cloister.shapes.table_with_codes.format.data import (
    ClassTermsSettings,
    CodesRequested,
    ProtectedBoth,
    ReadCodes,
    derive_with_codes,
    describe_codes,
    read_codes,
    with_presence,
)
from cloister.shapes.table_with_codes.format.terms import derive_with_terms, may_suppress
from cloister.shapes.table_with_codes.method.protect import TableWithCodesRelease, protect_codes_of, record_codes
from cloister.shapes.table_with_codes.method.request import asking_presence, check_column, check_formulas, k_of
from cloister.shapes.table_with_codes.method.terms import ProtectedTerms, protect_terms_of
from cloister.shapes.table_with_codes.verify.terms import PromisedTerms, terms_in, verify_terms
from cloister.shapes.table_with_codes.verify.verify import verify_both

from .protecting import Protected
from .tables import EncodedInput, TableInMemory, complete_table_manifest, describe_release, protect_rows, unpack


@dataclass(frozen=True, repr=False)
class CheckOfBoth:
    """Check a protected table with its codes: the table with codes reduced to their presence, and then the codes."""

    of_table: Callable[[Tally], Verdict]
    promised: Guarantee
    column: str
    secret: DisassociationSecret

    def __call__(self, frame: pl.DataFrame, released: Disassociation) -> Verdict:
        """Return the verdict on a table with codes."""
        of_table = self.of_table(Tally(with_presence(frame, self.column)))
        return verify_both(of_table, frame, self.promised, self.column, released, self.secret)


@dataclass(frozen=True, repr=False)
class CheckOfTerms:
    """Check a protected table with terms: the table with codes reduced to their presence, and then the terms."""

    of_table: Callable[[Tally], Verdict]
    promised: Guarantee
    asked: PromisedTerms
    codes: CodeSets

    def __call__(self, table: Tally) -> Verdict:
        """Return the verdict on a table with terms."""
        of_table = self.of_table(Tally(with_presence(table.frame, self.asked.column)))
        return verify_terms(of_table, table.frame, self.promised, self.asked, self.codes)


@dataclass(frozen=True, eq=False, repr=False)
class EncodedBoth:
    """A table whose codes are reduced to whether there are any, and the codes."""

    table: EncodedInput
    request: TableRequest  # with the presence of codes as a quasi-identifier
    codes: ReadCodes


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTableAndCodes:
    """A protected table, and the same with the codes disassociated inside its classes."""

    table: ProtectedTable
    both: ProtectedBoth


class _TableAndCodes(TableInMemory[EncodedBoth, Protected]):
    """A table whose quasi-identifiers are generalized, and whose codes are protected inside its classes."""

    method_kernels: str  # the kernels of the method for the codes

    def __init__(
        self,
        source: Source,
        request: TableRequest,
        asked: CodesRequested,
        *,
        seed: int = 0,
        unmatched_values: Path | None = None,
    ) -> None:
        super().__init__(source, request, seed=seed, unmatched_values=unmatched_values)
        self.asked, self.codes = asked, (asked.column,)
        self.promise = promise_codes_of_table(k_of(request), asked.m, generalizes=asked.method != DISASSOCIATION)

    def encode(self) -> EncodedBoth:
        """Read the codes, and encode the table with their presence."""
        source, request, asked = self.source, self.request, self.asked
        asked.check(k_of(request))
        check_column(source.frame, request, asked, source.name)
        codes = read_codes(source.frame, asked, source.name)
        check_formulas(codes.codes, request, asked, source.name)
        request = asking_presence(request, asked.column)
        reduced = with_presence(source.frame, asked.column, asked.missing)
        return EncodedBoth(self.encode_rows(reduced, request), request, codes)

    def protect_table(self, encoded: EncodedBoth, run: Run) -> ProtectedTable:
        """Protect the table; its codes are reduced to whether there are any."""
        interruptible(partial(load, self.method_kernels))
        codes = record_codes(encoded.codes, self.source.frame.height)
        table = protect_rows(encoded.table.table, encoded.request, run, codes)
        return replace(table, tally=table.tally.replace_rows(unpack(table.tally.frame)))


class TableWithCodesProtection(_TableAndCodes[ProtectedTableAndCodes]):
    """A table whose quasi-identifiers are generalized, and whose codes are disassociated inside its classes."""

    method_kernels = "disassociation"

    def protect(self, encoded: EncodedBoth, run: Run) -> ProtectedTableAndCodes:
        """Protect the table, then the codes inside its classes."""
        codes, request, table = encoded.codes, encoded.request, self.protect_table(encoded, run)
        both = interruptible(lambda: protect_codes_of(table, request, codes, self.asked, self.seed))
        return ProtectedTableAndCodes(table, both)

    def describe(self, encoded: EncodedBoth, protected: ProtectedTableAndCodes) -> TableWithCodesRelease:
        """Measure what was lost of the table and of its codes, and describe the release."""
        both, asked = protected.both, self.asked
        table = describe_release(encoded.table, protected.table, encoded.request, self.source, self.seed)
        released, policy = both.protected.released, both.policy
        method = asked.request(released.k, policy)
        exact = exact_figures(GivenCodes(both.codes), method, both.protected, self.seed)
        settings = MethodSettings.model_validate(method_settings(method, None if policy is None else policy.spec))
        sets = NO_SETS if policy is None else count_sets(released, policy.item_numbers(both.codes))
        derived = derive_with_codes(table.derived, asked.column, released, settings, sets)
        secret = DisassociationSecret(both.codes, both.protected.cluster_of)
        more = {WITH_CODES: describe_codes(asked, settings)}
        parts = vars(table) | {
            "manifest": complete_table_manifest(derived, self.source, self.seed, more),
            "derived": derived,
            "custody": replace(table.custody, figures=table.custody.figures | {WITH_CODES: exact}),
            "data": both.frame,
            "frame": both.frame,
        }
        check = CheckOfBoth(table._check, guarantee_of(table.derived.stated), asked.column, secret)
        return TableWithCodesRelease(**parts, clusters=released, _check_both=check)


class TableWithTermsProtection(_TableAndCodes[ProtectedTerms]):
    """A table whose quasi-identifiers are generalized, and whose codes are generalized inside its classes."""

    method_kernels = "generalization"

    def encode(self) -> EncodedBoth:
        """Read the codes, if they can be written as terms, and encode the table with their presence."""
        encoded = super().encode()
        check_writable(encoded.codes.codes)
        return encoded

    def protect(self, encoded: EncodedBoth, run: Run) -> ProtectedTerms:
        """Protect the table, then the codes inside its classes."""
        table = self.protect_table(encoded, run)
        return protect_terms_of(table, encoded.request, encoded.codes, self.asked)

    def describe(self, encoded: EncodedBoth, protected: ProtectedTerms) -> TableRelease:
        """Measure what was lost of the table, and describe the release."""
        asked, k = self.asked, k_of(self.request)
        table = describe_release(encoded.table, protected.table, encoded.request, self.source, self.seed)
        promised, policy = guarantee_of(table.derived.stated), protected.policy
        words = None if policy is None else name_classification(policy.spec, protected.codes)
        stated = {"k": k, "m": asked.m, "policy": words, "code_hierarchy": protected.classification}
        settings = ClassTermsSettings.model_validate(stated)
        terms = terms_in(protected.frame, asked.column, promised)
        derived = derive_with_terms(table.derived, asked.column, terms, settings)
        exact = {"ncp": protected.ncp, "suppressed_occurrences": protected.suppressed}
        guarantee = PromisedTerms(asked.column, k, asked.m, may_suppress(settings, asked.method))
        more = {WITH_CODES: describe_codes(asked, settings)}
        return replace(
            table,
            manifest=complete_table_manifest(derived, self.source, self.seed, more),
            derived=derived,
            custody=replace(table.custody, figures=table.custody.figures | {WITH_CODES: exact}),
            data=protected.frame,
            frame=protected.frame,
            _check=CheckOfTerms(table._check, promised, guarantee, protected.codes),
        )


def with_codes(table: Source, identifier: str | None, codes: CodeSets, name: str, file: str) -> Source:
    """Return a table with a column of codes, separated by spaces; empty for patients without codes.

    ``identifier`` is the column of the table that distinguishes patients; the codes of another file have ids of
    patients.
    """
    if identifier is None or codes.ids is None:
        lacking = table.name if identifier is None else file
        raise InputError(f"Codes are joined to a table by the ids of patients, but {lacking} has none. Name its id.")
    if identifier not in table.frame.columns:
        raise InputError(f"The id column {identifier!r} is not in {table.name}.", file=table.name, column=identifier)
    if name in table.frame.columns:
        raise InputError(
            f"{table.name} has a column {name!r}, and there is a source of that name. Rename one of them.",
            file=table.name,
            column=name,
        )
    ids = as_text(table.frame[identifier])
    own = as_text(codes.ids)
    strangers = int((~own.is_in(ids.drop_nulls().unique().implode())).sum())
    if strangers:
        raise InputError(
            f"{strangers:,} of {len(own):,} patients of {file} are not in {table.name}. Leave them out, or add them.",
            file=file,
        )
    cells = pl.DataFrame({"id": own, name: texts_of(codes)})
    joined = pl.DataFrame({"id": ids}).join(cells, on="id", how="left", maintain_order="left")
    return replace(table, frame=table.frame.with_columns(joined[name]))


def texts_of(codes: CodeSets) -> pl.Series:
    """Return the codes of each patient, separated by spaces."""
    vocabulary, starts = codes.vocabulary, codes.offsets.tolist()
    items = codes.items.tolist()
    rows = (items[start:end] for start, end in pairwise(starts))
    return pl.Series("codes", [" ".join(vocabulary[item] for item in row) for row in rows], dtype=pl.String)
