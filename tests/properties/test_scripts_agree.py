"""Laws of ``verify.sql``: it finds what the comparing verifier finds, in random releases with one line changed."""

import random

import pytest
from tests.soak.forgeries import made_release

from cloister.errors import CloisterError
from cloister.release.folder import read_manifest
from cloister.release.manifest import form_of, script_of, typed
from cloister.shapes.registry import FORMS, load
from cloister.verification.driver import Opened, Request

ORDERS = ("clusters stand in the order of their contents", "classes are told apart, in order")
"""What SQL does not check of clusters, and says so."""

CHANGES = 12
NAMES = ("release.json", "data.csv", "data.parquet", "clusters.json", "attributes.csv", "patients.csv", "claims.csv")
CHANGED = ("data.csv", "clusters", "attributes", "patients.csv", "claims.csv")


def changed(draw, text):
    """A text with one line changed: a cell of another one, two lines exchanged, one lost or doubled, a character."""
    lines = text.split("\n")
    one, other = (draw.randrange(1, max(2, len(lines) - 1)) for _ in range(2))
    kind = draw.choice(["cell", "swap", "drop", "double", "character"])
    if kind == "cell":
        cells, others = lines[one].split(","), lines[other].split(",")
        place = draw.randrange(min(len(cells), len(others)))
        cells[place] = others[place]
        lines[one] = ",".join(cells)
    elif kind == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == "drop":
        del lines[one]
    elif kind == "double":
        lines.insert(one, lines[one])
    elif lines[one]:
        place = draw.randrange(len(lines[one]))
        lines[one] = lines[one][:place] + draw.choice('0123456789abZ*," ') + lines[one][place + 1 :]
    return "\n".join(lines)


def broken_by_comparing(folder, manifest, form):
    """What the comparing verifier finds broken: of the promise, and else of what follows from the files."""
    checker = load(FORMS[form].checker)()
    try:
        files = checker.read_files(folder, manifest)
        opened = Opened(folder, manifest, files, checker.read_original(Request(), manifest, files), Request())
        broken = list(checker.verify(opened).failures)
        return broken, broken or list(checker.facts(opened).failures)
    except CloisterError as error:
        return None, [error.text]


def broken_in_sql(folder, manifest):
    """What the script finds broken."""
    try:
        return [one.promise for one in script_of(manifest).run(folder, NAMES) if one.violations]
    except CloisterError as error:
        return [error.text]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", FORMS)
def test_both_verifiers_find_a_changed_line(shape, seed, tmp_path):
    """Nothing is broken in a release; what breaks a promise breaks it in SQL as well, and SQL finds nothing else."""
    draw = random.Random(seed)
    target = made_release(draw, tmp_path, shape)
    if target is None:
        return
    stated = read_manifest(target.release)
    manifest, form = typed(stated), form_of(stated)
    assert broken_in_sql(target.release, manifest) == []
    texts = [name for name in target.before if name.startswith(CHANGED)]
    for name in (draw.choice(texts) for _ in range(CHANGES if texts else 0)):
        (target.release / name).write_text(changed(draw, target.before[name].decode()))
        of_promise, of_any = broken_by_comparing(target.release, manifest, form)
        in_sql = broken_in_sql(target.release, manifest)
        (target.release / name).write_bytes(target.before[name])

        assert of_any or not in_sql, f"SQL alone: {in_sql}"
        assert in_sql or not of_promise or all(any(order in one for order in ORDERS) for one in of_promise), (
            f"not found in SQL: {of_promise}"
        )
