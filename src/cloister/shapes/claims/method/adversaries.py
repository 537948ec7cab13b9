"""Sensitivity of a release's risk to the knowledge of the adversary (step 12).

All know quasi-identifiers of patients and values of claims together, unless they say otherwise. Some know which values
was in one claim, their order, or, from a discharge database, exact values of one hospital stay of many patients.

References
----------
HHP appendix, section 4: the assumptions of inexact knowledge and inexact order, whose sensitivity the paper tests.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Known, Recoding, ordered_class_sizes
from cloister.shapes.claims.format.group_tables import groups_of, place_codes, words
from cloister.shapes.claims.format.manifest import DIGITS, Adversary, AdversaryFigures, Listed
from cloister.shapes.claims.format.plan import LENGTH_OF_STAY, ClaimsPlan
from cloister.shapes.claims.format.population import PeopleCounted

from .adversary_draws import DrawnKnowledge, gather
from .encode import MISSING, EncodedClaims, EncodedColumn
from .lattice_search import Node
from .matching import SPAN, Matching, ReleasedClaims, group_patients
from .risk import NodeRisk, RiskFigures, RiskSettings

Power = NDArray[np.int32]

WORK = 60_000_000
"""Patients that are compared with draws, at most: some ten seconds."""

FEWEST = 2_000
"""Draws that are looked at, however large the cells are."""

INPATIENT = "21"
"""Code of the place of service "Inpatient Hospital" (Centers for Medicare and Medicaid Services)."""


@dataclass(frozen=True)
class ClaimsAttack:
    """What one adversary finds; ``columns``, ``listed``: of a discharge database, and its percent of the patients."""

    name: Adversary
    figures: RiskFigures
    columns: tuple[str, ...] | None = None
    listed: Listed | None = None

    def as_json(self) -> AdversaryFigures:
        """What the manifest says of it."""
        stays = {} if self.columns is None else {"columns": self.columns, "listed": self.listed}
        return AdversaryFigures.model_validate({"adversary": self.name, **stays, **round_figures(self.figures)})


def round_figures(figures: RiskFigures) -> dict[str, Any]:
    """Return simulated figures in their published precision."""
    mean, flags = figures.mean_interval, figures.flag_interval
    return {
        "mean": round(figures.mean, DIGITS),
        "interval": (round(mean.low, DIGITS), round(mean.high, DIGITS)),
        "flag_rate": round(figures.flag_rate, DIGITS),
        "flag_interval": (round(flags.low, DIGITS), round(flags.high, DIGITS)),
        "missed": round(figures.missed / figures.draws, DIGITS),
        "draws": figures.draws,
    }


def all_values(encoded: EncodedClaims) -> Power:
    """The power of an adversary who knows all values of each column, (n_patients, n_columns)."""
    counts = [
        np.bincount(encoded.owners[column.values != MISSING], minlength=encoded.n_patients) for column in encoded.claims
    ]
    return np.stack(counts, axis=1).astype(np.int32)


def constant_power(encoded: EncodedClaims, p: int) -> Power:
    """The same power for all patients and columns, at most the values there are."""
    return np.minimum(all_values(encoded), p).astype(np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class AttackedClaims:
    """A release prepared for attacks by many adversaries, on the same draws of patients.

    ``power``, (n_patients, n_columns), is that of the adversary that the release was made against.
    """

    released: ReleasedClaims
    levels: Node
    settings: RiskSettings
    power: Power

    @property
    def of_patients(self) -> Node:
        """Levels of the columns of patients."""
        return self.levels[: len(self.released.encoded.patients)]

    @property
    def of_claims(self) -> Node:
        """Levels of the columns of claims."""
        return self.levels[len(self.released.encoded.patients) :]

    def risk(self, power: Power) -> NodeRisk:
        """The risk of the release for the paper's adversary with a power."""
        return NodeRisk(self.matching, self._knowledge.with_power(power), self.settings.k)

    def figures(self, power: Power) -> RiskFigures:
        """Figures of the paper's adversary with a power."""
        return self.risk(power).figures(self.levels)

    @cached_property
    def _knowledge(self) -> DrawnKnowledge:
        return DrawnKnowledge(self.released.encoded, self.power, self.settings.seed_of(1), self.released.patients)

    @cached_property
    def matching(self) -> Matching:
        """Lists of patients for any power."""
        most = max(int(self.power.max(initial=0)), int(all_values(self.released.encoded).max(initial=0)))
        return Matching(self.released, most, self.settings.threads)


