"""A wheel that carries compiled kernels is for one platform; ``make wheel`` names their folder in CLOISTER_KERNELS.

Every wheel lists in ``.dist-info/sboms`` (PEP 770) what it contains of others and the versions that it was tested with.
"""

import json
import os
import platform
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import sys_tags


class Addresses(MetadataHookInterface):
    """Adds the addresses of the repository in which a workflow builds the package; elsewhere there are none."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them."""
        repository = os.environ.get("GITHUB_REPOSITORY")
        place = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}"
        ends = {"Source": "", "Issues": "/issues", "Changes": "/blob/main/CHANGELOG.md"}
        metadata["urls"] = {name: place + end for name, end in ends.items()} if repository else {}


class CarriedKernels(BuildHookInterface[Any]):
    """Puts compiled kernels beside their sources, and the platform and Python into the name of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the bill of materials, and kernels if there are any."""
        if folder := os.environ.get("CLOISTER_KERNELS"):
            if not list(Path(folder).glob("*.nbc")):
                raise FileNotFoundError(f"{folder} holds no compiled kernels.")
            has_glibc = platform.libc_ver()[0] == "glibc"
            build_data |= {"pure_python": False, "infer_tag": not has_glibc}
            if has_glibc:
                best = next(sys_tags())
                build_data["tag"] = f"{best.interpreter}-{best.abi}-manylinux_2_28_{platform.machine()}"
            build_data["force_include"][folder] = "cloister/kernels/compiled"
        if version != "editable":
            self.place = TemporaryDirectory()
            file = Path(self.place.name) / "cloister.cdx.json"
            locked = runpy.run_path(str(Path(self.root) / ".ci" / "locked.py"))
            file.write_text(json.dumps(locked["bill_of_materials"](self.metadata.version), indent=1), encoding="utf-8")
            build_data["sbom_files"].append(str(file))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Refuse a library in the wheel: ``manylinux_2_28`` is true because there is none.

        Numba's files contain object code, which LLVM links in the process that loads it.
        """
        if version == "editable":
            return
        self.place.cleanup()
        with ZipFile(artifact_path) as wheel:
            libraries = [name for name in wheel.namelist() if wheel.read(name)[:4] == b"\x7fELF"]
        if libraries:
            raise ValueError(f"{artifact_path} contains libraries: {', '.join(libraries)}.")
