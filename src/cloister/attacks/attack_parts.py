"""Open a release and its original for an attack, by shape; a single release, or the parts of a job.

An adversary knows the same patient in all releases of one folder. Each part is anonymized by itself. Two parts are
linkable if an adversary who looks for a patient in both finds fewer candidates than the guarantee of one part states.
This can happen if few records agree in the values that both parts release as recorded, or if the numbers of records
reveal whose records they are.
"""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.release.folder import read_manifest
from cloister.release.head import MANIFEST
from cloister.release.manifest import AnyManifest, parse_manifest
from cloister.release.release import Release
from cloister.settings.constraints import Interval, check_value
from cloister.settings.reading import ReadingWords
from cloister.settings.run_options import SEED
from cloister.shapes.protocol import Original
from cloister.shapes.registry import FORMS, load
from cloister.verification.driver import Request

from .adversary import ALL, Adversary, Attack, Integers, is_above, sample_targets
from .simulation import BUDGET, OpenedRelease, Traces, patient_ids, simulate

SHARED = 0.5
"""The share of the values of a column that must occur in another column for the two to count as the same variable."""

MOST_COMPARED = 100_000
"""Pairs of combinations of values that are compared for one patient; where there are more, nothing is narrowed down."""

Combination = tuple[frozenset[str], ...]


@dataclass(frozen=True)
class Intersection:
    """How far two releases together reveal a column that both release as recorded.

    A value of a target that both releases contain occurs among the matches in each.

    Attributes
    ----------
    first, second : the column in the first release and in the second
    targets : patients who match in both, and for whom some value occurs among the matches of both
    in_first, in_second, in_both : different values among the matches, as a mean over these patients; 0 without any
    one_left : of these patients, how many have a single value that occurs among the matches of both

    References
    ----------
    Ganta, Kasiviswanathan, Smith (2008), "Composition attacks and auxiliary information in data privacy", KDD 2008:
    the intersection attack.
    """

    first: str
    second: str
    targets: int
    in_first: float
    in_second: float
    in_both: float
    one_left: int


@dataclass(frozen=True)
class Link:
    """The possible linkage from the records of one part to those of another."""

    # first, second: names of the parts
    first: str
    second: str
    # pairs of columns that are released as recorded in both and hold values in common
    columns: tuple[tuple[str, str], ...]
    targets: int  # patients looked for in both; none where one part is of claims, whose guarantee is about the mean
    # of these, patients of whom fewer than k records are left, in the first part or the second, where only records
    # count that have a partner in the other part by some of these columns
    fewer: int
    least: int  # fewest records left, where any are
    # records, of those looked at in both parts, that agree by some of these columns with at least one record of the
    # other part but fewer than k, whoever they are
    joined: int
    # share of the patients whose records have the same number in both; None where that is not known
    same_numbers: float | None
    has_same_numbers: bool  # whether that is more than one in k, by more than chance
    intersections: tuple[Intersection, ...] = ()  # of each pair of columns

    @property
    def holds(self) -> bool:
        """Whether the parts are not linkable."""
        return not self.fewer and not self.joined and not self.has_same_numbers


@dataclass(frozen=True)
class PartsAttack:
    """The results of attacks on several parts, each separately and in pairs."""

    parts: tuple[tuple[str, Attack], ...]  # names of the parts, and what was found in each
    links: tuple[Link, ...]  # between every two parts that have records and ids
    not_compared: tuple[tuple[str, str], ...] = ()  # pairs of parts that have none, by name

    @property
    def broken(self) -> int:
        """The number of targets whose guarantee fails, in the part or the pair of parts with the most."""
        return max(
            [found.broken for _, found in self.parts] + [max(link.fewer, link.joined) for link in self.links], default=0
        )

    @property
    def holds(self) -> bool:
        """Whether the guarantee of each part holds, and no two are linkable."""
        return all(found.holds for _, found in self.parts) and all(link.holds for link in self.links)

    def summary(self) -> dict[str, object]:
        """Return all figures as plain values; confidential, because counts are exact."""
        return {
            "holds": self.holds,
            "parts": {name: found.summary() for name, found in self.parts},
            "links": [asdict(link) | {"holds": link.holds} for link in self.links],
            "not_compared": [list(pair) for pair in self.not_compared],
        }


