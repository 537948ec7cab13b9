"""Verification of a release folder of code sets, from its files only, and against the original if it is given."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError, setting
from cloister.io import as_text, sha256
from cloister.release.head import CLUSTERS, MANIFEST
from cloister.results import Verdict
from cloister.shapes.disassociation.format.clusters_file import cluster_lines, read_clusters
from cloister.shapes.disassociation.format.data import Disassociation
from cloister.shapes.disassociation.format.facts import DerivedChunks, method_failures, sets_are_possible
from cloister.shapes.disassociation.format.manifest import DisassociationManifest, DisassociationUtility, MethodSettings
from cloister.verification.codes_original import CodesOriginal, read_original
from cloister.verification.driver import Checker, ReleaseUnderCheck, Request

from .verify import DisassociationSecret, verify

CHECKED = "data.csv has as many records, and as often each code, as the clusters allow"
ReleaseFolder = ReleaseUnderCheck[DisassociationManifest, Disassociation, DisassociationSecret]


class DisassociationChecker(Checker[DisassociationManifest, Disassociation, DisassociationSecret]):
    """The checker of disassociated code sets."""

    def read_files(self, folder: Path, _manifest: DisassociationManifest) -> Disassociation:
        """Read the clusters."""
        return read_clusters(folder / CLUSTERS)

    def read_original(
        self, request: Request, manifest: DisassociationManifest, files: Disassociation
    ) -> DisassociationSecret | None:
        """Read the custodian's data."""
        if request.privacy is not None or request.policy is not None:
            raise InputError("Policies are for releases of generalized code sets. Leave them out.")
        original = read_original(request, manifest.settings)
        return None if original is None else _secret(original, files, manifest.settings.diversity or 1)

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Recompute the guarantee."""
        diversity = release.manifest.settings.diversity or 1
        verdict = verify(release.files, release.original, diversity, release.findings())
        return replace(verdict, checks=(*verdict.checks, CHECKED))

    def derive(self, release: ReleaseFolder) -> DerivedChunks:
        """Return the parts that follow from the clusters."""
        stated = release.manifest
        return DerivedChunks(release.files, stated.settings, stated.utility, stated.records.suppressed)

    def contradictions(self, release: ReleaseFolder) -> list[str]:
        """Check settings, utility and the form of the clusters against the clusters."""
        stated = release.manifest
        return chunk_failures(release.folder, release.files, stated.settings, stated.utility)

    def unmet_expectations(self, release: ReleaseFolder) -> list[str]:
        """Check the expectations of the recipient."""
        return expectation_failures(release.files, release.request)


def chunk_failures(
    folder: Path, released: Disassociation, settings: MethodSettings, utility: DisassociationUtility
) -> list[str]:
    """Return what clusters rule out of their settings and utility, and whether they are not in canonical form."""
    failures = method_failures(released, settings)
    failures += [] if sets_are_possible(utility, released) else [f"utility in {MANIFEST} is not possible"]
    return [*failures, *([] if is_as_written(folder, released) else [f"{CLUSTERS} is not written as a release is"])]


def is_as_written(folder: Path, released: Disassociation) -> bool:
    """Return whether the clusters of a folder are in canonical form."""
    found = hashlib.sha256()
    for line in cluster_lines(released):
        found.update(line)
    return found.hexdigest() == sha256(folder / CLUSTERS)


def expectation_failures(released: Disassociation, expectation: Request) -> list[str]:
    """Return which of the recipient's own k and m are not met."""
    k, m = expectation.k or released.k, expectation.m or released.m
    if k <= released.k and m <= released.m:
        return []
    verdict = verify(replace(released, k=k, m=m), None)
    return [f"as asked, with k = {k} and m = {m}: {failure}" for failure in verdict.failures]


def _secret(original: CodesOriginal, released: Disassociation, diversity: int) -> DisassociationSecret:
    """The original in the numbers of the release, and the cluster of each of its records."""
    codes, frame = original.given.codes, original.crosswalk
    if codes.vocabulary != released.vocabulary:
        raise InputError(
            "The original does not have the codes of the release. Read it as it was read for the release: texts "
            "that stood for a missing code are named with ",
            setting("missing"),
        )
    if frame is None:
        raise InputError("To compare code sets with the original, the crosswalk written with the release is needed.")
    if frame.columns != ["original", "cluster"]:
        raise InputError("The crosswalk does not have the columns original and cluster, as one of code sets has.")
    ids = as_text(original.given.original_ids())
    known = frame.with_columns(as_text(frame["original"]), as_text(frame["cluster"]).cast(pl.Int64, strict=False))
    joined = ids.to_frame("original").join(known, on="original", how="left", maintain_order="left")
    if joined.height != codes.n_records or joined["cluster"].null_count() or frame.height != codes.n_records:
        raise InputError("The crosswalk does not map each patient of the original to one cluster.")
    return DisassociationSecret(codes, joined["cluster"].to_numpy().astype(np.int32), diversity)
