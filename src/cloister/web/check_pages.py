"""Pages on a release: verify, read, approve or refuse it; attack it with its original; compare it with others."""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from cloister.errors import CloisterError, InputError
from cloister.exploration.comparison import compare_manifests, manifests_in, rows_of
from cloister.io import sha256, write_private
from cloister.jobs.release import report_with_originals
from cloister.release.head import MANIFEST, REPORT
from cloister.results import Verdict
from cloister.settings.declaration import Given
from cloister.verification.folder import verify_folder

from .app import RequestContext, RunFindings
from .forms import in_words
from .job_state import load_job

ANCHOR = re.compile(r'id="([^"]*)s1"')
MAIN = re.compile(r"<main>(.*)</main>", re.DOTALL)
PART = re.compile(r'<section class="part" aria-labelledby="part-([^"]*)"')
WIDTH = re.compile(r'class="bar" style="width:([0-9]+)(?:\.[0-9]+)?%"')
STYLE = re.compile(r' style="[^"]*"')
SIGNED = ".sign-off.json"
ROLES = ("Data custodian", "Statistician", "Ethics or data access committee", "Second reader")
DECISIONS = {"approved": "Approved", "refused": "Refused"}


def state_of(found: Verdict) -> str:
    """Return the entry for a verdict in the list of releases."""
    if found.failures:
        return "does not hold"
    return "not checked in full" if found.unchecked else "verified"


def hashes_of(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a release, by its path in the folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}


def digest_of(hashes: Mapping[str, str]) -> str:
    """Return one hash of all files."""
    return hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()


def key_of(folder: Path, hashes: Mapping[str, str] | None = None) -> str:
    """Return a key of a release that changes when its files change; ``hashes``: those of its files, if known."""
    return f"{folder}\0{digest_of(hashes_of(folder) if hashes is None else hashes)}"


def verdict_of(visit: RequestContext, folder: Path, hashes: Mapping[str, str] | None = None) -> Verdict:
    """Return the verdict on a release; verify it only once while the hashes of its files stay the same."""
    key, seen = key_of(folder, hashes), visit.app.verdicts
    if key not in seen:
        seen[key] = _verify_now(folder)
    return seen[key]


def _verify_now(folder: Path) -> Verdict:
    """Verify a release now."""
    try:
        return verify_folder(folder)
    except CloisterError as error:
        return Verdict("", (), (in_words(error),))


def _report(page: str) -> tuple[Markup, Markup]:
    """The first section of a report and all others, without what the content policy of the application forbids."""
    found = MAIN.search(page)
    text = STYLE.sub("", WIDTH.sub(r'class="bar w\1"', "" if found is None else found[1]))
    first, end, rest = text.partition("</section>")
    return Markup(first + end), Markup(rest)  # noqa: S704  # the report was rendered with its values escaped


def check(visit: RequestContext, problem: str = "", status: int = 200) -> Response:
    """Verify a release, and show its report."""
    place = visit.say("release")
    folder = visit.app.folder.path if place == "." else visit.app.folder.existing(place)
    hashes = hashes_of(folder)
    found, run = verdict_of(visit, folder, hashes), visit.app.runs.get(key_of(folder, hashes), RunFindings())
    manifests = {} if visit.app.release is not None or found.failures else manifests_in([folder])
    parts = {_name_part(name): (one.shape, one.settings.source) for name, one in manifests.items()}
    job = job_of(visit, folder) if parts else ""
    # class sizes and risks of originals, if this application made the release of them: shown, never written into it
    is_known = bool(parts) and bool(run.before or run.risks)
    compared = report_with_originals(folder, run.before, run.risks) if is_known else None
    page = "" if found.failures else compared or (folder / REPORT).read_text(encoding="utf-8")
    first, rest = _report(page)
    anchor = ANCHOR.search(page)
    risks = [str(one["sentence"]) for one in run.risks.values()]
    return visit.shown(
        "check", status, name=folder.name, place=place, found=found, first=first, rest=rest,
        is_compared=compared is not None, at="" if anchor is None else anchor[1], sections=PART.findall(page),
        decisions=_read_decisions(folder, hashes), roles=ROLES, words=DECISIONS, problem=problem,
        digest=digest_of(hashes), parts=parts, job=job,
        files=[name for name, _ in visit.app.folder.look().data] if parts else [],
        # omit notes that repeat a tile of the risk
        notes=[
            one
            for one in run.notes
            if not any(one.endswith(risk) and f"{risk}." in first for risk in risks)
        ],
    )  # fmt: skip


def job_of(visit: RequestContext, folder: Path) -> str:
    """Return the job in this folder that writes a release folder, and so names its original; empty if none does."""
    for place in visit.app.folder.look().jobs:
        path = visit.app.folder.path / place
        with suppress(CloisterError):
            if (path.parent / load_job(path).job.output).resolve() == folder.resolve():
                return place
    return ""


