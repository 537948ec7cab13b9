"""The example hospital as each of the systems with a profile would export it, written once a run."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.made import hospital_sources as made

from cloister.testing import Hospital, hospital


@dataclass(frozen=True)
class Written:
    """A hospital, and the path of its files by profile."""

    hospital: Hospital
    paths: dict[str, Path]

    def place(self, profile: str) -> str:
        """What names the files on the command line."""
        return f"{profile}:{self.paths[profile]}"


@pytest.fixture(scope="session")
def written(tmp_path_factory) -> Written:
    """A small hospital in all four forms."""
    folder, small = tmp_path_factory.mktemp("sources"), hospital(seed=3, n=250)
    paths = {
        "omop": made.write_tables(made.omop(small), folder / "cdm.zip"),
        "fhir": made.write_resources(made.fhir(small), folder / "bulk"),
        "synthea": made.write_tables(made.synthea(small), folder / "csv"),
        "synpuf": made.write_tables(made.synpuf(small), folder / "cms"),
    }
    return Written(small, paths)
