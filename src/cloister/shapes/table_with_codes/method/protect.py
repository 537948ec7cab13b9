"""Disassociate the codes of a protected table inside each of its classes; and the release of both."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import NoSafeRelease
from cloister.io import as_text
from cloister.kernels.sequences import take_sequences
from cloister.release.head import CLUSTERS
from cloister.results import Verdict
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.codes.manifest import code_texts
from cloister.shapes.codes.policy import UtilityPolicy, as_published, is_built, parse_policy
from cloister.shapes.disassociation.format.clusters_file import read_clusters, same_release, write_clusters
from cloister.shapes.disassociation.format.data import Disassociation, RecordClasses, lay_out
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.method.release import ItemSupport, reconstruct
from cloister.shapes.table.method.data import Ids, ProtectedTable, TableRequest
from cloister.shapes.table.method.protect import TableRelease
from cloister.shapes.table.method.recoding.choice import RecordCodes
from cloister.shapes.table_with_codes.format.data import PRESENT, CodesRequested, Integers, ProtectedBoth, ReadCodes

from .request import k_of


def protect_codes_of(
    table: ProtectedTable, request: TableRequest, read: ReadCodes, asked: CodesRequested, seed: int
) -> ProtectedBoth:
    """Disassociate the codes of the released patients inside the classes of the released table.

    *Guarantee* ((k, k^m)-anonymity): for the quasi-identifiers of any patient and any m codes of it, k records
    or more have all of them in at least one data set that could have led to this release. It holds against someone
    who knows the quasi-identifiers of a patient, whether it has codes, up to m of these codes, and the release. Not
    promised: a bound on what is probable; anything against someone who knows more codes, other columns, or several
    patients. Cost: that of `disassociate`.

    The table is protected so that records of a class have codes all or none. The seed is that of the reconstruction;
    nothing that protects is random.

    Source: Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos (2013), "Anonymizing data with relational and transaction
    attributes", ECML PKDD 2013: (k, k^m)-anonymity. There the codes of a class are generalized; here disassociated as
    in Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), Journal of Biomedical Informatics 50, 46-61, starting
    from the classes.
    """
    rows, codes = codes_of_rows(table, read)
    policy = policy_for(asked, read, codes, k_of(request))
    classes = classes_of(table.tally.frame, class_columns(table, asked.column), rows)
    protected = disassociate(codes, asked.request(k_of(request), policy), classes)
    id_column = None if request.ids is Ids.DROP else request.id
    frame = with_reconstruction(table.tally.frame, asked.column, id_column, protected.released, seed)
    return ProtectedBoth(frame, codes, policy, protected)


def codes_of_rows(table: ProtectedTable, read: ReadCodes) -> tuple[Integers, CodeSets]:
    """Return the rows of a protected table whose patients have codes, and these codes in the order of the rows."""
    position = np.full(int(read.records.max()) + 2, -1, dtype=np.int64)
    position[read.records] = np.arange(read.records.size)
    originals = table.originals.fill_null(-1).to_numpy()
    known = np.where(originals < position.size, position[np.minimum(originals, position.size - 1)], -1)
    rows = np.flatnonzero(known >= 0)
    if not rows.size:
        raise NoSafeRelease(
            f"All {read.records.size} patients with codes would be suppressed. Allow coarser levels or ask for less."
        )
    return rows, select_records(read.codes, known[rows])


def policy_for(asked: CodesRequested, read: ReadCodes, codes: CodeSets, k: int) -> UtilityPolicy | None:
    """Return the utility policy for the codes of released patients: codes of suppressed patients have no part in it."""
    policy = asked.policy
    if isinstance(policy, str) and is_built(policy):
        return parse_policy(policy, codes, k)
    if policy is None:
        return None
    given = UtilityPolicy.from_json(policy) if isinstance(policy, str) else policy
    return as_published(given.for_k(k).on(read.codes).within(codes), codes)


def class_columns(table: ProtectedTable, column: str) -> tuple[str, ...]:
    """Return the quasi-identifiers without the column of codes."""
    return tuple(name for name in table.labels.frame.columns if name != column)


def record_codes(read: ReadCodes, n_records: int) -> RecordCodes:
    """Return the codes of all records of a table; most records may have none."""
    sizes = np.zeros(n_records, dtype=np.int64)
    sizes[read.records] = np.diff(read.codes.offsets)
    return RecordCodes(np.concatenate([[0], np.cumsum(sizes)]), read.codes.items)


def select_records(codes: CodeSets, records: Integers) -> CodeSets:
    """Return some records, with a vocabulary reduced to their codes."""
    offsets, items = take_sequences(codes.offsets, codes.items, records)
    used, place = np.unique(items, return_inverse=True)
    return CodeSets(tuple(codes.vocabulary[code] for code in used.tolist()), offsets, place.astype(np.int32))


def classes_of(frame: pl.DataFrame, columns: tuple[str, ...], rows: Integers) -> RecordClasses:
    """Number the label combinations of rows in the order of their UTF-8 bytes, missing first."""
    labels = pl.DataFrame([as_text(frame.get_column(name)).alias(f"c{j}") for j, name in enumerate(columns)])[rows]
    distinct = labels.unique().sort(labels.columns)
    numbered = distinct.with_columns(pl.int_range(pl.len()).alias("class"))
    found = labels.join(numbered, on=labels.columns, how="left", nulls_equal=True, maintain_order="left")["class"]
    return RecordClasses(columns, tuple(distinct.rows()), found.to_numpy().astype(np.int64))


def with_reconstruction(
    frame: pl.DataFrame, column: str, id_column: str | None, released: Disassociation, seed: int
) -> pl.DataFrame:
    """Return the table with one reconstruction in the column of codes.

    Which row of a class gets which reconstructed set is drawn at random, as nothing says it; of rows that are
    equal in all else, the first gets the first set by its text.
    """
    rows = np.flatnonzero((frame.get_column(column) == PRESENT).fill_null(value=False).to_numpy())
    rebuilt = reconstruct(released, seed)
    clusters = np.argsort(lay_out(released).position)
    class_of_set = released.class_of[np.repeat(clusters, released.sizes[clusters])]
    shuffled = np.random.default_rng(seed).permutation(rebuilt.n_records)
    sets = shuffled[np.argsort(class_of_set[shuffled], kind="stable")]
    places = rows[np.argsort(classes_of(frame, released.class_columns, rows).class_of, kind="stable")]
    drawn = code_texts(rebuilt)[sets[np.argsort(places)]]
    # Rows that are equal in all columns but the id stand together in a protected table.
    others = [series.alias(f"c{j}") for j, series in enumerate(frame) if series.name != id_column]
    runs = pl.DataFrame(others).select(pl.struct(pl.all()).rle_id()).to_series()
    texts = pl.DataFrame([runs.gather(rows).alias("equal"), drawn.alias("text")])
    shown = frame.get_column(column).clone().scatter(rows, texts.sort("equal", "text")["text"])
    return pl.DataFrame([shown if series.name == column else series for series in frame])


@dataclass(frozen=True, repr=False)
class TableWithCodesRelease(TableRelease):
    """A verified table with codes; each cluster belongs to a class of the table."""

    clusters: Disassociation
    _check_both: Callable[[pl.DataFrame, Disassociation], Verdict] = field(repr=False)

    def reconstruct(self, seed: int = 0, item_support: ItemSupport | str = ItemSupport.ONE) -> CodeSets:
        """Return code sets consistent with this release; see `cloister.shapes.disassociation.method.release`."""
        return reconstruct(self.clusters, seed, item_support)

    def recheck(self) -> Verdict:
        """Return the verdict on table and codes."""
        return self._check_both(self.frame, self.clusters)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the table and the clusters."""
        names = super().write_data(folder)
        write_clusters(self.clusters, folder / CLUSTERS)
        return *names, CLUSTERS

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on both files."""
        written = read_clusters(folder / CLUSTERS)
        if not same_release(written, self.clusters):
            return Verdict("the files were read back", (), (f"{CLUSTERS} does not hold what was verified",))
        return self._check_both(self.read_written(folder), written)
