"""Claims as a shape: the settings of a run, and its plan."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from cloister.errors import InputError, setting
from cloister.exploration.setting_keys import GRID, candidates
from cloister.io import Source
from cloister.jobs.job import FileSource, Job, Part
from cloister.jobs.job_file import hmac_sentence
from cloister.jobs.manifest import only_part
from cloister.release.manifest import parse_manifest
from cloister.report.promises import promise_claims
from cloister.settings.declaration import Keywords, check_settings
from cloister.settings.reading import how_read
from cloister.shapes.claims.format.data import Claims, claims_of
from cloister.shapes.claims.format.manifest import ClaimsManifest, rule_of
from cloister.shapes.claims.format.options import ClaimsOptions
from cloister.shapes.claims.format.plan import CHOSEN, HMAC, ClaimsPlan, change_plan, plan_of
from cloister.shapes.claims.format.released_columns import at_levels
from cloister.shapes.protocol import Run
from cloister.sources import read_claim_tables, read_claims, read_table

from .claims import ClaimsProtection
from .output_paths import release_at


@dataclass(frozen=True, kw_only=True)
class ClaimsWithPlan(ClaimsOptions):
    """The settings of claims whose plan is in a job or is changed by a grid; ``sources`` are those of a job."""

    stated: ClaimsPlan
    sources: tuple[FileSource, FileSource] | None = None


class ClaimsShape:
    """The shape of patients, one row each, with any number of claims."""

    usual_grid: Mapping[str, Sequence[str]] = MappingProxyType(
        {"adversary.power": ("2", "3", "5"), "risk.threshold": ("0.05", "0.1"), "risk.max_flag_rate": (CHOSEN, "0.05")}
    )
    reading: tuple[str, ...] = ()

    def check(self, options: ClaimsOptions) -> None:
        """Reject numbers that are out of the range of a setting."""
        check_settings(ClaimsOptions, vars(options))

    def read(self, options: ClaimsOptions) -> tuple[Source, Source]:
        """Read both files, after a check that the plan is readable."""
        _plan_of(options)
        if isinstance(options, ClaimsWithPlan) and options.sources is not None:
            of_patients, of_claims = (how_read(source) for source in options.sources)
            patients = read_table(options.patients, "patients", **of_patients)
            return patients, read_claims(options.claims, **of_claims)
        return read_claim_tables(options.patients, options.claims, **how_read(options))

    def prepare(self, options: ClaimsOptions, run: Run, read: tuple[Source, Source] | None = None) -> ClaimsProtection:
        """Join patients and claims as the plan states."""
        with run.watch.stage("read"):
            patients, claims = self.read(options) if read is None else read
            joined = claims_of(patients, claims, _plan_of(options))
        return prepare_claims(options, joined)

    def of_part(self, keywords: Keywords, part: Part, job: Job, path: Path) -> ClaimsWithPlan:
        """Return the settings of a part of a job; the plan is a file or a section of the job."""
        plan, file = part.keywords["plan"], path
        if isinstance(plan, str):
            file = Path(plan)
            stated = ClaimsPlan.read(file)
        else:
            number = [one is part for one in job.parts.values()].index(True) + 1
            stated = plan_of(plan, job.file, path.parent, (f"protect[{number}]", "plan"))
        if stated.ids.patients.startswith(HMAC):
            raise InputError(hmac_sentence(setting("ids.patients", section="")), file=file.name, place=file.name)
        patients, claims = (job.sources[part.sources[key]] for key in ("patients", "claims"))
        own = {key: value for key, value in keywords.items() if key not in ("engine", "seed")}
        return ClaimsWithPlan(
            **own,
            patients=patients.data(part.sources["patients"]),
            claims=claims.data(part.sources["claims"]),
            plan=file,
            seed=job.seed or None,  # else that of the plan
            sources=(patients, claims),
            stated=stated,
        )

    def parse_word(self, options: ClaimsOptions, key: str, word: object) -> object:
        """Return the value of a plan key that a word of a grid denotes."""
        problem = InputError(f"{key} has no such value.", place=GRID)
        for value in candidates(word):
            try:
                self.with_settings(options, {key: value})
            except InputError as error:
                problem = error
            else:
                return value
        raise problem

    def with_settings(self, options: ClaimsOptions, setting: Keywords) -> ClaimsOptions:
        """Return the settings with the given values in the plan."""
        plan = change_plan(_plan_of(options), setting, GRID, options.plan.resolve().parent)
        return ClaimsWithPlan(**vars(options) | {"stated": plan, "levels_from": None})

    def check_grid(self, options: ClaimsOptions, grid: Keywords) -> None:
        """Accept every grid: no key of a plan is also a setting."""


def _plan_of(options: ClaimsOptions) -> ClaimsPlan:
    plan = options.stated if isinstance(options, ClaimsWithPlan) else ClaimsPlan.read(options.plan)
    if options.levels_from is None:
        return plan
    earlier, name = parse_manifest(release_at(only_part(options.levels_from))), options.levels_from.name
    fixed = isinstance(earlier, ClaimsManifest) and at_levels(plan, earlier.columns, earlier.choice.truncation)
    if not fixed:
        raise InputError(f"The plan does not allow the columns, levels or truncation of the release {name}.")
    return fixed


def prepare_claims(options: ClaimsOptions, claims: Claims) -> ClaimsProtection:
    """Return joined patients and claims, with what front ends read of the request."""
    protection = ClaimsProtection(
        claims, seed=options.seed, threads=options.threads or os.cpu_count() or 1, accept_empty=options.accept_empty
    )
    protection.origin = {"patients": options.patients, "claims": options.claims, "plan": options.plan}
    protection.custodian_dir = options.custodian_dir
    protection.promise = promise_claims(rule_of(claims.plan), of_patients=bool(claims.plan.patients.qi))
    plan, asked = claims.plan, claims.plan.risk.max_flag_rate
    kept = (*plan.patients.columns("keep"), *plan.claims.columns("keep"))
    protection.summary = [
        ("patients", f"{claims.n_patients:,} with {claims.n_claims:,} claims"),
        ("quasi-identifiers", ", ".join((*plan.patients.qi, *plan.claims.qi))),
        ("released as recorded", ", ".join(kept) or "nothing"),
        ("rules", f"mean risk at most {plan.risk.threshold:g}, power {plan.adversary.power}"),
        (
            "suppression",
            f"{plan.suppression.treatment}, "
            + ("chosen with levels" if asked == CHOSEN else f"at most {asked} of the patients flagged"),
        ),
    ]
    return protection
