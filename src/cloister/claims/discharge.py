"""An adversary with a discharge database: exact values of one hospital stay of each of many patients (step 12)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .adversaries import Attack, Attacked, join_columns
from .encoded import MISSING, EncodedClaims
from .group_tables import groups_of, place_codes, words
from .knowledge import Knowledge
from .matching import Matching
from .node_risk import NodeRisk
from .plan import ClaimsPlan
from .plan_sections import LENGTH_OF_STAY

KNOWN_ROLES = frozenset({"diagnosis", "length-of-stay", "place"})
INPATIENT = "21"
"""Code of the place of service "Inpatient Hospital" (Centers for Medicare and Medicaid Services)."""


@dataclass(frozen=True, eq=False, repr=False)
class Stays:
    """The hospital stays among claims.

    Attributes
    ----------
    columns : places of the columns of claims that a discharge database has: diagnosis, length of stay, place
    claims : (n_claims,) whether each claim is a stay
    """

    columns: tuple[int, ...]
    claims: NDArray[np.bool_]


def stays_of(encoded: EncodedClaims, plan: ClaimsPlan) -> Stays | None:
    """Tell stays from other claims: by the place, or else by having a length of stay; None where neither can tell."""
    roles = plan.claims.roles
    known = {column for column, role in roles.items() if role in KNOWN_ROLES} | {LENGTH_OF_STAY}
    columns = tuple(h for h, column in enumerate(encoded.claims) if column.name in known)
    place, length = plan.claim_column("place"), plan.claim_column("length-of-stay", LENGTH_OF_STAY)
    by_name = {column.name: column for column in encoded.claims}
    if place in by_name:
        inside = [_is_inpatient(text, plan) for text in by_name[place].labels[0]]
        return Stays(columns, np.append(np.array(inside, dtype=np.bool_), False)[by_name[place].values])
    if length in by_name:
        return Stays(columns, by_name[length].values != MISSING)
    return None


def _is_inpatient(text: str, plan: ClaimsPlan) -> bool:
    if "place" in plan.grouping.columns:
        return text == groups_of("place", plan.grouping.tables).group(INPATIENT)
    return place_codes().get(words(text), words(text)) == INPATIENT


def discharge_database(attacked: Attacked, stays: Stays) -> Attack | None:
    """Match a list of stays with the release: the share of right matches, and of those with few candidates.

    For each person on the list the adversary knows the quasi-identifiers of patients and, of one stay drawn at random,
    what a discharge database has of it, all values of that stay at once and exactly. Candidates are the released
    patients who are alike and have such a claim; one of them is taken at random. A stay of which something was left out
    of the release is not found, and its match is wrong.

    Returns
    -------
    Attack
        None where fewer than k released patients have stays.
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
    knowledge = Knowledge(replace(joined.encoded, claims=(on_list,)), power, settings.seed_of(1), listed)
    levels = (*attacked.of_patients, 0)
    risk = NodeRisk(Matching(joined, 1, settings.threads, levels), knowledge, settings.k)
    share = _share(listed, released.patients, settings.k)
    names = ", ".join(repr(encoded.claims[h].name) for h in stays.columns)
    return Attack(
        "discharge database",
        f"Has a list of the hospital stays of {share} of the released patients, "
        f"with one stay of each ({names}, all exact) and the quasi-identifiers of patients; the mean risk is the share "
        "matched rightly.",
        risk.figures(levels, attacked.repeats),
    )


def _share(listed: NDArray[np.bool_], released: NDArray[np.bool_], k: int) -> str:
    """A share in whole percent; withheld where it could tell of fewer than k patients."""
    n, others = int(listed.sum()), int(released.sum()) - int(listed.sum())
    if others == 0:
        return "all"
    return "most" if others < k else f"{100 * n / (n + others):.0f} %"
