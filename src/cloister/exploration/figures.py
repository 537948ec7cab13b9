"""From a manifest to the figures that compare releases: guarantee, risk and loss."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cloister.release.manifest import AnyManifest, rule_words, rules_of
from cloister.release.release import Release
from cloister.results import Figures as Exact
from cloister.shapes.registry import FORMS, load
from cloister.shapes.table.format.options import MDAV

if TYPE_CHECKING:
    from cloister.shapes.claims.format.manifest import ClaimsManifest
    from cloister.shapes.codes.manifest import CodesUtility
    from cloister.shapes.disassociation.format.manifest import DisassociationManifest
    from cloister.shapes.generalization.format.manifest import GeneralizationManifest
    from cloister.shapes.table.format.manifest import TableManifest
    from cloister.shapes.table_with_codes.format.data import AnyCodesSection, TableWithCodesManifest
    from cloister.shapes.table_with_codes.format.terms import TableWithTermsManifest
    from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest

SETS = ("constraints_satisfied", "constraints_preserved")
MEAN = "mean loss of the quasi-identifiers"
"""What tables are compared by, whatever loss was minimized."""
OF_AVERAGES = "mean distance of the quasi-identifiers from their averages"
"""The same of MDAV, which has no labels: the two are not ranked together."""
MEAN_OF_CLAIMS = "mean loss of the quasi-identifiers of patients and claims, by entropy"
"""What claims are compared by, whatever loss was minimized."""


@dataclass(frozen=True)
class Figures:
    """The guarantee, risk and information loss of a release."""

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
    average: float | None = None  # mean of that chance over the records; None if the manifest does not contain it
    loss: float | None = None  # in [0, 1], 0 nothing lost; None where the manifest withholds it
    measure: str = ""  # what ``loss`` is; losses of different measures cannot be compared
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
    figures: Figures = load(FORMS[manifest.form].figures)(head, manifest)
    return figures


def exact_figures_of(release: Release) -> Figures:
    """Return the custodian's figures: the exact loss, and for a table the exact number of suppressed records."""
    manifest = release.manifest
    published, exact = figures_of(manifest), FORMS[manifest.form].exact
    if exact is None:
        return published
    figures: Figures = load(exact)(published, release.custody.figures, manifest)
    return figures


def exact_of_table(published: Figures, exact: Exact, manifest: "TableManifest") -> Figures:
    """Return the exact figures of a table."""
    own = {"says_nothing": ", ".join(manifest.empty), **exact.get("usefulness", {}), "minimized": exact["loss"]}
    more = {**published.more, **own}
    return replace(published, suppressed=exact["suppressed"], loss=exact["mean_loss"], more=more)


def exact_of_table_with_codes(published: Figures, exact: Exact, _manifest: "TableManifest") -> Figures:
    """Return the exact figures of a table with codes: the mean of both losses."""
    share, table = exact["codes"]["share_in_item_chunks"], exact["mean_loss"]
    more = {**published.more, "loss_of_table": table, "codes_in_item_chunks": share}
    return replace(published, suppressed=exact["suppressed"], loss=(table + share) / 2, more=more)


def exact_of_table_with_terms(published: Figures, exact: Exact, _manifest: "TableManifest") -> Figures:
    """Return the exact figures of a table with generalized codes: the mean of both losses."""
    ncp, table = exact["codes"]["ncp"], exact["mean_loss"]
    more = {**published.more, "loss_of_table": table, "ncp": ncp}
    return replace(published, suppressed=exact["suppressed"], loss=(table + ncp) / 2, more=more)


def exact_of_chunks(published: Figures, exact: Exact, _manifest: "DisassociationManifest") -> Figures:
    """Return the exact figures of disassociated code sets; code sets on Spark have none."""
    share = exact.get("share_in_item_chunks", published.loss)
    return replace(published, loss=share, more={**published.more, "codes_in_item_chunks": share})


def exact_of_terms(published: Figures, exact: Exact, _manifest: "GeneralizationManifest") -> Figures:
    """Return the exact figures of generalized code sets."""
    return replace(published, loss=exact["ilm"], more={**published.more, "ilm": exact["ilm"], "ncp": exact["ncp"]})