def links_between(opened: Sequence[tuple[str, OpenedRelease]], *, budget: int, seed: int) -> tuple[Link, ...]:
    """Measure the linkage between every two parts that have records and ids.

    ``budget``: patients looked for in each pair of parts; a random sample where there are more
    """
    names = [name for name, _ in opened]
    if len(set(names)) != len(names):
        raise InputError("Two parts have the same name. Give each its own.")
    usable = [part for part in opened if part[1].traces is not None and part[1].ids is not None]
    return tuple(_link(one, two, budget, seed) for one, two in combinations(usable, 2))


def _link(first: tuple[str, OpenedRelease], second: tuple[str, OpenedRelease], budget: int, seed: int) -> Link:
    (name, one), (other, two) = first, second
    assert one.traces is not None
    assert two.traces is not None
    frames = [
        pl.DataFrame([ids.alias("id"), pl.Series(place, np.arange(len(ids)))])
        for place, ids in (("one", one.ids), ("two", two.ids))
        if ids is not None
    ]
    joined = frames[0].join(frames[1], on="id", how="inner", maintain_order="left")
    both: Integers = joined.select("one", "two").to_numpy().astype(np.int64)  # places in both originals
    columns = _shared_columns(one.traces, two.traces)
    views = (_PartRecords(one.traces, [a for a, _ in columns]), _PartRecords(two.traces, [b for _, b in columns]))
    k = (one.k, two.k)
    matches = []
    for target in sample_targets(len(both), budget, seed).tolist():
        found = [view.matches(int(both[target, side]), seed) for side, view in enumerate(views)]
        if found[0] is not None and found[1] is not None:
            matches.append((found[0], found[1]))
    left = [_fewest_with_partners(*found) for found in matches]
    fewer = sum(any(0 < count < least for count, least in zip(counts, k, strict=True)) for counts in left)
    share, has_same_numbers = _same_numbers(one.traces.numbers[both[:, 0]], two.traces.numbers[both[:, 1]], max(k))
    return Link(
        name,
        other,
        tuple(columns),
        len(left),
        fewer,
        min((count for counts in left for count in counts if count), default=0),
        sum(_count_links(*sides, budget, seed) for sides in ((*views, two.k), (*views[::-1], one.k))) if columns else 0,
        share,
        has_same_numbers,
        tuple(_intersect(pair, place, matches) for place, pair in enumerate(columns)),
    )


def _shared_columns(one: Traces, two: Traces) -> list[tuple[str, str]]:
    """Pairs of columns with values in common: those of one name, and of those without such, all with most values."""
    values = [{name: set(texts.explode().drop_nulls()) for name, texts in each.recorded.items()} for each in (one, two)]
    named = {name for name in values[0].keys() & values[1].keys() if values[0][name] & values[1][name]}
    return [
        (name, other)
        for name, texts in sorted(values[0].items())
        for other, others in sorted(values[1].items())
        if (name == other and name in named)
        or (named.isdisjoint((name, other)) and len(texts & others) > SHARED * min(len(texts), len(others)))
    ]


def _same_numbers(one: Integers, two: Integers, k: int) -> tuple[float | None, bool]:
    """The share of the patients whose records have the same number in both, and whether it is more than one in k."""
    known = (one >= 0) & (two >= 0)
    n_known = int(known.sum())
    if not n_known:
        return None, False
    share = int(np.sum(one[known] == two[known])) / n_known
    return share, is_above(share, n_known, 1 / max(1, k))


def _intersect(
    columns: tuple[str, str], place: int, matches: Sequence[tuple[Counter[Combination], Counter[Combination]]]
) -> Intersection:
    """Count the values of a column that are left of each target; ``place``: of the column in the combinations."""
    values = [({one[place] for one in first}, {two[place] for two in second}) for first, second in matches]
    counts = np.array([(len(one), len(two), len(one & two)) for one, two in values if one & two]).reshape(-1, 3)
    in_first, in_second, in_both = (counts.sum(axis=0) / max(1, len(counts))).tolist()
    return Intersection(*columns, len(counts), in_first, in_second, in_both, int(np.sum(counts[:, 2] == 1)))


