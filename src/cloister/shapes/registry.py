"""The registry of data shapes and of their forms of release: everything particular to each, by name.

Adding a shape is a room of its own and its lines here. What a line names is ``module:name``, and is loaded when it is
first needed, so that verifying loads no search, and a help page no dataframes. Imports nothing of ours but types.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cloister.settings.run_options import RunOptions


def load(place: str) -> Any:
    """Import the object that ``module:name`` denotes."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class ShapeEntry:
    """A shape of data: its options record, its implementation, and the job keys of its sources."""

    settings: str
    work: str
    title: str  # such data, in words
    sources: tuple[str, ...] = ("source",)
    # options of `verify` and `attack` for releases of this shape, in addition to those for every release
    verified_by: tuple[str, ...] = ("crosswalk",)

    @cached_property
    def options(self) -> "type[RunOptions]":
        """The record of declared settings; its docstring is the help of the command."""
        found: type[RunOptions] = load(self.settings)
        return found


@dataclass(frozen=True)
class Form:
    """A form of release of a shape: the code that reads, checks, words and compares such a folder."""

    manifest: str  # the type of its manifest
    checker: str  # what verifies a folder of it; loads no search, no kernels and nothing that protects
    attack: str  # opens a folder and its original for simulated adversaries
    promise: str  # what is guaranteed and what is not, in sentences
    figures: str  # risk and losses by which releases are compared
    page: str  # the template of its report
    words: str  # the template of its words on the terminal and in README.txt
    exact: str | None = None  # the same figures for the custodian; None where there are no other
    script: str | None = None  # its promises as SQL, from its manifest
    answers: str | None = None  # what a recipient can ask of it, with bounds; None where that is nothing
    imputed: str | None = None  # what draws its complete tables; None where there are none


SHAPES: dict[str, ShapeEntry] = {
    "table": ShapeEntry(
        "cloister.shapes.table.format.options:TableOptions",
        "cloister.pipeline.table_shape:TableShape",
        "tables",
        verified_by=("qi", "hierarchies", "population"),
    ),
    "codes": ShapeEntry(
        "cloister.shapes.codes.options:CodesOptions",
        "cloister.pipeline.codes_shape:CodesShape",
        "code sets",
        verified_by=("m", "attributes", "crosswalk", "privacy", "policy", "visit"),
    ),
    "trajectories": ShapeEntry(
        "cloister.shapes.trajectories.format.options:TrajectoriesOptions",
        "cloister.pipeline.trajectories_shape:TrajectoriesShape",
        "trajectories",
        verified_by=("attributes", "crosswalk", "code_hierarchy", "age_hierarchy", "detail_hierarchy"),
    ),
    "claims": ShapeEntry(
        "cloister.shapes.claims.format.options:ClaimsOptions",
        "cloister.pipeline.claims_shape:ClaimsShape",
        "claims",
        sources=("patients", "claims"),
        verified_by=("claims", "plan", "crosswalk"),
    ),
}
"""The shapes, each a command ``protect`` and ``explore`` and a section of a job."""

FORMS: dict[str, Form] = {
    "table": Form(
        manifest="cloister.shapes.table.format.manifest:TableManifest",
        checker="cloister.shapes.table.verify.recheck:TableChecker",
        attack="cloister.attacks.table:open_table",
        promise="cloister.report.sentences:of_table",
        figures="cloister.exploration.figures:of_table",
        exact="cloister.exploration.figures:exact_of_table",
        page="report.html",
        words="table",
        script="cloister.shapes.table.verify.statements:script_of",
        answers="cloister.recipients.answers:of_table",
        imputed="cloister.recipients.imputation:of_table",
    ),
    "table_with_codes": Form(
        manifest="cloister.shapes.table_with_codes.format.data:TableWithCodesManifest",
        checker="cloister.shapes.table_with_codes.verify.verify:TableWithCodesChecker",
        attack="cloister.attacks.table:open_table_with_codes",
        promise="cloister.report.sentences:of_table_with_codes",
        figures="cloister.exploration.figures:of_table_with_codes",
        exact="cloister.exploration.figures:exact_of_table_with_codes",
        page="report.html",
        words="table",
        script="cloister.shapes.table_with_codes.verify.statements:script_of",
        answers="cloister.recipients.codes_in_table:of_table_with_codes",
        imputed="cloister.recipients.imputation:of_table",
    ),
    "table_with_terms": Form(
        manifest="cloister.shapes.table_with_codes.format.terms:TableWithTermsManifest",
        checker="cloister.shapes.table_with_codes.verify.recheck:TableWithTermsChecker",
        attack="cloister.attacks.table:open_table_with_terms",
        promise="cloister.report.sentences:of_table_with_codes",
        figures="cloister.exploration.figures:of_table_with_terms",
        exact="cloister.exploration.figures:exact_of_table_with_terms",
        page="report.html",
        words="table",
        script="cloister.shapes.table_with_codes.verify.statements:script_of_terms",
        answers="cloister.recipients.codes_in_table:of_table_with_terms",
        imputed="cloister.recipients.imputation:of_table",
    ),
    "disassociation": Form(
        manifest="cloister.shapes.disassociation.format.manifest:DisassociationManifest",
        checker="cloister.shapes.disassociation.verify.recheck:DisassociationChecker",
        attack="cloister.attacks.chunks:open_chunks",
        promise="cloister.report.promises:of_chunks",
        figures="cloister.exploration.figures:of_chunks",
        exact="cloister.exploration.figures:exact_of_chunks",
        page="codes.html",
        words="chunks",
        script="cloister.shapes.disassociation.verify.statements:script_of",
        answers="cloister.recipients.answers:of_chunks",
    ),
    "generalization": Form(
        manifest="cloister.shapes.generalization.format.manifest:GeneralizationManifest",
        checker="cloister.shapes.generalization.verify.recheck:GeneralizationChecker",
        attack="cloister.attacks.codes:open_codes",
        promise="cloister.report.promises:of_terms",
        figures="cloister.exploration.figures:of_terms",
        exact="cloister.exploration.figures:exact_of_terms",
        page="generalized_codes.html",
        words="terms",
        script="cloister.shapes.generalization.verify.statements:script_of",
        answers="cloister.recipients.answers:of_terms",
    ),
    "trajectories": Form(
        manifest="cloister.shapes.trajectories.format.manifest:TrajectoriesManifest",
        checker="cloister.shapes.trajectories.verify.recheck:TrajectoriesChecker",
        attack="cloister.attacks.trajectories:open_trajectories",
        promise="cloister.report.promises:of_trajectories",
        figures="cloister.exploration.figures:of_trajectories",
        exact="cloister.exploration.figures:exact_of_trajectories",
        page="trajectories.html",
        words="trajectories",
        script="cloister.shapes.trajectories.verify.statements:script_of",
        answers="cloister.recipients.answers:of_trajectories",
        imputed="cloister.recipients.imputed_events:of_trajectories",
    ),
    "claims": Form(
        manifest="cloister.shapes.claims.format.manifest:ClaimsManifest",
        checker="cloister.shapes.claims.verify.recheck:ClaimsChecker",
        attack="cloister.attacks.claims:open_claims",
        promise="cloister.report.promises:of_claims",
        figures="cloister.exploration.figures:of_claims",
        exact="cloister.exploration.figures:exact_of_claims",
        page="claims.html",
        words="claims",
        script="cloister.shapes.claims.verify.statements:script_of",
        imputed="cloister.recipients.imputed_events:of_claims",
    ),
}
"""The forms of release; which one a folder has, `cloister.release.manifest.form_of` says."""
