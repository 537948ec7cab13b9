"""The manifest of a job: what its parts promise, and that they cannot be joined."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloister.errors import CloisterError
from cloister.io import sha256
from cloister.release import is_internal
from cloister.release_folder import FIGURES, MANIFEST, REPORT, SCHEMA, any_manifest, is_release, read_figures
from cloister.report.sentences import guarantee_sentences
from cloister.results import Manifest
from cloister.version import __version__

JOB = "job"
"""The shape of a manifest that is of several parts."""


def is_job(manifest: Manifest) -> bool:
    """Whether a manifest says that it is of a job."""
    return manifest.get("shape") == JOB


def part_names(manifest: Manifest) -> list[str]:
    """Return the names of the parts that a manifest lists; none where it lists something else."""
    parts = manifest.get("parts")
    if not isinstance(parts, list):
        return []
    names: list[Any] = [part.get("name") if isinstance(part, dict) else None for part in parts]
    right = all(isinstance(name, str) and name and Path(name).name == name and name != ".." for name in names)
    return names if right and len(set(names)) == len(names) else []


def is_job_release(folder: Path) -> bool:
    """Whether a folder is the release of a job and holds nothing else."""
    try:
        manifest = any_manifest(folder)
    except CloisterError:
        return False
    names = part_names(manifest)
    if not is_job(manifest) or not names:
        return False
    there = {entry.name for entry in folder.iterdir()}
    parts = there & {*names}
    own = [folder / name for name in there - parts]
    return (
        there <= {MANIFEST, REPORT, FIGURES, *names}
        and all(is_release(folder / name) for name in parts)
        and all(path.is_file() and not path.is_symlink() for path in own)
    )


def is_internal_of_job(folder: Path) -> bool:
    """Whether a folder holds what a job wrote for the custodian alone, and nothing else."""
    entries = list(folder.iterdir())
    return bool(entries) and all(entry.is_dir() and not entry.is_symlink() and is_internal(entry) for entry in entries)


def files_of_parts(folder: Path, names: list[str]) -> dict[str, str]:
    """Return the hash of every file of every part, by its path inside the folder."""
    files = sorted(path for name in names for path in (folder / name).iterdir() if path.is_file())
    return {path.relative_to(folder).as_posix(): f"sha256:{sha256(path)}" for path in files}


UNLINKABLE = (
    "No row of one part leads to fewer than k rows of another by an id, by the order of rows, or by any set of columns "
    "that have one name in both and one value a patient; to patients of claims by quasi-identifiers alone, only as the "
    "risk of claims says"
)
"""The one sentence on what joins no parts: in the manifest, the report, on the screen and in docs/jobs.md."""

SENTENCES = ("Each part keeps its own promise, and was verified by itself", UNLINKABLE)
NOT_PROMISED = (
    "That parts promise together what each promises alone: what is known of one patient from several parts can be put "
    "together, as a class of one part and a cluster of another can meet in one patient",
    "That numbers which a part keeps back stay so beside the others: where one part leaves out few patients, the rows "
    "of another can tell how many, and by columns that both generalize alike of which group",
)
LOST = ("loss", "occurrences_in_item_chunks", "ilm", "ilm_terms")
"""What stands for the loss of each method, where it is one number."""


def describe_job(
    name: str, manifests: Mapping[str, Manifest], *, seed: int, created: str, seconds: float, files: Mapping[str, str]
) -> Manifest:
    """Return the manifest of a job."""
    return {
        "schema": SCHEMA,
        "cloister": __version__,
        "shape": JOB,
        "name": name,
        "seed": seed,
        "created": created,
        "parts": [part_told(part, manifest) for part, manifest in manifests.items()],
        "guarantee": {
            "sentences": list(SENTENCES),
            "not_promised": list(NOT_PROMISED),
            "verified": True,
        },
        "files": dict(files),
        "seconds": {"total": seconds},
    }


def job_contents(folder: Path, manifest: Manifest, manifests: Mapping[str, Manifest]) -> dict[str, Any]:
    """Return what the report of a job shows: its manifest, and of each part the manifest and the figures."""
    parts = {name: {"release": part, "figures": read_figures(folder / name)} for name, part in manifests.items()}
    return {"schema": SCHEMA, "release": manifest, "parts": parts}


def part_told(name: str, manifest: Manifest) -> dict[str, Any]:
    """Return what the manifest of a job says of a part: what the part says of itself."""
    guarantees = [manifest["guarantee"], *([manifest["codes"]["guarantee"]] if "codes" in manifest else [])]
    return {
        "name": name,
        "folder": name,
        "shape": manifest["shape"],
        "method": manifest["method"],
        "source": manifest["settings"]["source"],
        "records": {"released": manifest["records"]["released"]},
        "promise": promise_of(manifest),
        "risk": risk_of(manifest),
        "loss": loss_of(manifest),
        "guarantee": {
            "sentences": guarantee_sentences(manifest),
            "verified": all(guarantee["verified"] for guarantee in guarantees),
        },
    }


def promise_of(manifest: Manifest) -> str:
    """Return what a part promises, in a few words."""
    if manifest["shape"] == "claims":
        return f"mean <= {manifest['risk']['threshold']:g}"
    rules = manifest["guarantee"]["rules"]
    told = [f"k = {next(rule['k'] for rule in rules if 'k' in rule)}"]
    codes = manifest["codes"]["settings"] if "codes" in manifest else manifest["settings"]
    return ", ".join([*told, *([f"m = {codes['m']}"] if codes.get("m") is not None else [])])


def risk_of(manifest: Manifest) -> float | None:
    """Return the highest risk of a patient, of claims the mean one; None where chunks tell of candidates alone."""
    risk = manifest["risk"]
    found: float | None = risk.get("highest", risk.get("mean"))
    return found


def loss_of(manifest: Manifest) -> float | None:
    """Return how much was lost, 0 nothing and 1 all, as the method counts it; None where that is not told.

    Of tables and claims the loss that was minimized, of chunks the share of codes without a count, of generalized codes
    the ILM, of trajectories the larger of the losses of codes and of ages.
    """
    utility: dict[str, Any] = manifest["utility"]
    if manifest["shape"] == "trajectories":
        codes, ages = utility["ilm_exact"], utility["alm_exact"]
        return None if codes is None or ages is None else float(max(codes, ages))
    return next((utility[name] for name in LOST if utility.get(name) is not None), None)
