"""The pipeline of every method: encode, protect, describe and verify. New readers start here."""

import os
import platform
from abc import abstractmethod
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Generic, TypeVar

from cloister.errors import InputError, InternalError, NoSafeRelease, TooLittleMemory, setting
from cloister.io.foreign import interruptible
from cloister.kernels.compiling import load
from cloister.release.derived import Derived
from cloister.release.head import MOST_LOST, SCHEMA
from cloister.release.manifest import AnyManifest, parse_manifest, with_parts
from cloister.release.release import Release
from cloister.results import Manifest, Stopwatch, Verdict
from cloister.shapes.protocol import Protection, Run
from cloister.version import __version__

from .output_paths import describe_origin

Encoded = TypeVar("Encoded")
Protected = TypeVar("Protected")


class StagedProtection(Protection, Generic[Encoded, Protected]):
    """The steps of a method, which `take_steps` takes in order: encode, protect, describe and verify."""

    doing: str | None = None  # what the user reads while the data are protected

    @abstractmethod
    def encode(self) -> Encoded:
        """Return the data as the method takes them; raise every error that can be found without protecting them."""

    @abstractmethod
    def protect(self, encoded: Encoded, run: Run) -> Protected:
        """Return the protected data; ``run`` shows the progress."""

    @abstractmethod
    def describe(self, encoded: Encoded, protected: Protected) -> Release:
        """Return the release, not verified yet: its files, its manifest, and what only the custodian may see."""

    def verify(self, release: Release) -> Verdict:
        """Return the verdict on the described release."""
        return release.recheck()

    def check(self) -> None:
        """Raise the errors of `encode`, and keep nothing."""
        self.encode()

    def list_unmatched(self) -> None:
        """Write what could not be encoded for the custodian, if that was requested."""

    def close(self) -> None:
        """Close what `encode` opened, whether or not the data were protected."""

    def take_steps(self, run: Run) -> Release:
        """Protect the data, and return the verified release."""
        watch, custody = run.watch, describe_origin(self.origin, self.custodian_dir)
        with watch.stage("start"):
            interruptible(partial(load, self.kernels))
        working = run.voice.working(self.doing) if self.doing else nullcontext()
        with closing(self):
            with watch.stage("encode"):
                encoded = self._encode()
            with watch.stage("protect"), working:
                protected = self.protect(encoded, run)
        with watch.stage("measure"):
            release = self.describe(encoded, protected)
        with watch.stage("verify"):
            require_verified(self.verify(release))
        known = replace(release.custody, figures={**release.custody.figures, **custody})
        return replace(release, manifest=with_parts(release.manifest, seconds=watch.table()), custody=known)

    def _encode(self) -> Encoded:
        try:
            return self.encode()
        except InputError:
            self.list_unmatched()
            raise


def protect(protection: Protection, run: Run | None = None) -> Release:
    """Protect data by their method, and return the verified release.

    *Guarantee*: that of the method. No release is returned that was not verified.
    """
    return protect_somewhere(protection, run or Run())[0]


def protect_somewhere(protection: Protection, run: Run) -> tuple[Release, Protection]:
    """Return the verified release and its protection: the same in memory if an engine had too little memory."""
    run.compiling(protection.kernels, protection.kernels_in_words)
    try:
        return protection.take_steps(run), protection
    except (TooLittleMemory, MemoryError):
        if not protection.may_be_in_memory:
            raise
    # After the error, whose traceback held all that the first attempt had made.
    return protect_somewhere(protection.read_into_memory(run), run)


def require_verified(verdict: Verdict) -> None:
    """Raise an error if the guarantee does not hold of our own output."""
    if not verdict.holds:
        raise InternalError(f"The release did not pass verification: {verdict.problem()}.")


def check_useful(loss: float, *, accept_empty: bool) -> None:
    """Reject a release that loses nearly all information, unless the user accepted this."""
    if loss > MOST_LOST and not accept_empty:
        raise NoSafeRelease(
            f"The release would be useless: it would lose {loss:.0%} of what the data say. Ask for a "
            "smaller k or a weaker adversary. To release all the same: ",
            setting("accept_empty"),
        )


def complete_manifest(
    particular: Manifest, derived: Derived, *, source: str, seed: int, written: tuple[str, str]
) -> AnyManifest:
    """Return the manifest of a release whose files are not written yet.

    ``particular``: what is particular to the release, but for what follows from its files
    ``written``: the format of its files, and their delimiter, which CSV states as some are never detected
    """
    own = {"delimiter": written[1]} if written[0] == "csv" else {}
    head = {
        "schema": SCHEMA,
        "cloister": __version__,
        "seed": seed,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            "system": platform.system(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "numba", "polars")},
        },
        "settings": {"source": source} | particular["settings"] | own,
        "seconds": Stopwatch().table(),
        "files": {},
    }
    return parse_manifest(derived.add_to(particular | head))