class _PartRecords:
    """One part in the view of the adversary: the matching records, and their recorded columns."""

    def __init__(self, traces: Traces, columns: Sequence[str]) -> None:
        self.traces = traces
        self.order = np.argsort(traces.groups, kind="stable")
        ordered = traces.groups[self.order]
        self.starts = np.searchsorted(ordered, np.arange(int(ordered[-1]) + 2)) if ordered.size else np.zeros(1)
        self.recorded = [traces.recorded[column].to_list() for column in columns]

    def matches(self, target: int, seed: int) -> Counter[Combination] | None:
        """Return the recorded values of the matching records with counts; None if the guarantee covers no knowledge."""
        known = _covered_knowledge(self.traces.adversary, target, seed)
        if known is None or self.traces.released is None:
            return None
        groups = self.traces.released.groups(target, known)
        parts = [self.order[int(self.starts[group]) : int(self.starts[group + 1])] for group in groups.tolist()]
        return Counter(self.combination(row) for part in parts for row in part.tolist())

    def fewest_partners(self, wanted: Combination) -> int:
        """Return the smallest positive number of records that agree with a combination on some columns."""
        agreeing = np.zeros((self.order.size, len(wanted)), dtype=np.bool_)
        for place, (rows, texts) in enumerate(zip(self._rows_with, wanted, strict=True)):
            agreeing[:, place] = not texts
            for text in (*texts, None):
                agreeing[rows.get(text, []), place] = True
        sets, counts = np.unique(agreeing[agreeing.any(axis=1)], axis=0, return_counts=True)
        return min((int(counts[(sets >= columns).all(axis=1)].sum()) for columns in sets), default=0)

    @cached_property
    def _rows_with(self) -> list[dict[str | None, Integers]]:
        """By column, the records that have each value; those with none under None."""
        found = []
        for column in self.recorded:
            rows: dict[str | None, list[int]] = {}
            for row, texts in enumerate(column):
                present = {text for text in texts or () if text is not None}
                for text in present or {None}:
                    rows.setdefault(text, []).append(row)
            found.append({text: np.array(some, dtype=np.int64) for text, some in rows.items()})
        return found

    def combination(self, row: int) -> Combination:
        return tuple(frozenset(text for text in column[row] or () if text is not None) for column in self.recorded)


def _count_links(one: _PartRecords, two: _PartRecords, k: int, budget: int, seed: int) -> int:
    """How many records of a sample of one part have partners in the other by some columns, but fewer than k."""
    counts: dict[Combination, int] = {}
    found = 0
    for row in sample_targets(one.order.size, budget, seed).tolist():
        own = one.combination(row)
        if own not in counts:
            counts[own] = two.fewest_partners(own)
        found += 0 < counts[own] < k
    return found


def _covered_knowledge(adversary: Adversary, target: int, seed: int) -> list[int] | None:
    """The most that may be known of a target for the guarantee still to be about it."""
    steps = sorted(adversary.steps, key=lambda step: (step.items is ALL, step.items or 0), reverse=True)
    for step in steps:
        known = adversary.known(target, step, seed)
        if known and adversary.covers(target, known):
            return known
    return None


def _fewest_with_partners(one: Counter[Combination], two: Counter[Combination]) -> tuple[int, int]:
    """How many records of each part have a partner in the other, by those columns that leave fewest, but some."""
    if len(one) * len(two) > MOST_COMPARED or () in one:  # too many to compare, or no columns to compare
        return one.total(), two.total()
    # by which columns two records may be of one patient: what is missing in one of them says nothing
    pairs = ((a, b, enumerate(zip(a, b, strict=True))) for a in one for b in two)
    both = ((a, b, frozenset(j for j, (x, y) in held if not (x and y and x.isdisjoint(y)))) for a, b, held in pairs)
    agreeing = [(a, b, columns) for a, b, columns in both if columns]
    left = [(0, 0)]
    for wanted in {columns for *_, columns in agreeing}:
        wide = [(a, b) for a, b, columns in agreeing if wanted <= columns]
        left.append((sum(one[a] for a in {a for a, _ in wide}), sum(two[b] for b in {b for _, b in wide})))
    counts = [min((pair[side] for pair in left if pair[side]), default=0) for side in (0, 1)]
    return counts[0], counts[1]


