"""The promises of released trajectories as SQL: what ``verify.sql`` checks, from the released files alone.

Source: Tamersoy et al. (2012), Definitions 1 and 3. Whatever pairs somebody knows, all patients with the same released
trajectory have them or none has: so it suffices to count equal trajectories.
"""

from cloister.release.head import DATA
from cloister.shapes.trajectories.format.data import COLUMNS, ID
from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest
from cloister.verification.script import Script, names_in_sql

TEMPLATE = "shapes/trajectories/verify/verify.sql.j2"

FOLDER = "shapes/trajectories/verify"
"""Where the template is: no released column has a name of its views in SQL."""


def script_of(manifest: TrajectoriesManifest) -> Script:
    """Return the script that checks a release of trajectories."""
    settings, attributes = manifest.settings, None
    if manifest.attributes is not None:
        attributes = {ID: ID} | names_in_sql(manifest.attributes.columns, FOLDER, ours=(ID,))
    facts = {
        "file": next(name for name in DATA if name in manifest.files),
        "names": {name: name for name in COLUMNS},
        "delimiter": settings.delimiter,
        "attributes": attributes,
        "attributes_delimiter": settings.delimiter,
        "sorted_by": [name for column, name in (attributes or {}).items() if column != ID],
        "k": settings.k,
        "drop_empty": settings.drop_empty_pairs,
        "diversity": settings.diversity_requested(),
    }
    return Script(TEMPLATE, facts)