def jointly(attacked: AttackedClaims) -> tuple[ClaimsAttack, ...]:
    """The joint check: what is known of patients alone, of claims alone, and of both of the same patient at once."""
    power, levels, both = attacked.power, attacked.levels, attacked.risk(attacked.power)
    claims_alone = NodeRisk(both.matching.of_anybody(levels), both.knowledge, both.k)
    return (
        ClaimsAttack("patients alone", attacked.figures(np.zeros_like(power))),
        ClaimsAttack("claims alone", claims_alone.figures(levels)),
        ClaimsAttack("patients and claims together", both.figures(levels)),
    )


def whole_claims(attacked: AttackedClaims) -> ClaimsAttack:
    """Attack as an adversary who knows complete claims: as many as values of any single column.

    A claim fits one that is alike in all columns, a missing value being a value; one with a suppressed cell fits none.
    """
    vars(attacked).pop("matching", None)  # others need few of its lists, and those made here are as large
    power = attacked.power.max(axis=1, keepdims=True)
    whole = replace(attacked, released=join_columns(attacked), levels=(*attacked.of_patients, 0), power=power)
    return ClaimsAttack("whole claims (exact knowledge)", whole.figures(power))


def join_columns(attacked: AttackedClaims, columns: Sequence[int] | None = None) -> ReleasedClaims:
    """The same release with one column of claims: a number for each kind of claim, by some or all of the columns."""
    released, encoded = attacked.released, attacked.released.encoded
    taken = range(len(encoded.claims)) if columns is None else columns
    own = [attacked.of_claims[h] for h in taken]
    kinds = group_patients([encoded.claims[h] for h in taken], own, encoded.n_claims)
    column = EncodedColumn.flat("claim", kinds.astype(np.int32), [""] * (int(kinds.max(initial=-1)) + 1))
    cells = np.asarray(released.cells[list(taken)].all(axis=0, keepdims=True))
    return ReleasedClaims(replace(encoded, claims=(column,)), released.patients, released.claims, cells)


