"""The guarantee of released claims as SQL: ``verify.sql`` checks it from the released files only.

Source: El Emam et al. (2012), JMIR 14(1):e33. The risk is simulated by drawing at random, which `cloister verify` does
again; SQL checks the form of both files, their labels, and what is counted in them.
"""

from cloister.shapes.claims.format.facts import HIDDEN, SUPPRESSION
from cloister.shapes.claims.format.group_tables import coarser_groups
from cloister.shapes.claims.format.hierarchies import OF_GROUPS, Bands, EqualBands, NamedHierarchy, hierarchies
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
    ClaimsForm,
    WrittenClaims,
)
from cloister.verification.script import Finding, Script, names_in_sql

TEMPLATE = "shapes/claims/verify/verify.sql.j2"

FOLDER = "shapes/claims/verify"
"""Where the template is: no released column has a name of its views in SQL."""

ANY = "any"
"""Labels that any text can be."""


def script_of(manifest: ClaimsManifest) -> Script:
    """Return the script that checks a release of claims."""
    return _script(ClaimsPromise.of(manifest), manifest.suffix, manifest.settings.delimiter)


def find_broken(files: WrittenClaims, promise: ClaimsPromise) -> tuple[Finding, ...]:
    """Return the findings of the promises on both files in memory."""
    for table in TABLES:
        if files.of(table).columns != promise.form.names(table):
            return (Finding(f"the columns of {table} are those declared, in their order", 1),)
    return _script(promise, ".csv", None).run_on({f"{table}.csv": files.of(table) for table in TABLES})


def _script(promise: ClaimsPromise, suffix: str, delimiter: str | None) -> Script:
    form = promise.form
    facts: dict[str, object] = {
        "k": promise.plan.risk.k,
        "threshold": promise.plan.risk.threshold,
        "is_numbered": form.ids == NUMBER,
        "delimiter": delimiter,
        "may_cut": promise.percentile != 100 or promise.plan.suppression.treatment == "claims",
        "is_population": promise.plan.population.patients is not None,
        "suppressed_at": f'steps[{[*STEPS].index(SUPPRESSION)}].counts."{HIDDEN}"',
        "pseudonyms": _pseudonyms(form),
    }
    for table in TABLES:
        facts[table] = _facts_of_file(form, table, f"{table}{suffix}")
    return Script(TEMPLATE, facts)


def _facts_of_file(form: ClaimsForm, table: str, file: str) -> dict[str, object]:
    """Return the columns of a file: their names in SQL, by what they are; and where release.json counts labels."""
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
        "levels": _levels(form, table),
        "counted_at": {column: f"/utility/{at}/{_in_pointer(column)}" for column in form.names(table, QUASI)},
    }


def _pseudonyms(form: ClaimsForm) -> dict[str, list[tuple[str, str]]]:
    """Return the columns of each group of pseudonyms, as file and name in SQL."""
    groups = dict[str, list[tuple[str, str]]]()
    for table in (PATIENTS, CLAIMS):
        names = names_in_sql(form.names(table), FOLDER)
        for column in form.names(table, PSEUDONYM):
            groups.setdefault(str(form.of(table)[column].numbered_with), []).append((table, names[column]))
    return groups


def _levels(form: ClaimsForm, table: str) -> dict[str, tuple[str, object]]:
    """Return what the labels of each quasi-identifier are, where its hierarchy is known without the plan's files."""
    found, known = dict[str, tuple[str, object]](), hierarchies({})
    for name in form.names(table, QUASI):
        column = form.of(table)[name]
        if column.hierarchy in known and column.level is not None:
            found[name] = _labels_at(known[column.hierarchy](), column.level)
    return {name: labels for name, labels in found.items() if labels[0] != ANY}


def _labels_at(hierarchy: NamedHierarchy, level: int) -> tuple[str, object]:
    """Return the kind of the labels of a level, and what the template needs to know of them."""
    if level == 0:
        return (ANY, None) if hierarchy.numbers is None else ("numbers", hierarchy.numbers)
    if level > len(hierarchy.levels):
        return "listed", ["*"]
    labels = hierarchy.levels[level - 1]
    if isinstance(labels, Bands):
        return "bands", labels
    if isinstance(labels, EqualBands):
        return "equal bands", labels
    if level < len(hierarchy.levels):  # groups, which the plan may name
        return ANY, None
    role = OF_GROUPS.get(hierarchy.kind, hierarchy.kind)
    return "listed", [*dict.fromkeys(one for (kind, _), one in coarser_groups().items() if kind == role), "other"]


def _in_pointer(name: str) -> str:
    """Return a name as a JSON pointer writes it."""
    return name.replace("~", "~0").replace("/", "~1")
