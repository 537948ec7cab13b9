"""Single changes of releases, with hashes and report made to fit, against `cloister verify`."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.made.forms import FORMS, Made
from tests.made.tampering import report_rewritten, script_rewritten, sealed

from cloister.release.folder import json_bytes, read_manifest
from cloister.release.head import REPORTS, SCRIPT

from .command import Found, cloister
from .evidence import is_evidence, may_be_recorded
from .leaves import changed, leaves, named

LEAVES, BYTES = 60, 40
HASHED_WORDS = (SCRIPT, *REPORTS)


def forgeries(draw, folder):
    """Make one release; change leaves of its JSON files and bytes of all others, one at a time."""
    target = made_release(draw, folder, draw.choice(list(FORMS)))
    if target is None:
        return
    for change in target.changes(LEAVES, BYTES):
        target.try_one(change, draw)


@dataclass(frozen=True)
class Target:
    """A release to be changed: what it is made of, where it is, and its files as they are to stay."""

    made: Made
    release: Path
    before: dict[str, bytes]

    def changes(self, leaves, stretches):
        """What is to be tried: so many leaves of each JSON file, and so many stretches of bytes of any file."""
        of_clusters = [_leaf_of_clusters] * leaves if "clusters.json" in self.before else []
        return [_leaf_of_manifest] * leaves + [_bytes_of_file] * stretches + of_clusters

    def try_one(self, change, draw):
        """Change the release, find it if it is accepted, and put it back; say whether the verifier had to refuse it."""
        shape = read_manifest(self.release)["shape"]
        try:
            what = change(draw, self.release)
            if what is None or is_evidence(what):
                return False
            return _was_refused(self.release, self.made, shape, what, self.before)
        finally:
            for name, data in self.before.items():
                if (self.release / name).read_bytes() != data:
                    (self.release / name).write_bytes(data)


def made_release(draw, folder, form):
    """A release of random data of a form; None where nothing was safe."""
    made, release = FORMS[form](draw, folder), folder / "release"
    attack = draw.choice(((), ("--attack",)))
    if cloister("protect", *made.words, *made.kept, "--out", release, *attack, "-q", "--accept-empty").code != 0:
        return None
    return Target(made, release, contents(release))


def contents(folder):
    """The files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _was_refused(release, made, shape, what, before):
    """Whether a changed release is refused; it is found if not, unless it keeps the promise, as other data would."""
    if cloister("verify", release, "-q").code != 0:
        return True
    if may_be_recorded(what):
        made.keeps(release)
        return False
    differ = "; ".join(_differ(before, release))
    raise Found(f"cloister verify accepts a release ({shape}) with a change of {what}: {differ}")


def _differ(before, release):
    """The first place at which each changed file, but the report that was made to fit, differs."""
    for name, old in before.items():
        new = (release / name).read_bytes()
        if new != old and not name.startswith("report"):
            at = next((i for i, (one, other) in enumerate(zip(old, new)) if one != other), min(len(old), len(new)))
            yield f"{name} had {old[max(0, at - 20) : at + 20]!r}, has {new[max(0, at - 20) : at + 20]!r}"


def _leaf_of_manifest(draw, release):
    """Change one thing that the manifest says, and write the report that says it, too."""
    manifest = json.loads((release / "release.json").read_bytes())
    place = draw.choice(list(leaves(manifest)))
    other = changed(manifest, place, draw)
    is_kept = place[0] == "files" and place[-1] in HASHED_WORDS  # which would undo the change
    if not is_kept:
        script_rewritten(release, other)
    (release / "release.json").write_bytes(json_bytes(other))
    if not is_kept:
        with suppress(Exception):  # where no report can be made of it, the one that is there stays
            report_rewritten(release)
    return f"release.json {named(place)}"


def _leaf_of_clusters(draw, release):
    """Change one thing that the clusters say, line by line as they are written."""
    path = release / "clusters.json"
    tree = json.loads(path.read_bytes())
    place = draw.choice(list(leaves(tree)))
    before, after = (json.dumps(each, separators=(",", ":")) for each in (tree, changed(tree, place, draw)))
    if before == after:
        return None
    path.write_text(_laid_like(path.read_text(), before, after))
    sealed(release, "clusters.json")
    return f"clusters.json {named(place)}"


def _laid_like(text, before, after):
    """The text with the one stretch replaced in which two forms of the same JSON differ, white space aside."""
    start = next((i for i, (one, other) in enumerate(zip(before, after)) if one != other), min(len(before), len(after)))
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    places = _solid(text)
    first = places[start] if start < len(places) else len(text)
    last = places[len(before) - end - 1] + 1 if len(before) - end > start else first
    return text[:first] + after[start : len(after) - end] + text[last:]


def _solid(text):
    """Places of the characters that are not white space between the parts of JSON."""
    places, inside, escaped = [], False, False
    for place, character in enumerate(text):
        if inside or not character.isspace():
            places.append(place)
        if character == '"' and not escaped:
            inside = not inside
        escaped = character == "\\" and not escaped
    return places


def _bytes_of_file(draw, release):
    """Change some bytes of a file."""
    name = draw.choice(sorted(path.name for path in release.iterdir()))
    path = release / name
    before = path.read_bytes()
    after = other_bytes(before, draw)
    if after == before:
        return None
    path.write_bytes(after)
    if name in read_names(release) and name not in HASHED_WORDS:  # their words may be any: a hash that fits is enough
        sealed(release, name)
    return f"bytes of {name}"


def read_names(release):
    """Names of the files whose hashes the manifest has; none where it is no JSON any more."""
    try:
        return set(json.loads((release / "release.json").read_bytes())["files"])
    except (ValueError, KeyError, TypeError):
        return set()


def other_bytes(data, draw):
    """Bytes with one stretch changed, removed, repeated or put in."""
    start = draw.randrange(len(data) + 1)
    end = min(len(data), start + draw.choice((1, 1, 2, 8, 64)))
    new = draw.choice(
        (b"", bytes([draw.randrange(256)]), data[start:end] * 2, b" ", b"\n", b"9", b"x", draw.randbytes(8))
    )
    return data[:start] + new + data[end if draw.random() < 0.7 else start :]