def exact_order(attacked: AttackedClaims, when: NDArray[np.int32]) -> ClaimsAttack:
    """Attack as an adversary who knows the order of the drawn values: only patients with them in that order match.

    An upper end of what order adds: released rows are sorted by value, and only days since the first claim show an
    order. Ties in time are taken in the order of the rows. Every patient of a cell is compared with each draw, so large
    cells have fewer draws and a wider interval. ``when``: rank of each claim in time, (n_claims,).
    """
    released, levels, settings = attacked.released, attacked.levels, attacked.settings
    encoded = released.encoded
    knowledge = DrawnKnowledge(encoded, attacked.power, settings.seed_of(1), released.patients)
    drawn = np.bincount(knowledge.patients(0), minlength=encoded.n_patients) > 0  # of others nothing is known
    knowledge.__dict__["known"] = in_time(ReleasedClaims.everything(encoded).without_patients(~drawn), when)
    seen = in_time(released, when)
    cells = attacked.matching.cells(levels)
    tables = [one.levels[level].astype(np.int64) for one, level in zip(encoded.claims, attacked.of_claims, strict=True)]
    at = np.concatenate([[0], np.cumsum([table.size for table in tables])])[:-1].astype(np.int64)
    recoding = Recoding(np.concatenate(tables), at)
    draws = knowledge.repeat(0)
    sizes = np.zeros(draws.patients.size, dtype=np.int64)
    mean = max(1.0, float(np.bincount(cells.of[cells.of >= 0])[cells.of[draws.patients]].mean()))
    n_draws = int(min(draws.patients.size, max(FEWEST, WORK // mean)))
    with ThreadPoolExecutor(settings.threads) as pool:
        count = partial(ordered_class_sizes, seen, cells, draws, recoding, sizes=sizes)
        # each span in its own part of the sizes
        list(pool.map(count, [(begin, min(begin + SPAN, n_draws)) for begin in range(0, n_draws, SPAN)]))
    return ClaimsAttack("values in their order (exact order)", RiskFigures.of(sizes[:n_draws], settings.k))


def in_time(released: ReleasedClaims, when: NDArray[np.int32]) -> Known:
    """The released base values of each patient that are not missing, in order of time."""
    encoded = released.encoded
    owners = encoded.owners  # in order, so that sorting by them first leaves each where it is
    order = np.lexsort((when, owners))
    parts = []
    for h in range(len(encoded.claims)):
        values = released.values(h)[order]
        present = values != MISSING
        starts = np.zeros(encoded.n_patients + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners[present], minlength=encoded.n_patients), out=starts[1:])
        parts.append((starts, values[present]))
    return gather(parts)


@dataclass(frozen=True, eq=False, repr=False)
class HospitalStays:
    """Which claims are hospital stays, (n_claims,), and the places of the columns that a discharge database has."""

    columns: tuple[int, ...]
    claims: NDArray[np.bool_]


def stays_of(encoded: EncodedClaims, plan: ClaimsPlan) -> HospitalStays | None:
    """Tell stays from other claims: by the place, or else by having a length of stay; None where neither can tell."""
    known = {*plan.claims.columns("diagnosis", "length-of-stay", "place"), LENGTH_OF_STAY}
    columns = tuple(h for h, column in enumerate(encoded.claims) if column.name in known)
    place, length = plan.claims.column("place"), plan.claims.column("length-of-stay", LENGTH_OF_STAY)
    by_name = {column.name: column for column in encoded.claims}
    if place in by_name:
        texts = by_name[place].labels[0]
        if "place" in plan.grouping.columns:
            hospital = groups_of("place", plan.grouping.tables).group(INPATIENT)
            inside = [text == hospital for text in texts]
        else:
            inside = [place_codes().get(words(text), words(text)) == INPATIENT for text in texts]
        return HospitalStays(columns, np.append(np.array(inside, dtype=np.bool_), False)[by_name[place].values])
    if length in by_name:
        return HospitalStays(columns, by_name[length].values != MISSING)
    return None


def discharge_database(attacked: AttackedClaims, stays: HospitalStays) -> ClaimsAttack | None:
    """Match a list of stays with the release: the share of right matches, and of those with few candidates.

    For each person on the list the adversary knows the quasi-identifiers of patients and, of one stay drawn at random,
    what a discharge database has of it, all values of that stay at once and exactly. Candidates are the released
    patients who are alike and have such a claim; one of them is taken at random. A stay of which something was omitted
    of the release is not found, and its match is wrong. None where fewer than k released patients have stays.
    """
    released, settings = attacked.released, attacked.settings
    encoded = released.encoded
    listed = released.patients & (np.bincount(encoded.owners[stays.claims], minlength=encoded.n_patients) > 0)
    if not stays.columns or listed.sum() < settings.k:
        return None
    joined = join_columns(attacked, stays.columns)
    (column,) = joined.encoded.claims
    on_list = replace(column, values=np.where(stays.claims, column.values, np.int32(MISSING)))
    power = listed.astype(np.int32)[:, None]
    knowledge = DrawnKnowledge(replace(joined.encoded, claims=(on_list,)), power, settings.seed_of(1), listed)
    levels = (*attacked.of_patients, 0)
    risk = NodeRisk(Matching(joined, 1, settings.threads), knowledge, settings.k)
    # a share in whole percent; withheld where it could reveal fewer than k patients
    n, others = int(listed.sum()), int(released.patients.sum()) - int(listed.sum())
    share: Listed = "all" if others == 0 else "most" if others < settings.k else round(100 * n / (n + others))
    names = tuple(encoded.claims[h].name for h in stays.columns)
    return ClaimsAttack("discharge database", risk.figures(levels), names, share)


def in_population(attacked: AttackedClaims, people: PeopleCounted, patients: NDArray[np.int64]) -> ClaimsAttack:
    """Attack as the paper's adversary, who does not know which people of the population are released.

    Who of the population fits what is known of claims is estimated: of the f - 1 other released patients of the class
    in the register, s - 1 fit; the F - 1 other people of it fit as often. So (s - 1) (F - 1) / (f - 1) others are
    expected, which is unbiased where the patients of a class are a random sample of its people. Where the patient is
    the only one released of the class nothing is known of the others, and nobody else is counted. The risk comes out
    too high rather than too low, since the mean of 1/x is above 1 over the mean of x.

    The paper counts classes among the patients alone; this is ours. ``patients``, (n_released,): the row of each
    released patient, of whom ``people`` are, among those that were encoded.
    """
    ratio = np.ones(attacked.released.patients.size)
    ratio[patients] = (people.people - 1) / np.maximum(people.fellows - 1, 1)
    risk = attacked.risk(attacked.power)
    draws = risk.knowledge.repeat(0)
    sizes = risk.class_sizes(attacked.levels, draws)
    estimated = np.where(sizes > 0, 1 + (sizes - 1) * ratio[draws.patients], 0.0)
    return ClaimsAttack("counted in the population", RiskFigures.of(estimated, attacked.settings.k))
