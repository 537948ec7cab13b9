"""What may stand of an attack in a release: shares that tell no count below k, and nothing of the data as they were."""

import math
from typing import Any

from .figures import Attack, Found, Inference, Level

DIGITS = 100
"""Risks are told in hundredths, rounded up."""


def section(attack: Attack) -> dict[str, Any]:
    """Return the part ``attack`` of a manifest.

    A share of targets is told if those in it and the others are none or k at least, each; else it is kept back (None);
    so are shares of targets that match, where two of them differ by fewer than k targets.
    Rates then take for granted that every target matches its own record, which is the most that there can be.
    """
    criteria, told = attack.criteria, _counts_told(attack)
    return {
        "k": attack.k,
        "seed": attack.seed,
        "targets": attack.targets,
        "guess": _up(attack.guess),
        "holds": attack.holds,
        "levels": [_level(level, attack.k, is_told=level.released.none in told) for level in attack.levels],
        "inferences": [_inference(each, attack.k) for each in attack.inferences],
        "criteria": {
            "singling_out": _alone(attack),
            "linkability": max((_rate(level.released, attack.k) for level in attack.levels), default=0.0),
            "inference": None if criteria.inference is None else _up(max(0.0, criteria.inference)),
        },
    }


def _alone(attack: Attack) -> float | None:
    """The highest share of targets found alone, if all such shares may be told."""
    shares = [_share(each.released.alone, each.released.targets, attack.k) for each in attack.levels]
    told = [share for share in shares if share is not None]
    return max(told, default=0.0) if len(told) == len(shares) else None


def _counts_told(attack: Attack) -> set[int]:
    """Numbers of targets without a match that may be told beside each other: they are the same, or k apart."""
    told: list[int] = []
    for count in sorted({level.released.none for level in attack.levels}, reverse=True):
        if not told or told[-1] - count >= attack.k:
            told.append(count)
    return set(told)


def _level(level: Level, k: int, *, is_told: bool) -> dict[str, Any]:
    found = level.released
    return {
        "known": level.known,
        "covered": level.is_covered,
        "matched": _share(found.targets - found.none, found.targets, k) if is_told else None,
        "below_k": _share(found.fewer, found.targets, k),
        "least": found.least if found.least >= k or found.least == 0 else None,
        "rate": _rate(found, k),
        "confidence": _up(found.confidence),
    }


def _rate(found: Found, k: int) -> float:
    is_told = _share(found.none, found.targets, k) is not None and _is_told(found.false_matches, found.targets, k)
    return _up(found.rate if is_told else found.confidence)


def _is_told(share: float | None, targets: int, k: int) -> bool:
    return share is not None and _share(round(share * targets), targets, k) is not None


def _share(count: int, of: int, k: int) -> float | None:
    """A share in hundredths, unless it tells that there are some, but fewer than k, inside or outside."""
    if 0 < count < k or 0 < of - count < k or of == 0:
        return None
    return round(count / of, 2)


def _inference(found: Inference, k: int) -> dict[str, Any]:
    is_told = all(
        _share(round(share * found.targets), found.targets, k) is not None
        for share in (found.accuracy, found.baseline, found.certain)
    )
    figures = (found.accuracy, found.baseline, found.certain) if is_told else (None, None, None)
    names = ("accuracy", "baseline", "certain")
    return {"column": found.column} | {
        name: None if share is None else _up(share) for name, share in zip(names, figures, strict=True)
    }


def _up(share: float) -> float:
    """A share rounded up to hundredths; what is a whole number of them but for the last digit stays."""
    return min(1.0, math.ceil(share * DIGITS - 1e-9) / DIGITS)
