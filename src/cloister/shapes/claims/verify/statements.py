"""The promises of released claims as SQL: what ``verify.sql`` checks, from the released files alone.

Source: El Emam et al. (2012), JMIR 14(1):e33. The risk is simulated by drawing at random, which `cloister verify` does
again; SQL checks the form of both files, and what is counted in them.
"""

from cloister.shapes.claims.format.facts import HIDDEN, SUPPRESSION
from cloister.shapes.claims.format.manifest import ClaimsManifest, ClaimsPromise
from cloister.shapes.claims.format.released_columns import (
    CLAIMS,
    FLAG,
    KEPT,
    NUMBER,
    PATIENTS,
    PSEUDONYM,
    QUASI,
    STEPS,
    SUPPRESSED,
    TABLES,
    TRUNCATED,
)
from cloister.verification.script import Script, names_in_sql

TEMPLATE = "shapes/claims/verify/verify.sql.j2"

FOLDER = "shapes/claims/verify"
"""Where the template is: no released column has a name of its views in SQL."""


def script_of(manifest: ClaimsManifest) -> Script:
    """Return the script that checks a release of claims."""
    promise = ClaimsPromise.of(manifest)
    facts: dict[str, object] = {
        "k": promise.k,
        "threshold": promise.threshold,
        "is_numbered": promise.form.ids == NUMBER,
        "delimiter": manifest.settings.delimiter,
        "may_cut": promise.percentile != 100 or promise.plan.suppression.treatment == "claims",
        "percentile": promise.percentile,
        "is_population": promise.plan.population.patients is not None,
        "suppressed_at": f'steps[{[*STEPS].index(SUPPRESSION)}].counts."{HIDDEN}"',
        "pseudonyms": _pseudonyms(manifest),
    }
    for table in TABLES:
        facts[table] = _facts_of_file(manifest, table, f"{table}{manifest.suffix}")
    return Script(TEMPLATE, facts)


def _facts_of_file(manifest: ClaimsManifest, table: str, file: str) -> dict[str, object]:
    """Return the columns of a file: their names in SQL, by what they are; and where release.json counts labels."""
    form = manifest.columns
    names = names_in_sql(form.names(table), FOLDER)
    at = "labels" if table == CLAIMS else "labels_of_patients"
    return {
        "file": file,
        "names": names,
        "id": next(iter(names.values())),
        "quasi": {column: names[column] for column in form.names(table, QUASI)},
        "sorted_by": [names[column] for column in form.names(table, QUASI, KEPT, FLAG)],
        "flags": [names[column] for column in form.names(table, FLAG)],
        "hidden": {names[column]: names.get(f"{SUPPRESSED}{column}", "") for column in form.names(table, QUASI)},
        "truncated": names.get(TRUNCATED),
        "tops": [
            names[column]
            for column, one in form.of(table).items()
            if one.role == QUASI and one.level == one.top and one.hierarchy != "file"
        ],
        "counted_at": {column: f"/utility/{at}/{_in_pointer(column)}" for column in form.names(table, QUASI)},
    }


def _pseudonyms(manifest: ClaimsManifest) -> dict[str, list[tuple[str, str]]]:
    """Return the columns of each group of pseudonyms, as file and name in SQL."""
    form, groups = manifest.columns, dict[str, list[tuple[str, str]]]()
    for table in (PATIENTS, CLAIMS):
        names = names_in_sql(form.names(table), FOLDER)
        for column in form.names(table, PSEUDONYM):
            groups.setdefault(str(form.of(table)[column].numbered_with), []).append((table, names[column]))
    return groups


def _in_pointer(name: str) -> str:
    """Return a name as a JSON pointer writes it."""
    return name.replace("~", "~0").replace("/", "~1")
