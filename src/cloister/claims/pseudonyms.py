"""Step 1: ids replaced by numbers or keyed hashes.

References
----------
Krawczyk, Bellare, Canetti (1997), RFC 2104 (HMAC).
"""

import hashlib
import hmac
import stat
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io.text import load_bytes
from cloister.release_folder import release_around

from .data import Claims
from .plan import UNJOINED, ClaimsPlan
from .plan_sections import HMAC, PSEUDONYMS
from .steps import StepLine, Stepped

SHORTEST_KEY = 32
GROUP_SIZES = ((1, 1), (2, 4), (5, 10), (11, 19), (20, 99), (100, None))
"""Bands of claims per pseudonym, as they are reported."""


def pseudonyms(data: Claims) -> Stepped:
    """Take ids out, or make them keyed hashes; numbers are given at the end, in released order.

    Patients are told apart by their numbers from here on. Provider, vendor and PCP columns that get numbers are kept
    as they are until `numbered` gives them, since only the released order carries no information.

    Guarantee: no original id is released. Not promised: groups stay together, and the number of claims of a provider,
    which may be known elsewhere, can tell which one it is; the line says how large the groups are. `drop` leaves the
    columns out, `per-table` gives other numbers in each file. A hash of 256 bits (HMAC-SHA256) links releases made with
    the same key, for whoever has several.

    Raises
    ------
    InputError
        Patients would have no id; the key is shorter than 32 bytes, others may read its file, or it lies in a release.
    """
    if data.plan.ids.patients != "number" and not data.plan.ids.patients.startswith(HMAC):
        raise InputError(UNJOINED)
    plan = data.plan
    patients = data.patients.drop(*_dropped(data, "patients"))
    claims = data.claims.drop(*_dropped(data, "claims"))
    (patient_id,), (claim_id,) = plan.patient_columns("id"), plan.claim_columns("id")
    claims = claims.drop(claim_id)
    if plan.ids.patients.startswith(HMAC):
        patients = patients.with_columns(_hashed(patients[patient_id], Path(plan.ids.patients.removeprefix(HMAC))))
        how = "replaced by keyed hashes (HMAC-SHA256), which link releases made with the same key"
    else:
        patients = patients.drop(patient_id)
        how = "replaced by numbers in released order"
    result = data.with_frames(patients, claims)
    others = ", ".join(f"{role} {getattr(plan.ids, role)}" for role in sorted(PSEUDONYMS) if plan.claim_columns(role))
    done = f"Patients' ids are {how}." + (f" Other ids: {others}." if others else "")
    return Stepped(result, StepLine("1 pseudonyms", done, counts=group_sizes(result.claims, plan)))


def numbered(patients: pl.DataFrame, claims: pl.DataFrame, data: Claims) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number provider, vendor and PCP ids by their first appearance in the released rows.

    Parameters
    ----------
    patients, claims : in released order
    data : whose plan says which columns these are
    """
    numbers: dict[str, dict[str, int]] = {}
    frames = []
    for table, frame in (("patients", patients), ("claims", claims)):
        for column, role in _released_pseudonyms(data.plan, table):
            if column in frame.columns:
                key = f"{role} of {table}" if getattr(data.plan.ids, role) == "per-table" else role
                frame = frame.with_columns(_by_appearance(frame[column], numbers.setdefault(key, {})))
        frames.append(frame)
    return frames[0], frames[1]


def _by_appearance(ids: pl.Series, numbers: dict[str, int]) -> pl.Series:
    for text in ids.drop_nulls().unique(maintain_order=True):
        numbers.setdefault(text, len(numbers) + 1)
    return ids.replace_strict(numbers, return_dtype=pl.Int64) if numbers else ids.cast(pl.Int64)


def _released_pseudonyms(plan: ClaimsPlan, table: str) -> list[tuple[str, str]]:
    roles = plan.patients.roles if table == "patients" else plan.claims.roles
    named = [(column, str(role)) for column, role in roles.items() if role in PSEUDONYMS]
    return [(column, role) for column, role in named if getattr(plan.ids, role) != "drop"]


def _dropped(data: Claims, table: str) -> list[str]:
    roles = data.plan.patients.roles if table == "patients" else data.plan.claims.roles
    return [column for column, role in roles.items() if role in PSEUDONYMS and getattr(data.plan.ids, role) == "drop"]


def group_sizes(claims: pl.DataFrame, plan: ClaimsPlan) -> dict[str, int]:
    """How many pseudonyms of each column have how many of these claims."""
    counts: dict[str, int] = {}
    for column, role in _released_pseudonyms(plan, "claims"):
        sizes = claims[column].drop_nulls().value_counts()["count"]
        for low, high in GROUP_SIZES:
            band = f"{low}+" if high is None else f"{low}" if low == high else f"{low}-{high}"
            counts[f"{role} {column!r} with {band} claims"] = int(((sizes >= low) & (sizes <= (high or 2**31))).sum())
    return counts


def _hashed(ids: pl.Series, path: Path) -> pl.Series:
    key = load_bytes(path)
    if (around := release_around(path)) is not None:
        raise InputError(f"The key file {path.name} lies in the release {around.name}. Move it away.", file=path.name)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"The key file {path.name} may be read by others. Make it private: chmod 600.", file=path.name)
    if len(key) < SHORTEST_KEY:
        raise InputError(f"The key in {path.name} has {len(key)} bytes; {SHORTEST_KEY} are needed.", file=path.name)
    hashes = [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in ids]
    return pl.Series(ids.name, hashes, dtype=pl.String)
