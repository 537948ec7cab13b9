"""What the files of a release of trajectories say, counted from their text: for the manifest, and to verify it."""

from dataclasses import dataclass

import polars as pl

from cloister.hierarchy.ladder import ROOT

from .data import Diversity
from .data_file import AGE, CODE, ID, WrittenTrajectories
from .manifest import (
    AttributeColumn,
    DiversityRule,
    KAnonymityRule,
    PairCounts,
    Records,
    SideFile,
    TrajectoriesManifest,
    TrajectoriesSettings,
    TrajectoryRisk,
)

RISK_THRESHOLD = 0.2
"""Risk above which a patient counts as at high risk."""

Rules = tuple[KAnonymityRule] | tuple[KAnonymityRule, DiversityRule]


@dataclass(frozen=True)
class TrajectoriesFacts:
    """The parts of a manifest that follow from the released files and the settings."""

    side: SideFile | None
    records: Records
    rules: Rules
    counts: PairCounts
    risk: TrajectoryRisk

    def differing(self, manifest: TrajectoriesManifest) -> list[str]:
        """Return the parts of a manifest that say something else."""
        counts = PairCounts(**{name: getattr(manifest.utility, name) for name in PairCounts.model_fields})
        found = {
            "side": (self.side, manifest.side),
            "records": (self.records, manifest.records),
            "guarantee.rules": (self.rules, manifest.guarantee.rules),
            "utility": (self.counts, counts),
            "risk": (self.risk, manifest.risk),
        }
        return [part for part, (expected, told) in found.items() if expected != told]


def facts_of(files: WrittenTrajectories, settings: TrajectoriesSettings) -> TrajectoriesFacts:
    """Return what files say that were released under these settings."""
    sizes = files.frame.group_by(ID).agg(CODE, AGE).group_by(CODE, AGE).len()["len"].to_list()
    n_patients = sum(sizes)
    attributes = [] if files.side is None else files.side.columns[1:]
    return TrajectoriesFacts(
        side=SideFile(columns={name: AttributeColumn(role="side") for name in attributes}) if attributes else None,
        records=Records.model_validate({"in": n_patients, "released": n_patients, "suppressed": 0}),
        rules=rules_of(settings.k, settings.diversity_asked()),
        counts=_counts(files.frame, len(sizes)),
        risk=TrajectoryRisk(
            highest=1 / min(sizes),
            average=len(sizes) / n_patients,
            share_above_threshold=sum(size for size in sizes if 1 / size > RISK_THRESHOLD) / n_patients,
            threshold=RISK_THRESHOLD,
            smallest=min(sizes),
            largest=max(sizes),
        ),
    )


def rules_of(k: int, diversity: Diversity | None) -> Rules:
    """Return what is promised."""
    rule = KAnonymityRule(model="k-anonymity", k=k)
    if diversity is None:
        return (rule,)
    of = {"codes": tuple(sorted(diversity.codes))} if diversity.column is None else {"column": diversity.column}
    return rule, DiversityRule.model_validate({"model": "frequency l-diversity", "l": diversity.l, **of})


def _counts(frame: pl.DataFrame, n_trajectories: int) -> PairCounts:
    no_code, no_age = frame[CODE] == ROOT, frame[AGE] == ROOT
    alone = frame.select(pl.len().over(ID) == 1).to_series()
    return PairCounts(
        pairs=int((~(no_code & no_age)).sum()),
        codes_untold=int(no_code.sum()),
        ages_untold=int(no_age.sum()),
        patients_untold=int((no_code & no_age & alone).sum()),
        trajectories=n_trajectories,
    )
