"""The guarantee of disassociated code sets as SQL: ``verify.sql`` checks it from the released files only.

Source: Loukides et al. (2014), Guarantee 1, and the requirements R1 to R4 of joint clusters. The order of clusters is
checked by `cloister verify` alone.
"""

from collections.abc import Sequence

from cloister.shapes.codes.data import CODES, ID, MARK
from cloister.shapes.disassociation.format.manifest import DisassociationManifest
from cloister.verification.script import Script, names_in_sql

TEMPLATE = "shapes/disassociation/verify/verify.sql.j2"

FOLDER = "shapes/disassociation/verify"
"""Where the template is: no released column has a name of its views in SQL."""


def script_of(manifest: DisassociationManifest) -> Script:
    """Return the script that checks a release of disassociated code sets."""
    names, settings = names_in_sql(manifest.roles(), FOLDER), manifest.settings
    facts = {
        "names": names,
        "delimiter": settings.delimiter,
        "codes": names[CODES],
        "id": names.get(ID) if manifest.columns.id is not None else None,
        **facts_of_chunks(settings.k, settings.m, settings.repeats, settings.sensitive, settings.diversity),
    }
    return Script(TEMPLATE, facts)


def facts_of_chunks(
    k: int, m: int, repeats: bool = False, sensitive: Sequence[str] = (), diversity: int | None = None
) -> dict[str, object]:
    """Return what the templates take of the promise about chunks; ``at``: where the manifest has its counts."""
    return {
        "k": k,
        "m": m,
        "sensitive": list(sensitive),
        "diversity": diversity or 1,
        "repeats": repeats,
        "mark": MARK,
        "unit": f"regexp_replace(code, '{MARK}[0-9]+$', '')" if repeats else "code",
        "classes": False,
        "at": "",
    }
