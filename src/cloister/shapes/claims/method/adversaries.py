"""Sensitivity of a release's risk to the knowledge of the adversary (step 12).

The manifest describes most adversaries by what they know (`Knowledge`), and one function simulates them. All know
quasi-identifiers of patients and values of claims together, unless they say otherwise. Some know which values belong to
one claim, their order, or, from a discharge database, exact values of one hospital stay of many patients.

References
----------
HHP appendix, section 4: the assumptions of inexact knowledge and inexact order, whose sensitivity the paper tests.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.claim_draws import Known, Recoding, ordered_class_sizes
from cloister.shapes.claims.format.group_tables import groups_of, place_codes, words
from cloister.shapes.claims.format.manifest import DIGITS, KNOWLEDGE, Adversary, AdversaryFigures, Knowledge, Listed
from cloister.shapes.claims.format.plan import LENGTH_OF_STAY, ClaimsPlan
from cloister.shapes.claims.format.population import PeopleCounted

from .adversary_draws import AdversaryPower, DrawnKnowledge, Power, gather
from .encode import MISSING, EncodedClaims, EncodedColumn
from .matching import SPAN, ReleasedClaims, group_patients
from .risk import AttackedClaims, NodeRisk, ReleaseRisk, RiskFigures

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


def simulate_adversary(attacked: AttackedClaims, knowledge: Knowledge, powers: AdversaryPower) -> RiskFigures:
    """Draw released patients and what an adversary knows of them, and count who fits.

    powers : of the plan's adversary, at any levels
    """
    encoded, n_own = attacked.released.encoded, len(attacked.released.encoded.patients)
    if knowledge.is_whole:
        attacked = join_columns(attacked, tuple(range(len(encoded.claims))))
    power, matching = attacked.power, attacked.matching
    if knowledge.values is not None:
        power = np.minimum(all_values(encoded), np.int32(knowledge.values))
    elif knowledge.highest is not None:
        power = powers.with_highest(knowledge.highest).at(attacked.levels[n_own:])
    if not knowledge.has_patients:
        matching = matching.of_anybody(attacked.levels)
    return NodeRisk(matching, attacked.samples.with_power(power), attacked.plan.risk.k).figures(attacked.levels)


def join_columns(attacked: AttackedClaims, columns: tuple[int, ...]) -> AttackedClaims:
    """The same release with one column of claims: a number for each kind of claim, by some or all of the columns.

    A missing value is a value; a claim with a suppressed cell fits none.
    As many claims are known as values of any single column.
    """
    released, encoded = attacked.released, attacked.released.encoded
    n_own = len(encoded.patients)
    kinds = group_patients(
        [encoded.claims[h] for h in columns], [attacked.levels[n_own + h] for h in columns], encoded.n_claims
    )
    column = EncodedColumn.flat("claim", kinds.astype(np.int32), [""] * (int(kinds.max(initial=-1)) + 1))
    cells = np.asarray(released.cells[list(columns)].all(axis=0, keepdims=True))
    joined = replace(released, encoded=replace(encoded, claims=(column,)), cells=cells)
    power = attacked.power.max(axis=1, keepdims=True)
    return replace(attacked, released=joined, levels=(*attacked.levels[:n_own], 0), power=power, cap=1)


def attacks_on(
    attacked: AttackedClaims,
    believing: ReleaseRisk,
    likeliest: RiskFigures,
    powers: AdversaryPower,
    *,
    when: NDArray[np.int32] | None = None,
    stays: "HospitalStays | None" = None,
) -> list[ClaimsAttack]:
    """Attack a release by all adversaries, in addition to those whose figures are measured already.

    powers : of the plan's adversary, at any levels
    when : (n_claims,) rank of each claim in time; without, nobody knows the order
    stays : hospital stays among the claims, if they can be recognized
    """
    attacked = replace(attacked, cap=int(all_values(attacked.released.encoded).max(initial=0)))
    found = []
    for name, knowledge in KNOWLEDGE.items():
        if knowledge.is_whole:
            vars(attacked).pop("matching", None)  # others need few of its lists, and those of claims are as large
        found.append(ClaimsAttack(name, simulate_adversary(attacked, knowledge, powers)))
    if when is not None:
        found.append(ClaimsAttack("values in their order (exact order)", exact_order(attacked, when)))
    found += [
        ClaimsAttack("flags believed", believing.flag_aware),
        ClaimsAttack("flags believed where nobody fits", believing.fallback),
        ClaimsAttack("flags believed, fewest missing", believing.nearest),
        ClaimsAttack("picks the likeliest", likeliest),
    ]
    discharged = None if stays is None else discharge_database(attacked, stays)
    return found if discharged is None else [*found, discharged]


def exact_order(attacked: AttackedClaims, when: NDArray[np.int32]) -> RiskFigures:
    """Simulate an adversary who knows the order of the drawn values: only patients with them in that order match.

    This overstates the risk that knowledge of the order adds: released rows are sorted by value, and only days since
    the first claim show an order. Claims of the same time keep the order of the rows. Every patient of a cell is
    compared with each draw, so large cells have fewer draws and a wider interval. ``when``: rank of each claim in time,
    (n_claims,).
    """
    released, levels, encoded = attacked.released, attacked.levels, attacked.released.encoded
    knowledge = attacked.samples.with_power(attacked.power)
    drawn = np.bincount(knowledge.patients(0), minlength=encoded.n_patients) > 0  # of others nothing is known
    knowledge.__dict__["known"] = in_time(ReleasedClaims.everything(encoded).without_patients(~drawn), when)
    seen = in_time(released, when)
    cells = attacked.matching.cells(levels)
    of_claims = levels[len(encoded.patients) :]
    tables = [one.levels[level].astype(np.int64) for one, level in zip(encoded.claims, of_claims, strict=True)]
    at = np.concatenate([[0], np.cumsum([table.size for table in tables])])[:-1].astype(np.int64)
    recoding = Recoding(np.concatenate(tables), at)
    draws = knowledge.repeat(0)
    sizes = np.zeros(draws.patients.size, dtype=np.int64)
    mean = max(1.0, float(np.bincount(cells.of[cells.of >= 0])[cells.of[draws.patients]].mean()))
    n_draws = int(min(draws.patients.size, max(FEWEST, WORK // mean)))
    with ThreadPoolExecutor(attacked.threads) as pool:
        count = partial(ordered_class_sizes, seen, cells, draws, recoding, sizes=sizes)
        # each span in its own part of the sizes
        list(pool.map(count, [(begin, min(begin + SPAN, n_draws)) for begin in range(0, n_draws, SPAN)]))
    return RiskFigures.of(sizes[:n_draws], attacked.plan.risk.k)


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
    """Distinguish stays from other claims by place, else by length of stay; None if the claims have neither."""
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
    patients with equal quasi-identifiers who have such a claim; the adversary picks one of them at random. A stay of
    which a value was suppressed is not found, and its match is wrong. Return None if fewer than k released patients
    have stays.
    """
    released, encoded, k = attacked.released, attacked.released.encoded, attacked.plan.risk.k
    listed = released.patients & (np.bincount(encoded.owners[stays.claims], minlength=encoded.n_patients) > 0)
    n, others = int(listed.sum()), int((released.patients & ~listed).sum())
    if not stays.columns or n < k:
        return None
    joined = join_columns(attacked, stays.columns)
    (column,) = joined.released.encoded.claims
    on_list = replace(column, values=np.where(stays.claims, column.values, np.int32(MISSING)))
    power, seed = listed.astype(np.int32)[:, None], attacked.plan.risk.seed_of(1)
    knowledge = DrawnKnowledge(replace(joined.released.encoded, claims=(on_list,)), power, seed, listed)
    figures = NodeRisk(joined.matching, knowledge, k).figures(joined.levels)
    # a share in whole percent; withheld where it could reveal fewer than k patients
    share: Listed = "all" if others == 0 else "most" if others < k else round(100 * n / (n + others))
    names = tuple(encoded.claims[h].name for h in stays.columns)
    return ClaimsAttack("discharge database", figures, names, share)


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
    draws, k = attacked.samples.repeat(0), attacked.plan.risk.k
    sizes = NodeRisk(attacked.matching, attacked.samples, k).class_sizes(attacked.levels, draws)
    estimated = np.where(sizes > 0, 1 + (sizes - 1) * ratio[draws.patients], 0.0)
    return ClaimsAttack("counted in the population", RiskFigures.of(estimated, k))
