"""Releases changed by hand, so that only the verifier can notice."""

import hashlib
import json

from cloister.release_folder import json_bytes, read_figures, report_contents
from cloister.report import render_report


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

    def seal(manifest):
        manifest["files"][name] = "sha256:" + hashlib.sha256((folder / name).read_bytes()).hexdigest()

    restated(folder, seal)


def restated(folder, change):
    """Change the manifest of a release, and write the report that says the same."""
    manifest = json.loads((folder / "release.json").read_text())
    change(manifest)
    (folder / "release.json").write_bytes(json_bytes(manifest))
    report_rewritten(folder)


def report_rewritten(folder, figures=None):
    """Write the report that says what the manifest says, and these figures; those that are there if none are given."""
    manifest = json.loads((folder / "release.json").read_text())
    figures = read_figures(folder) if figures is None else figures
    (folder / "report.json").write_bytes(json_bytes(report_contents(manifest, figures)))
    (folder / "report.html").write_bytes(render_report(manifest, figures).encode())
