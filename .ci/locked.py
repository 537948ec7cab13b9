"""What an installation needs of the lock file: ``python .ci/locked.py ui,sql`` prints it for ``pip --requirement``.

Pip refuses a constraint file with hashes for a local package. It accepts pinned requirements with hashes, and fails if
one that it needs is not among them. The bill of materials of a wheel lists the same versions.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "cloister"
FOR_USERS = ("sql", "postgresql", "spark", "files", "analysis", "plot", "ui", "testing")
"""Extras that users install; the others are for development."""


class Locked(NamedTuple):
    """A package of the lock file, with the packages that need it and the lines that pin it."""

    name: str
    version: str
    parents: frozenset[str]
    lines: str


def read_lock(lock: Path = ROOT / "requirements-dev.lock") -> list[Locked]:
    """Return the packages of the lock file in its order."""
    found = []
    for block in re.split(r"^(?=[a-z0-9])", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, version = re.match(r"([a-z0-9.-]+)(?:\[[a-z0-9,-]+\])?==([^ \n]+)", block).groups()  # type: ignore[union-attr]
        parents = re.findall(r"^ +# +(?:via )?([a-z0-9.-]+)", block, re.MULTILINE)
        found.append(Locked(name, version, frozenset(parents), re.sub(r"^ +#.*\n", "", block, flags=re.MULTILINE)))
    return found


def direct_requirements(extras: Iterable[str], pyproject: Path = ROOT / "pyproject.toml") -> set[str]:
    """Return the names of the packages that cloister with these extras asks for itself."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    found, waiting = set(), [*project["dependencies"], *(f"{PROJECT}[{extra}]" for extra in extras)]
    while waiting:
        name, inside = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", waiting.pop()).groups()  # type: ignore[union-attr]
        if name != PROJECT:
            found.add(name)
            continue
        for extra in inside.split(","):
            waiting += project["optional-dependencies"][extra]
    return found


def needed(packages: Iterable[Locked], names: set[str]) -> list[Locked]:
    """Return the packages with these names and all that they need, in the order of the lock file."""
    packages, found, size = list(packages), set(names), 0
    while len(found) > size:
        size = len(found)
        found |= {one.name for one in packages if one.parents & found}
    return [one for one in packages if one.name in found]


def bill_of_materials(version: str) -> dict[str, Any]:
    """Return the bill of materials as CycloneDX: cloister, what its wheel contains of others, and its dependencies."""
    packages = read_lock()
    required = needed(packages, direct_requirements([]))
    found = [
        component(one.name, one.version, f"pypi/{one.name}") | {"scope": "required" if one in required else "optional"}
        for one in needed(packages, direct_requirements(FOR_USERS))
    ]
    # The wheel's only file by others that is a program.
    htmx = (ROOT / "src" / "cloister" / "web" / "static" / "htmx.min.js").read_bytes()
    number = re.search(rb'version:"([\d.]+)"', htmx)
    if number is None:
        raise ValueError("htmx.min.js does not state its version.")
    hashes = [{"alg": "SHA-256", "content": sha256(htmx).hexdigest()}]
    contained = component("htmx.org", number[1].decode(), "npm/htmx.org") | {"scope": "required", "hashes": hashes}
    contained["licenses"] = [{"license": {"id": "0BSD"}}]
    subject = component("cloister", version, "pypi/cloister") | {"licenses": [{"license": {"id": "Apache-2.0"}}]}
    subject["components"] = [contained]
    dependencies = [{"ref": subject["bom-ref"], "dependsOn": [one["bom-ref"] for one in [contained, *found]]}]
    content = {"metadata": {"component": subject}, "components": found, "dependencies": dependencies}
    serial = f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(content))}"  # the same sources give the same bytes
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "serialNumber": serial} | content


def component(name: str, version: str, place: str) -> dict[str, Any]:
    """Return a component of the bill of materials."""
    reference = f"pkg:{place}@{version}"
    return {"type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference}


if __name__ == "__main__":
    asked = [extra for extra in "".join(sys.argv[1:]).split(",") if extra]
    print("".join(one.lines for one in needed(read_lock(), direct_requirements(asked))), end="")