def _name_part(name: str) -> str:
    """Return the name of a part in its job."""
    return name.rpartition("/")[2]


def state(visit: RequestContext) -> Response:
    """Return whether a release is verified, and who decided last, for the list of releases."""
    folder = visit.app.folder.existing(visit.say("release"))
    hashes = hashes_of(folder)
    decisions = [one for one in _read_decisions(folder, hashes) if one["is_this"]]
    found = verdict_of(visit, folder, hashes)
    return visit.shown("check_state", state=state_of(found), decisions=decisions[-1:], words=DECISIONS)


def _read_decisions(folder: Path, hashes: Mapping[str, str]) -> list[Given]:
    """Return the decisions about a release, the latest last; ``is_this`` marks those about its present files."""
    path = folder.parent / f"{folder.name}{SIGNED}"
    if not path.is_file() or path.is_symlink():
        return []
    try:
        content = json.loads(path.read_bytes())
        return [{**one, "is_this": one.get("files") == hashes} for one in content["decisions"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def decide(visit: RequestContext) -> Response:
    """Record approval or refusal of a release next to it: the verified folder itself stays unchanged."""
    place = visit.say("release")
    folder = visit.app.folder.path if place == "." else visit.app.folder.existing(place)
    hashes = hashes_of(folder)
    found = _verify_now(folder)  # anew: nothing is signed on what was seen before
    given = {name: " ".join(visit.say(name).split())[:2_000] for name in ("decision", "name", "role", "reason")}
    if problem := _problem(given, found):
        return check(visit, problem, 400)
    if visit.say("digest") != digest_of(hashes) or hashes != hashes_of(folder):
        return check(visit, "The release changed after this page was opened. Read it again first.", 409)
    path = folder.parent / f"{folder.name}{SIGNED}"
    earlier = [
        {key: value for key, value in one.items() if key != "is_this"} for one in _read_decisions(folder, hashes)
    ]
    signed = {
        "verified": state_of(found) == "verified",
        "unchecked": sorted({name for name, _ in found.unchecked}),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "release": folder.name,
        "sha256": hashes.get(MANIFEST, ""),
        "files": hashes,
    }
    decisions = [*earlier, {**given, **signed}]
    aside = path.with_name(f".{path.name}.new")
    aside.unlink(missing_ok=True)
    write_private(aside, (json.dumps({"decisions": decisions}, ensure_ascii=False, indent=1) + "\n").encode())
    aside.replace(path)
    return RedirectResponse(visit.to("check", release=place), 303)


def _problem(given: Mapping[str, str], found: Verdict) -> str:
    """Return why a decision cannot be written down; nothing if it can."""
    if given["decision"] not in DECISIONS or not given["name"] or given["role"] not in ROLES:
        return "Give your name and role, and approve or refuse."
    if given["decision"] == "refused" and not given["reason"]:
        return "A refusal needs a reason."
    if given["decision"] == "approved" and found.failures:
        return "A release that does not hold cannot be approved."
    if given["decision"] == "approved" and found.unchecked and not given["reason"]:
        return "Not everything was checked. Give the reason why you approve anyway."
    return ""


def attack(visit: RequestContext) -> Response:
    """Attack a release with its original, in a separate process; the job of the release names the original."""
    folder = visit.app.folder.existing(visit.say("release"))
    job = job_of(visit, folder)
    if job:
        path = visit.app.folder.existing(job)
        visit.app.data.confine(load_job(path).job, path.parent)
        words = ["--job", job]
    else:
        given = {name: visit.app.folder.place(visit.app.folder.existing(visit.say(f"original:{name}")))
                 for name in map(_name_part, manifests_in([folder]))}  # fmt: skip
        words = [word for name, file in given.items()
                 for word in ("--original", f"{name}={file}" if len(given) > 1 else file)]  # fmt: skip
    return visit.working(
        visit.app.works.start(
            ["attack", visit.app.folder.place(folder), *words, "--json"],
            visit.app.folder.path,
            what="Attacking the release",
            then="",
            back=visit.to("check", release=visit.say("release")),
        )
    )


def report_file(visit: RequestContext) -> Response:
    """Return the report as a file, to be kept or printed."""
    place = visit.say("release")
    folder = visit.app.folder.path if place == "." else visit.app.folder.existing(place)
    headers = {"Content-Disposition": f'attachment; filename="{REPORT}"'}
    return Response((folder / REPORT).read_bytes(), media_type="text/html", headers=headers)


def compare(visit: RequestContext) -> Response:
    """Show releases side by side."""
    places = list(dict.fromkeys(visit.query.getlist("release")))
    if len(places) < 2:
        raise InputError("Choose at least two releases.")
    found = compare_manifests(manifests_in([visit.app.folder.existing(place) for place in places]))
    return visit.shown("compare", names=list(found.figures), rows=rows_of(found.figures), settings=found.settings,
                       measure=found.measure, best=found.on_frontier)  # fmt: skip
