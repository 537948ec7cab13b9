"""A wheel that carries compiled kernels is for one platform; ``make wheel`` names their folder in CLOISTER_KERNELS."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CarriedKernels(BuildHookInterface[Any]):
    """Puts compiled kernels beside their sources, and the platform and Python into the name of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatchling names both)
        """Add them if there are any."""
        if folder := os.environ.get("CLOISTER_KERNELS"):
            if not list(Path(folder).glob("*.nbc")):
                raise FileNotFoundError(f"{folder} holds no compiled kernels.")
            build_data |= {"pure_python": False, "infer_tag": True}
            build_data["force_include"][folder] = "cloister/kernels/compiled"
