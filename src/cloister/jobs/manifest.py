"""The manifest of a job: the guarantees of its parts, and that the parts cannot be joined."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from cloister.errors import CloisterError
from cloister.release.folder import hashes_of, is_file, read_figures, read_manifest
from cloister.release.head import (
    SCHEMA,
    SCRIPT,
    UNBOUND,
    Count,
    FileName,
    Hash,
    Moment,
    Positive,
    Section,
    Version,
    fitting,
)
from cloister.release.manifest import AnyManifest, outline_of, parse_manifest, rules_of
from cloister.report.release_warnings import warnings_of, warnings_of_job
from cloister.report.sentences import guarantee_sentences
from cloister.results import Manifest
from cloister.version import __version__

JOB: Literal["job"] = "job"
"""The shape of a manifest that is of several parts."""


def is_job(manifest: Manifest) -> bool:
    """Return whether a manifest states that it belongs to a job."""
    return outline_of(manifest).shape == JOB


def part_names(manifest: Manifest) -> list[str]:
    """Return the names of the parts in a manifest; empty if it lists something else."""
    parts = outline_of(manifest).parts
    if not isinstance(parts, list):
        return []
    named = [part.get("name") if isinstance(part, dict) else None for part in parts]
    names = [name for name in named if isinstance(name, str) and name and Path(name).name == name and name != ".."]
    return names if len(set(names)) == len(parts) else []


def only_part(folder: Path) -> Path:
    """Return the folder of the part, for a job with a single part; any other folder unchanged."""
    try:
        names = part_names(read_manifest(folder))
    except CloisterError:  # anyone who reads it next says why it cannot be read
        return folder
    return folder / names[0] if len(names) == 1 else folder


def files_of_parts(folder: Path, names: list[str]) -> dict[str, str]:
    """Return the hashes of the script and of every file of every part, by path inside the folder."""
    files = sorted(path for name in names for path in (folder / name).iterdir() if path.is_file())
    files += [folder / SCRIPT] if is_file(folder / SCRIPT) else []
    return hashes_of(folder, [path.relative_to(folder).as_posix() for path in files])


UNLINKABLE = (
    "No row of one part leads to fewer than k rows of another by an id, by the order of rows, or by any set of columns "
    "that have one name in both and one value a patient; to patients of claims by quasi-identifiers alone, only as the "
    "risk of claims says"
)
"""The one sentence on what joins no parts: in the report, on the screen and in docs/jobs.md."""

SENTENCES = ("Each part keeps its own promise, and was verified by itself", UNLINKABLE)
NOT_PROMISED = (
    "That parts promise together what each promises alone: what is known of one patient from several parts can be put "
    "together, as a class of one part and a cluster of another can meet in one patient",
    "That numbers which a part keeps back stay so beside the others: where one part leaves out few patients, the rows "
    "of another can tell how many, and by columns that both generalize alike of which group",
)


class JobGuarantee(Section):
    """The guarantee of all parts together, and its limits; only the older schema states sentences."""

    sentences: tuple[str, ...] = ()
    not_promised: tuple[str, ...] = ()
    verified: Literal[True]


class PartGuarantee(Section):
    """The guarantee of a part; only the older schema states sentences."""

    sentences: tuple[str, ...] = ()
    verified: Literal[True]


class PartRecords(Section):
    """The number of records or patients of a part."""

    released: Positive


class JobPart(Section):
    """The entry of a part in the manifest of a job, from the part's own manifest.

    ``risk`` is the highest of a patient, of claims the mean one; null where chunks tell of candidates alone. ``loss``,
    0 nothing and 1 all, is that of the method: of tables and claims the mean of the quasi-identifiers, of chunks the
    share of codes without a count, of generalized codes the ILM, of trajectories the larger of the losses of codes and
    of ages.
    """

    name: str
    folder: str
    shape: str
    method: str
    source: FileName
    records: PartRecords
    promise: str
    risk: float | None
    loss: float | None
    guarantee: PartGuarantee

    @classmethod
    def of(cls, name: str, manifest: AnyManifest) -> Self:
        """Return the entry of a part."""
        risk, loss = manifest.risk_and_loss()
        return cls(
            name=name,
            folder=name,
            shape=manifest.shape,
            method=str(manifest.method),
            source=manifest.settings.source,
            records=PartRecords(released=manifest.records.released),
            promise=promise_of(manifest),
            risk=risk,
            loss=loss,
            guarantee=PartGuarantee(verified=True),
        )


class JobSeconds(Section):
    """The total time of all parts, in seconds."""

    total: float


class AttackedLinks(Section):
    """Pairs of parts, by name: pairs that the attack of the run searched for links, and pairs without ids."""

    tested: tuple[tuple[str, str], ...]
    not_tested: tuple[tuple[str, str], ...]

    @classmethod
    def of_pairs(cls, parts: Iterable[str], tested: Iterable[tuple[str, str]]) -> Self:
        """Return all pairs of parts, split into tested and untested pairs."""
        pairs, known = list(combinations(parts, 2)), set(tested)
        return cls(
            tested=tuple(pair for pair in pairs if pair in known),
            not_tested=tuple(pair for pair in pairs if pair not in known),
        )


class JobManifest(Section):
    """The complete ``release.json`` of a job; ``files`` are listed by path inside the folder."""

    schema_: Literal[2, 3] = Field(alias="schema")
    cloister: Version
    shape: Literal["job"]
    name: str
    seed: Count
    created: Moment
    parts: tuple[JobPart, ...]
    guarantee: JobGuarantee
    files: dict[str, Hash]
    seconds: JobSeconds
    links: AttackedLinks | None = None  # absent where the job asks for no attack

    @model_validator(mode="after")
    def _words_are_in_the_report(self) -> Self:
        guarantees = (self.guarantee, *(part.guarantee for part in self.parts))
        is_without = all(one.model_fields_set == {"verified"} for one in guarantees)
        return fitting(self, {"guarantee": is_without or self.schema_ == UNBOUND})

    def facts(self) -> Manifest:
        """Return the facts without wording: no schema, and no guarantees, which the parts state."""
        found: Manifest = self.model_dump(
            exclude={"schema_": True, "guarantee": True, "parts": {"__all__": {"guarantee"}}}
        )
        return found


def describe_job(
    name: str,
    parts: Mapping[str, AnyManifest],
    *,
    seed: int,
    created: str,
    seconds: float,
    files: Mapping[str, str],
    tested: Iterable[tuple[str, str]] | None = None,
) -> JobManifest:
    """Return the manifest of a job; ``tested``: pairs of parts that an attack searched for links, if there was one."""
    return JobManifest.of_known(
        schema=SCHEMA,
        cloister=__version__,
        shape=JOB,
        name=name,
        seed=seed,
        created=created,
        parts=tuple(JobPart.of(part, manifest) for part, manifest in parts.items()),
        guarantee=JobGuarantee(verified=True),
        files=dict(files),
        seconds=JobSeconds(total=seconds),
        links=None if tested is None else AttackedLinks.of_pairs(parts, tested),
    )


def parts_shown(folder: Path, manifests: Mapping[str, Manifest]) -> Manifest:
    """Return the parts in ``report.json`` of a job: their manifests and figures."""
    parts = {name: {"release": one, "figures": read_figures(folder / name)} for name, one in manifests.items()}
    return {"parts": parts}


def promises_of_folder(folder: Path) -> list[str]:
    """Return the guarantee of a release, in sentences; for a job with several parts, prefixed by the part's name."""
    manifest = read_manifest(folder)
    if not is_job(manifest):
        return guarantee_sentences(parse_manifest(manifest))
    names = part_names(manifest)
    return [
        f"{name}: {text}" if len(names) > 1 else text
        for name in names
        for text in guarantee_sentences(parse_manifest(read_manifest(folder / name)))
    ]


def warnings_of_folder(folder: Path) -> list[str]:
    """Return the warnings of a release folder, or of a job with all its parts."""
    manifest = read_manifest(folder)
    if not is_job(manifest):
        return warnings_of(parse_manifest(manifest), read_figures(folder))
    parts = {name: folder / name for name in part_names(manifest)}
    return warnings_of_job(
        {name: (parse_manifest(read_manifest(one)), read_figures(one)) for name, one in parts.items()}
    )


def promise_of(manifest: AnyManifest) -> str:
    """Return a short form of a part's guarantee, such as ``k = 5``."""
    rules = rules_of(manifest)
    if "threshold" in rules[0]:
        return f"mean <= {rules[0]['threshold']:g}"
    numbers = {name: next((rule[name] for rule in rules if name in rule), None) for name in ("k", "m")}
    return ", ".join(f"{name} = {number}" for name, number in numbers.items() if number is not None)
