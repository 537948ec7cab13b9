"""One run of ``protect claims``: from options to a release folder and a summary."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from cloister.claims.data import Claims
from cloister.claims.encode import encode
from cloister.claims.options import ClaimsOptions
from cloister.claims.plan import ClaimsPlan
from cloister.claims.plan_sections import HMAC
from cloister.claims.prepare import prepare
from cloister.claims.protect import settings_of
from cloister.claims.release import ClaimsRelease
from cloister.claims.warm import load_kernels, must_compile
from cloister.cli.declared import check_threads
from cloister.cli.output import facts, grid, note
from cloister.cli.places import custody_of
from cloister.cli.prepared import Original, Prepared, Work, with_attack
from cloister.cli.progress import working
from cloister.errors import InputError
from cloister.flow.claims import protect_claims
from cloister.release import Release
from cloister.release_folder import REPORT
from cloister.results import Manifest
from cloister.stopwatch import Stopwatch


def check_claims_words(options: ClaimsOptions) -> None:
    """Refuse numbers that no option has."""
    if options.seed is not None and not 0 <= options.seed < 2**32:
        raise InputError(f"The seed is {options.seed}, but must be a whole number from 0 to below 2^32.")
    check_threads(options.threads)


def prepare_claims(
    options: ClaimsOptions, watch: Stopwatch, _engines: ExitStack | None, claims: Claims | None
) -> Prepared:
    """Return what is about to be done with patients and claims: those given, else those that are read."""
    if claims is None:
        with watch.stage("read"):
            claims = _read(options)
    return _prepared(options, claims, watch)


def _read(options: ClaimsOptions) -> Claims:
    return Claims.read(
        options.patients,
        options.claims,
        ClaimsPlan.read(options.plan),
        encoding=options.encoding,
        delimiter=options.delimiter,
        missing=options.missing,
    )


def _prepared(options: ClaimsOptions, claims: Claims, watch: Stopwatch) -> Prepared:
    quiet = options.quiet or options.as_json
    original = Original(claims)

    def protect() -> ClaimsRelease:
        if must_compile():
            note("Compiling the method for this machine, once (about 20 s).", quiet=quiet)
        with working(f"protecting {claims.n_patients:,} patients with {claims.n_claims:,} claims", quiet=quiet):
            release = protect_claims(
                claims,
                seed=options.seed,
                threads=options.threads or os.cpu_count() or 1,
                watch=watch,
                custody=_custody(options),
                load=load_kernels,
            )
        return with_attack(release, options, original)

    return Prepared(
        protect,
        lambda: _check(claims),
        lambda release, _: _notes(claims, release),
        _asked(claims),
        original,
        claims.plan.patient_columns("keep"),
    )


def _notes(claims: Claims, release: Release) -> list[str]:
    return notes_on(claims, release) if isinstance(release, ClaimsRelease) else []


def _check(claims: Claims) -> None:
    """Raise what protecting would raise before its search."""
    settings_of(claims.plan, threads=1)
    encode(prepare(claims).claims)


def _asked(claims: Claims) -> list[tuple[str, str]]:
    """What would be done, in words."""
    plan = claims.plan
    kept = (*plan.patient_columns("keep"), *plan.claim_columns("keep"))
    return [
        ("patients", f"{claims.n_patients:,} with {claims.n_claims:,} claims"),
        ("quasi-identifiers", ", ".join((*plan.patients.qi, *plan.claims.qi))),
        ("released as recorded", ", ".join(kept) or "nothing"),
        ("rules", f"mean risk at most {plan.risk.threshold:g}, power {plan.adversary.power}"),
        ("suppression", f"{plan.suppression.treatment}, at most {plan.risk.max_suppression:g} of the patients flagged"),
    ]


def _custody(options: ClaimsOptions) -> dict[str, object]:
    """What only the custodian may see of the three files."""
    files = {"patients": options.patients, "claims": options.claims, "plan": options.plan}
    return {name: found for name, path in files.items() if (found := custody_of(path, options.internal))}


def notes_on(claims: Claims, release: ClaimsRelease) -> list[str]:
    """Return what was taken for granted, and what a user should know."""
    notes, plan = list(claims.notes), claims.plan
    kept = [*plan.patient_columns("keep"), *plan.claim_columns("keep")]
    if kept:
        notes.append(
            f"the columns {', '.join(kept)} are released as they are: whoever knows a patient's values there may find "
            "the patient by them"
        )
    if plan.ids.patients.startswith(HMAC):
        notes.append("keyed ids link this release to others made with the same key, for whoever has both")
    used = release.manifest["choice"]["max_suppression"]
    if used != plan.risk.max_suppression:
        notes.append(
            f"max_suppression was lowered to {used:g}: of the levels chosen by the {plan.risk.max_suppression:g} that "
            "was asked, suppression did not bring the risk down"
        )
    return notes


def print_claims_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, at which measured risk, at which levels."""
    screen.print(facts("Release", _rows(manifest)))
    rows = [
        [name, table, f"{column['level']} of {column['top']}", column["hierarchy"]]
        for table in ("patients", "claims")
        for name, column in manifest["columns"][table].items()
        if "level" in column
    ]
    screen.print(grid("Quasi-identifiers", ["column", "file", "level", "hierarchy"], rows))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _likeliest(risk: Mapping[str, Any]) -> str:
    """What is said of who picks the likeliest of those who fit."""
    found = risk["likeliest"]
    low, high = found["interval"]
    above = ": ABOVE the threshold, not limited" if high > risk["threshold"] else ""
    return f"{found['mean']:.4f} for who picks the likeliest ({low:.4f} to {high:.4f}; {found['limit']}){above}"


def _rows(manifest: Manifest) -> list[tuple[str, str]]:
    records, risk, choice = manifest["records"], manifest["risk"], manifest["choice"]
    there = records["in"] if isinstance(records["in"], str) else f"{records['in']:,}"
    low, high = risk["interval"]
    return [
        ("source", f"{manifest['settings']['source']} and {manifest['settings']['claims']}"),
        ("patients", f"{records['released']:,} released (in the source: {there})"),
        ("claims", f"{records['claims']:,} released"),
        ("risk", f"{risk['mean']:.4f} in the mean ({low:.4f} to {high:.4f}; at most {risk['threshold']:g}; verified)"),
        ("flagged", f"{risk['flag_rate']:.4f} of attacks leave fewer than {risk['k']} candidates"),
        ("flags believed", f"{risk['tolerant']['highest']:.4f} at most ({risk['tolerant']['limit']})"),
        ("likeliest", _likeliest(risk)),
        ("truncation", f"{choice['truncation']} (percentile of claims)"),
        *([] if choice["optimal"] else [("search", "ended by its bound: the best levels found by then")]),
        ("loss", f"about {manifest['utility']['loss']:.2f} (0 nothing lost, 1 everything)"),
        ("time", f"{manifest['seconds']['total']:.2f} s"),
    ]


CLAIMS = Work(check_claims_words, _read, prepare_claims, print_claims_summary)
