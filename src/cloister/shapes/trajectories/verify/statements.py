"""The guarantee of released trajectories as SQL: ``verify.sql`` checks it from the released files only.

Source: Tamersoy et al. (2012), Definitions 1 and 3. Whatever pairs someone knows, all patients with the same released
trajectory have them or none has: so it suffices to count equal trajectories.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cloister.release.head import ATTRIBUTES, DATA
from cloister.shapes.trajectories.format.data import COLUMNS, DETAIL, ID, Diversity, WrittenTrajectories
from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest
from cloister.verification.script import Finding, Script, names_in_sql

TEMPLATE = "shapes/trajectories/verify/verify.sql.j2"

FOLDER = "shapes/trajectories/verify"
"""Where the template is: no released column has a name of its views in SQL."""


@dataclass(frozen=True)
class ExpectedGuarantee:
    """The guarantee that a release must meet."""

    k: int  # patients that share every trajectory
    drop_empty: bool = False  # whether pairs without code and age are omitted
    diversity: Diversity | None = None  # of sensitive codes: can be checked with the place of every pair alone
    has_details: bool = False  # whether pairs have a detail besides code and age


def guarantee_from(manifest: TrajectoriesManifest) -> ExpectedGuarantee:
    """Return the guarantee that a manifest states."""
    settings = manifest.settings
    has_details = settings.detail_hierarchy is not None
    return ExpectedGuarantee(settings.k, settings.drop_empty_pairs, settings.diversity_requested(), has_details)


def script_of(manifest: TrajectoriesManifest) -> Script:
    """Return the script that checks a release of trajectories."""
    columns = None if manifest.attributes is None else [*manifest.attributes.columns]
    return _script(guarantee_from(manifest), manifest.data_file, columns, manifest.settings.delimiter)


def find_broken(released: WrittenTrajectories, guarantee: ExpectedGuarantee) -> tuple[Finding, ...]:
    """Return the findings of the promises on released trajectories in memory."""
    frames, columns = {DATA[0]: released.frame}, None
    if released.attributes is not None:
        frames[ATTRIBUTES] = released.attributes
        columns = [column for column in released.attributes.columns if column != ID]
    return _script(guarantee, DATA[0], columns, None).run_on(frames)


def _script(guarantee: ExpectedGuarantee, name: str, columns: Sequence[str] | None, delimiter: str | None) -> Script:
    """``name``: of the data file; ``columns``: of auxiliary attributes, if there are any."""
    attributes = {} if columns is None else {ID: ID} | names_in_sql(columns, FOLDER, ours=(ID,))
    names = (*COLUMNS, DETAIL) if guarantee.has_details else COLUMNS
    facts = {
        "file": name,
        "names": {name: name for name in names},
        "columns": names[1:],
        "delimiter": delimiter,
        "attributes": attributes,
        "sorted_by": [name for column, name in attributes.items() if column != ID],
        "k": guarantee.k,
        "drop_empty": guarantee.drop_empty,
        "diversity": guarantee.diversity,
    }
    return Script(TEMPLATE, facts)
