"""Releases of every schema that was written, kept as they were written: they verify, and a forged one does not.

``releases/schema-N.zip`` has folders as the code of that schema wrote them, from ``cloister.testing.hospital(seed=7,
n=60)``. A file of a new schema is added when the schema changes, and none is ever renewed.
"""

import json
import zipfile
from pathlib import Path

import pytest
from tests.made.tampering import restated

import cloister as cl
from cloister.errors import GuaranteeViolation, InputError
from cloister.release.head import SCHEMA
from cloister.shapes.registry import FORMS

RELEASES = Path(__file__).parent / "releases"
CHANGED_SINCE = {2: {"report", "script"}, 3: {"script"}}
"""What may not be checked: schema 2 does not bind its reports, and a later version may write another verify.sql."""


def kept(schema):
    """The names of the releases that are kept of a schema."""
    with zipfile.ZipFile(RELEASES / f"schema-{schema}.zip") as archive:
        return sorted({name.partition("/")[0] for name in archive.namelist()})


EVERY = [(schema, name) for schema in CHANGED_SINCE for name in kept(schema)]


@pytest.fixture
def release(request, tmp_path):
    """The folder of a kept release."""
    schema, name = request.param
    with zipfile.ZipFile(RELEASES / f"schema-{schema}.zip") as archive:
        archive.extractall(tmp_path, [one for one in archive.namelist() if one.startswith(f"{name}/")])
    return tmp_path / name


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("release", "schema"), [(one, one[0]) for one in EVERY], indirect=["release"], ids=str)
def test_a_release_of_every_schema_verifies(release, schema):
    """Whoever received a release can verify it with a later version."""
    unchecked = {name for name, _ in cl.verify_folder(release).unchecked}

    assert unchecked <= CHANGED_SINCE[schema]
    assert cl.verify_folder(release, accept_unchecked=[*unchecked]).holds
    assert json.loads((release / "release.json").read_text(encoding="utf-8"))["schema"] == schema


@pytest.mark.parametrize("release", [(3, "table"), (3, "claims")], indirect=True, ids=str)
def test_a_release_of_any_version_of_the_program_verifies(release):
    """The schema decides how a release is read, not the version of the program that wrote it."""
    restated(release, lambda manifest: manifest.update(cloister="7.31.0"))

    assert cl.verify_folder(release).failures == ()


@pytest.mark.parametrize("release", EVERY, indirect=True, ids=str)
def test_a_changed_release_of_every_schema_is_refused(release):
    """One more line in the released records is noticed, whatever the schema."""
    (data,) = [file for file in release.iterdir() if file.name in ("data.csv", "claims.csv")]
    data.write_text(data.read_text(encoding="utf-8") + data.read_text(encoding="utf-8").splitlines()[-1] + "\n")

    with pytest.raises(GuaranteeViolation, match="changed after its release"):
        cl.verify_folder(release)


@pytest.mark.parametrize("release", [(3, "table")], indirect=True, ids=str)
@pytest.mark.parametrize("schema", [1, SCHEMA + 1])
def test_an_unknown_schema_is_refused_with_the_version_that_knows_it(release, schema):
    """A release from the future, or from before the first published version, names what wrote it."""
    manifest = json.loads((release / "release.json").read_text(encoding="utf-8"))
    (release / "release.json").write_text(json.dumps(manifest | {"schema": schema, "cloister": "9.1.0"}))

    with pytest.raises(InputError, match=r"schema '\d'.*cloister 9\.1\.0"):
        cl.verify_folder(release)


def test_every_form_is_kept_of_the_schema_of_today():
    """The next schema finds an example of every form, and every earlier schema is known."""
    assert {*kept(SCHEMA)} >= {*FORMS}
    assert max(CHANGED_SINCE) == SCHEMA
