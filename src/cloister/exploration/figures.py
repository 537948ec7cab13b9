"""A manifest -> the figures by which releases are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cloister.manifests import AnyManifest, codes_of, rule_words, rules_of, typed
from cloister.release import Release

if TYPE_CHECKING:
    from cloister.claims.manifest import ClaimsManifest
    from cloister.codesets.manifest import CodesUtility
    from cloister.table_with_codes.data import CodesSection
    from cloister.tabular.manifest import TableManifest
    from cloister.trajectories.manifest import TrajectoriesManifest

SETS = ("constraints_satisfied", "constraints_preserved")
PLAIN = "mean loss of the quasi-identifiers"
"""What tables are compared by where the losses that were minimized are not the same."""


@dataclass(frozen=True)
class Figures:
    """What a release promises, risks and loses."""

    shape: str
    method: str
    guarantee: str
    # the largest k, m and power that the rules name, 0 where none does: the greater the better
    promise: tuple[float, ...]
    verified: bool
    # released, suppressed: records; text where the manifest withholds a small count
    released: int | str
    suppressed: int | str
    # highest chance that a record is re-identified, in [0, 1]; of claims the upper end of the interval of the mean
    # chance; of codes what the rule promises, 1 / k
    risk: float | None
    average: float | None = None  # mean of that chance over the records; None where the manifest does not tell it
    loss: float | None = None  # in [0, 1], 0 nothing lost; None where the manifest withholds it
    measure: str = ""  # what ``loss`` is; losses of different measures cannot be compared
    # the same for a table by one measure whatever loss was minimized; None for other shapes
    plain_loss: float | None = None
    more: Mapping[str, object] = field(default_factory=dict)


def figures_of(manifest: AnyManifest) -> Figures:
    """Return the figures of a release from its manifest."""
    rules = rules_of(manifest)
    head = Figures(
        shape=manifest.shape,
        method=str(manifest.method),
        guarantee="; ".join(map(rule_words, rules)),
        promise=tuple(max(float(rule.get(name) or 0) for rule in rules) for name in ("k", "m", "power")),
        verified=manifest.guarantee.verified,
        released=manifest.records.released,
        suppressed=manifest.records.suppressed,
        risk=1 / min((rule["k"] for rule in rules if "k" in rule), default=1),
    )
    if manifest.form == "trajectories":
        return _trajectories(head, manifest)
    if manifest.form == "claims":
        return _claims(head, manifest)
    if manifest.form == "disassociation":
        loss, measure = manifest.utility.occurrences_in_item_chunks, "share of codes told without their records"
        more = {"codes_in_item_chunks": loss, **_of_policy(manifest.utility)}
        return replace(head, loss=loss, measure=measure, more=more)
    if manifest.form == "generalization":
        lost = manifest.utility.ilm
        more = {"ilm": lost, **_of_policy(manifest.utility)}
        return replace(head, loss=lost, measure="information loss of codes (ilm)", more=more)
    table, codes = _table(head, manifest), codes_of(manifest)
    return table if codes is None else _with_codes(table, codes)


def exact_figures_of(release: Release) -> Figures:
    """Return the figures of a release for its custodian: the exact loss, and of a table how many are suppressed."""
    manifest, exact = typed(release.summary()), release.custody.figures
    told = figures_of(manifest)
    if manifest.form == "disassociation" and "share_in_item_chunks" in exact:
        share = exact["share_in_item_chunks"]
        return replace(told, loss=share, more={**told.more, "codes_in_item_chunks": share})
    if manifest.form == "generalization":
        return replace(told, loss=exact["ilm"], more={**told.more, **{name: exact[name] for name in ("ilm", "ncp")}})
    if manifest.form == "trajectories":
        losses = {name: exact[f"{name}_exact"] for name in ("ilm", "alm")}
        return replace(told, loss=sum(losses.values()) / 2, more={**told.more, **losses})
    if manifest.form == "table_with_codes":
        share, table = exact["codes"]["share_in_item_chunks"], exact["loss"]
        more = {**told.more, "loss_of_table": table, "codes_in_item_chunks": share}
        return replace(told, suppressed=exact["suppressed"], loss=(table + share) / 2, more=more)
    if manifest.form != "table":
        return told
    more = {**told.more, "says_nothing": ", ".join(manifest.empty), **exact.get("usefulness", {})}
    return replace(told, suppressed=exact["suppressed"], loss=exact["loss"], more=more)


def _weighted(measure: str, weights: Mapping[str, float]) -> str:
    """What is minimized, and how much each column counts in it."""
    words = ", ".join(f"{name} {weight:g}" for name, weight in sorted(weights.items()))
    return f"{measure}, weights {words}" if words else measure


def _table(head: Figures, manifest: "TableManifest") -> Figures:
    risk, utility, settings, search = manifest.risk, manifest.utility, manifest.settings, manifest.search
    return replace(
        head,
        risk=risk.highest,
        average=risk.average,
        loss=utility.loss,
        measure=_weighted(f"loss {settings.loss}", settings.weights),
        plain_loss=sum(column.loss for column in utility.columns.values()) / len(utility.columns),
        more={"classes": risk.classes, "search_proven": None if search is None else search.optimal},
    )


def _with_codes(table: Figures, codes: "CodesSection") -> Figures:
    """A table with codes: the worse risk, and both losses by half."""
    untold = codes.utility.occurrences_in_item_chunks
    more = {"loss_of_table": table.loss, **_of_policy(codes.utility), "codes_in_item_chunks": untold}
    return replace(
        table,
        risk=max(table.risk or 0, 1 / codes.settings.k),
        loss=((table.loss or 0) + untold) / 2,
        measure=f"half {table.measure}, half share of codes told without their records",
        plain_loss=((table.plain_loss or 0) + untold) / 2,
        more={**table.more, **more},
    )


def _of_policy(utility: "CodesUtility") -> dict[str, object]:
    return {name: getattr(utility, name) for name in ("suppressed_codes", "are", *SETS)}


def _trajectories(head: Figures, manifest: "TrajectoriesManifest") -> Figures:
    risk, utility = manifest.risk, manifest.utility
    return replace(
        head,
        risk=risk.highest,
        average=risk.average,
        loss=(utility.ilm_exact + utility.alm_exact) / 2,
        measure="mean loss of codes and of ages",
        more={"ilm": utility.ilm_exact, "alm": utility.alm_exact, "trajectories": utility.trajectories},
    )


def _claims(head: Figures, manifest: "ClaimsManifest") -> Figures:
    risk = manifest.risk
    return replace(
        head,
        risk=risk.interval[1],
        average=risk.mean,
        loss=manifest.utility.loss,
        measure=_weighted("loss of claims", manifest.settings.plan.weights),
        more={"flag_rate": risk.flag_rate, "threshold": risk.threshold},
    )