FOLDER = "release"


def check_targets(targets: int, seed: int) -> None:
    """Refuse an invalid number of targets or an invalid seed."""
    check_value("targets", targets, Interval(int, 1))
    check_value("seed", seed, SEED)


def open_release(release: Release | str | Path, original: object, known: Request, seed: int = 0) -> OpenedRelease:
    """Open a release and its original for an attack."""
    if not isinstance(release, Release):
        place = Path(release)
        return open_folder(place, parse_manifest(read_manifest(place)), original, known, seed)
    if known.crosswalk is None:
        known = replace(known, crosswalk=release.custody.crosswalk)
    with tempfile.TemporaryDirectory(prefix="cloister-") as private:  # mode 0700; what is in it may be released
        folder = Path(private) / FOLDER
        return open_folder(folder, parse_manifest(release.write(folder)), original, known, seed)


def open_folder(folder: Path, manifest: AnyManifest, original: object, known: Request, seed: int = 0) -> OpenedRelease:
    """Open a folder with the files of a release.

    ``manifest``: of the release; it need not be in the folder yet
    """
    if (must := manifest.must_list()) is not None:
        raise InputError(f"{MANIFEST} must list {must}.", file=MANIFEST)
    if isinstance(original, tuple) and manifest.shape != "claims":
        raise InputError(f"A file of claims was given, but {folder.name} is a release of the shape {manifest.shape}.")
    known = replace(known, original=original)
    opened: OpenedRelease = load(FORMS[manifest.form].attack)(folder, manifest, known, seed)
    return opened


@dataclass(frozen=True)
class OpenedPart:
    """One of several releases that are shared together, and its original."""

    name: str
    release: Release | str | Path
    original: object
    known: Request = Request()  # noqa: RUF009  (frozen)


def attack_parts(parts: Sequence[OpenedPart], *, targets: int = BUDGET, seed: int = 0) -> PartsAttack:
    """Attack several releases as an adversary who knows the same patient in all of them.

    ``parts``: the releases; originals name their patients by the same ids
    ``targets, seed``: as of `attack`

    Returns
    -------
    PartsAttack
        What was found in each part, and what leads from one to another.
    """
    check_targets(targets, seed)
    opened = _open_parts(parts, seed)
    links = links_between(opened, budget=targets, seed=seed)
    found = tuple((name, simulate(each, budget=targets, seed=seed)) for name, each in opened)
    linked = {(link.first, link.second) for link in links}
    left = tuple(pair for pair in combinations((part.name for part in parts), 2) if pair not in linked)
    return PartsAttack(found, links, left)


def links_of_parts(parts: Sequence[OpenedPart], *, seed: int = 0) -> tuple[Link, ...]:
    """Measure the linkage between several releases; does not attack the single releases."""
    return links_between(_open_parts(parts, seed), budget=BUDGET, seed=seed)


def _open_parts(parts: Sequence[OpenedPart], seed: int) -> list[tuple[str, OpenedRelease]]:
    opened = [(part.name, open_release(part.release, part.original, part.known, seed)) for part in parts]
    is_one_file = all(isinstance(part.original, str) and part.original == parts[0].original for part in parts)
    if is_one_file and all(one.shape == "table" for _, one in opened):
        # A row of one file is one patient in all tables made of it, whichever of them has ids.
        return [(name, replace(one, ids=patient_ids(None, one.n_patients))) for name, one in opened]
    return opened


def part_of(name: str, folder: Path, original: Original, crosswalk: str | Path | None) -> OpenedPart:
    """Return a part of a job with its original."""
    known = Request(
        hierarchies=original.hierarchies or {},
        crosswalk=crosswalk,
        privacy=original.privacy,
        words=ReadingWords(missing=original.missing),
    )
    return OpenedPart(name, folder, original.data, known)