def exact_of_trajectories(published: Figures, exact: Exact, _manifest: "TrajectoriesManifest") -> Figures:
    """Return the exact figures of trajectories."""
    losses = {name: exact[f"{name}_exact"] for name in ("ilm", "alm", "dlm") if name in published.more}
    return replace(published, loss=sum(losses.values()) / len(losses), more={**published.more, **losses})


def exact_of_claims(published: Figures, exact: Exact, _manifest: "ClaimsManifest") -> Figures:
    """Return the exact figures of claims, with the relaxations that would keep suppressed columns."""
    own = {"to_keep": " ".join(exact["to_keep"]), "minimized": exact["loss"]}
    return replace(published, loss=exact["mean_loss"], more={**published.more, **own})


def of_table(head: Figures, manifest: "TableManifest") -> Figures:
    """Return the figures of a table, without the loss of its codes."""
    risk, search = manifest.risk, manifest.search
    return replace(
        head,
        risk=risk.highest,
        average=risk.average,
        loss=manifest.mean_loss,
        measure=OF_AVERAGES if manifest.method == MDAV else MEAN,
        more={
            "classes": risk.classes,
            "search_proven": None if search is None else search.optimal,
            "minimized": manifest.utility.loss,
        },
    )


def of_table_with_codes(head: Figures, manifest: "TableWithCodesManifest") -> Figures:
    """Return the figures of a table with codes: the higher risk, and the mean of both losses."""
    codes = manifest.codes
    more = {**_of_policy(codes.utility), "codes_in_item_chunks": codes.lost}
    return _with_codes(of_table(head, manifest), codes, "share of codes told without their records", more)


def of_table_with_terms(head: Figures, manifest: "TableWithTermsManifest") -> Figures:
    """Return the figures of a table with generalized codes: the higher risk, and the mean of both losses."""
    codes = manifest.codes
    return _with_codes(of_table(head, manifest), codes, "certainty penalty of codes (ncp)", {"ncp": codes.lost})


def _with_codes(table: Figures, codes: "AnyCodesSection", measure: str, more: Mapping[str, object]) -> Figures:
    return replace(
        table,
        risk=max(table.risk or 0, 1 / codes.settings.k),
        loss=((table.loss or 0) + codes.lost) / 2,
        measure=f"half {table.measure}, half {measure}",
        more={**table.more, "loss_of_table": table.loss, **more},
    )


def of_chunks(head: Figures, manifest: "DisassociationManifest") -> Figures:
    """Return the figures of disassociated code sets."""
    loss, measure = manifest.utility.occurrences_in_item_chunks, "share of codes told without their records"
    return replace(
        head, loss=loss, measure=measure, more={"codes_in_item_chunks": loss, **_of_policy(manifest.utility)}
    )


def of_terms(head: Figures, manifest: "GeneralizationManifest") -> Figures:
    """Return the figures of generalized code sets."""
    lost = manifest.utility.ilm
    more = {"ilm": lost, **_of_policy(manifest.utility)}
    return replace(head, loss=lost, measure="information loss of codes (ilm)", more=more)


def _of_policy(utility: "CodesUtility") -> dict[str, object]:
    return {name: getattr(utility, name) for name in ("suppressed_codes", "average_relative_error", *SETS)}


def of_trajectories(head: Figures, manifest: "TrajectoriesManifest") -> Figures:
    """Return the figures of trajectories."""
    risk, utility = manifest.risk, manifest.utility
    return replace(
        head,
        risk=risk.highest,
        average=risk.average,
        loss=manifest.records.loss_of_all(sum(utility.exact) / len(utility.exact)),
        measure="mean loss of codes and of ages" + (", and of details" if len(utility.exact) > 2 else ""),
        more={**dict(zip(("ilm", "alm", "dlm"), utility.exact, strict=False)), "trajectories": utility.trajectories},
    )


def of_claims(head: Figures, manifest: "ClaimsManifest") -> Figures:
    """Return the figures of claims."""
    risk = manifest.risk
    return replace(
        head,
        risk=risk.interval[1],
        average=risk.mean,
        loss=manifest.mean_loss,
        measure=MEAN_OF_CLAIMS,
        more={
            "flag_rate": risk.flag_rate,
            "threshold": risk.threshold,
            "says_nothing": ", ".join(manifest.empty),
            "minimized": manifest.utility.loss,
        },
    )
