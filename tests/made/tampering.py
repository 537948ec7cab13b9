"""Releases changed by hand, so that only the verifier can notice."""

import hashlib
import json
from contextlib import suppress

from cloister.jobs.manifest import JobManifest, files_of_parts
from cloister.jobs.release import report_of_job
from cloister.release.folder import hashes_of, json_bytes, read_figures
from cloister.release.head import REPORTS, SCRIPT, read_section
from cloister.release.manifest import parse_manifest, script_of
from cloister.report import report_files


def replaced_one_by_one(folder, changes):
    """Replace a text in a file of a release, yield the name of the file, and put it back; for each change.

    Parameters
    ----------
    changes : name of the file, old text, new text
    """
    for name, old, new in changes:
        path = folder / name
        whole = path.read_text()
        path.write_text(whole.replace(old, new, 1))
        yield name
        path.write_text(whole)


def resealed(folder, name, text):
    """Change a file of a release and its hash."""
    (folder / name).write_text(text)
    sealed(folder, name)


def sealed(folder, name):
    """Make the hash of a file in the manifest that of the file, and the report the one of that manifest."""

    def seal(manifest):
        manifest["files"][name] = "sha256:" + hashlib.sha256((folder / name).read_bytes()).hexdigest()

    restated(folder, seal, script=name != SCRIPT)


def forged(folder, change=lambda _manifest: None):
    """Make all hashes of a manifest those of the files, change it, and make the report fit; the script stays."""
    path = folder / "release.json"
    manifest = json.loads(path.read_text())
    for name in manifest["files"]:
        manifest["files"][name] = "sha256:" + hashlib.sha256((folder / name).read_bytes()).hexdigest()
    change(manifest)
    path.write_bytes(json_bytes(manifest))
    report_rewritten(folder)


def job_sealed(folder):
    """Make the hashes in the manifest of a job those of its parts, and its report the one of that manifest."""
    manifest = json.loads((folder / "release.json").read_text())
    parts = [part["name"] for part in manifest["parts"]]
    manifest["files"] = files_of_parts(folder, parts)
    manifests = {name: json.loads((folder / name / "release.json").read_text()) for name in parts}
    job, _ = read_section(JobManifest, manifest)
    reports_replaced(folder, manifest, report_of_job(folder, job, manifests))


def restated(folder, change, *, script=True):
    """Change the manifest of a release, and write the report that says the same; and the script that checks it."""
    manifest = json.loads((folder / "release.json").read_text())
    change(manifest)
    if script:
        script_rewritten(folder, manifest)
    (folder / "release.json").write_bytes(json_bytes(manifest))
    report_rewritten(folder)


def script_rewritten(folder, manifest):
    """Write the script that checks what a manifest states, and its hash; where there is none, the old one stays."""
    with suppress(Exception):
        script = script_of(parse_manifest(manifest)).text().encode()
        (folder / SCRIPT).write_bytes(script)
        manifest["files"][SCRIPT] = f"sha256:{hashlib.sha256(script).hexdigest()}"


def report_rewritten(folder, figures=None):
    """Write the report that says what the manifest says, and these figures; those that are there if none are given."""
    manifest = json.loads((folder / "release.json").read_text())
    figures = read_figures(folder) if figures is None else figures
    files = {name: one for name, one in dict(manifest.get("files", {})).items() if name not in REPORTS}
    untyped = {"schema": 3, "warnings": [], "release": manifest | {"files": files}, "figures": figures}
    made = {"report.json": json_bytes(untyped)}
    with suppress(Exception):  # where no page can be made of it, the one that is there stays
        made = report_files(parse_manifest(manifest), figures)
    reports_replaced(folder, manifest, made)


def reports_replaced(folder, manifest, made):
    """Write these reports, and a manifest with their hashes."""
    for name, content in made.items():
        (folder / name).write_bytes(content)
    with suppress(Exception):  # a manifest may list anything
        manifest["files"] |= hashes_of(folder, made)
    (folder / "release.json").write_bytes(json_bytes(manifest))
