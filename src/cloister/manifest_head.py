"""What stands in every manifest, whatever the shape: its keys, and the fields that follow from nothing released."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from cloister.results import Manifest
from cloister.stopwatch import STAGES

OF_ALL = frozenset({"schema", "cloister", "shape", "method", "settings", "seed", "created", "machine", "columns"})
OF_ALL |= {"records", "guarantee", "utility", "risk", "seconds", "files"}
"""Keys of every manifest."""

OF_SHAPE = {
    "table": frozenset({"search", "codes", "table"}),
    "codes": frozenset({"clusters"}),
    "trajectories": frozenset({"side", "clustering"}),
    "claims": frozenset({"choice", "steps", "representativeness", "sensitivity"}),
}
"""Keys that a manifest of a shape may have besides."""

ATTACK = "attack"
"""The part of a manifest that says that the release was attacked, and held."""

GUARANTEE = frozenset({"rules", "sentences", "verified", "one_row_per_patient"})
SECONDS = frozenset({*STAGES, "total"})
PACKAGES = frozenset({"python", "numpy", "numba", "polars"})
MACHINE = PACKAGES | {"cores", "system"}

CREATED = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\+00:00")
VERSION = re.compile(r"[0-9A-Za-z.+_-]{1,40}")


def head_failures(manifest: Manifest) -> list[str]:
    """Return what a manifest says that no release says, in sentences; values may be anything and are not quoted."""
    keys = OF_ALL | OF_SHAPE.get(str(manifest.get("shape")), frozenset()) | {ATTACK}
    strange, missing = len(manifest.keys() - keys), len(OF_ALL - manifest.keys())
    failures = [f"release.json has {_keys(strange, 'unknown')}"] if strange else []
    failures += [f"release.json lacks {_keys(missing, 'necessary')}"] if missing else []
    return failures + [
        f"release.json has a wrong {name}" for name, is_right in FIELDS.items() if not is_right(manifest)
    ]


def whole_number(value: Any, least: int = 0) -> bool:
    """Whether a value is a whole number from one on, and not one of the words true and false."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _keys(count: int, kind: str) -> str:
    return f"{count} {kind} {'key' if count == 1 else 'keys'}"


def _of(manifest: Manifest, name: str) -> Mapping[str, Any]:
    part = manifest.get(name)
    return part if isinstance(part, dict) else {}


def _is_seed(manifest: Manifest) -> bool:
    seed = manifest.get("seed")
    return whole_number(seed) or (manifest.get("shape") == "table" and type(seed) is int)


def _is_machine(manifest: Manifest) -> bool:
    machine = _of(manifest, "machine")
    versions = (machine.get(name) for name in (*PACKAGES, "system"))
    return machine.keys() == MACHINE and whole_number(machine["cores"], 1) and all(map(_is_version, versions))


def _is_version(text: Any) -> bool:
    return isinstance(text, str) and VERSION.fullmatch(text) is not None


def _is_seconds(manifest: Manifest) -> bool:
    seconds = _of(manifest, "seconds")
    return seconds.keys() == SECONDS and all(map(number, seconds.values()))


def _is_source(manifest: Manifest) -> bool:
    source = _of(manifest, "settings").get("source")
    return isinstance(source, str) and "/" not in source


def _is_guarantee(manifest: Manifest) -> bool:
    guarantee = _of(manifest, "guarantee")
    return guarantee.keys() == GUARANTEE and isinstance(guarantee["one_row_per_patient"], str)


def _is_attack(attack: Mapping[str, Any]) -> bool:
    return attack.keys() == {"targets", "holds"} and attack["holds"] is True and whole_number(attack["targets"], 1)


FIELDS: Mapping[str, Callable[[Manifest], bool]] = {
    "cloister": lambda manifest: _is_version(manifest.get("cloister")),
    "seed": _is_seed,
    "created": lambda manifest: CREATED.fullmatch(str(manifest.get("created"))) is not None,
    "machine": _is_machine,
    "seconds": _is_seconds,
    "settings.source": _is_source,
    "guarantee": _is_guarantee,
    ATTACK: lambda manifest: ATTACK not in manifest or _is_attack(_of(manifest, ATTACK)),
}
"""Fields, and whether a manifest has them as a release does."""
