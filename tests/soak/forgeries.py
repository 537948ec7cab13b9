"""Single changes of releases, with hashes and report made to fit, against `cloister verify`."""

import hashlib
import json
from contextlib import suppress

from tests.tampering import report_rewritten

from cloister.release_folder import json_bytes, read_manifest

from .command import Found, cloister
from .evidence import is_evidence, may_be_recorded
from .leaves import changed, leaves, named
from .made import SHAPES

LEAVES, BYTES = 60, 40


def forgeries(draw, folder):
    """Make one release; change leaves of its JSON files and bytes of all others, one at a time."""
    made = SHAPES[draw.choice(list(SHAPES))](draw, folder)
    release = folder / "release"
    said = cloister("protect", *made.words, "--out", release, *draw.choice(((), ("--attack",))), "-q")
    if said.code != 0:
        return
    before = {path.name: path.read_bytes() for path in release.iterdir()}
    changes = [_leaf_of_manifest] * LEAVES + [_bytes_of_file] * BYTES
    if (release / "clusters.json").exists():
        changes += [_leaf_of_clusters] * LEAVES
    for change in changes:
        shape, what = read_manifest(release)["shape"], change(draw, release)
        if what is not None and not is_evidence(what):
            _check_refused(release, made, shape, what, before)
        for name, data in before.items():
            if (release / name).read_bytes() != data:
                (release / name).write_bytes(data)


def _check_refused(release, made, shape, what, before):
    """Find a changed release that is accepted, unless it keeps the promise, as one of other data would."""
    if cloister("verify", release, "-q").code != 0:
        return
    if may_be_recorded(what):
        made.keeps(release)
        return
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
    (release / "release.json").write_bytes(json_bytes(other))
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
    _sealed(release, "clusters.json")
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
    if name in read_names(release):
        _sealed(release, name)
    return f"bytes of {name}"


def read_names(release):
    """Names of the files whose hashes the manifest has; none where it is no JSON any more."""
    try:
        return set(json.loads((release / "release.json").read_bytes())["files"])
    except (ValueError, KeyError, TypeError):
        return set()


def _sealed(release, name):
    """Make the hash of a file in the manifest that of the file, and the report the one of that manifest."""
    manifest = json.loads((release / "release.json").read_bytes())
    manifest["files"][name] = "sha256:" + hashlib.sha256((release / name).read_bytes()).hexdigest()
    (release / "release.json").write_bytes(json_bytes(manifest))
    report_rewritten(release)


def other_bytes(data, draw):
    """Bytes with one stretch changed, removed, repeated or put in."""
    start = draw.randrange(len(data) + 1)
    end = min(len(data), start + draw.choice((1, 1, 2, 8, 64)))
    new = draw.choice(
        (b"", bytes([draw.randrange(256)]), data[start:end] * 2, b" ", b"\n", b"9", b"x", draw.randbytes(8))
    )
    return data[:start] + new + data[end if draw.random() < 0.7 else start :]
