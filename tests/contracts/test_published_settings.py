"""Whoever adds a setting decides whether recipients learn of it, and uses it."""

from dataclasses import fields

import pytest

from cloister.settings.declaration import settings_of
from cloister.shapes.codes.options import CodesSettings
from cloister.shapes.disassociation.format.data import DisassociationRequest
from cloister.shapes.generalization.format.data import GeneralizationRequest
from cloister.shapes.registry import FORMS, SHAPES, load
from cloister.shapes.table.format.options import TableSettings
from cloister.shapes.table.method.data import TableRequest
from cloister.shapes.trajectories.format.data import TrajectoriesRequest
from cloister.shapes.trajectories.format.options import TrajectoriesSettings

FORMS_OF = {
    "table": ("table", "table_with_codes", "table_with_terms"),
    "codes": ("disassociation", "generalization"),
    "trajectories": ("trajectories",),
    "claims": ("claims",),
}
ELSEWHERE = {
    "method": "method",
    "seed": "seed",
    "qi": "columns",
    "sensitive": "columns",
    "keep": "columns",
    "drop": "not_released",
    "id": "columns or input_columns",
    "patient": "the rule k-patients",
    "rule": "rules",
    "weight": "weights",
    "levels": "search.levels",
    "merge_classes": "merge_bound",
    "codes": "codes or input_columns",
    "codes_method": "codes.method",
    "code": "input_columns",
    "age": "input_columns",
    "date": "input_columns",
    "anchor": "input_columns",
    "detail": "input_columns",
    "data": "source",
    "patients": "source",
    "table": "table.name",
    "purpose": "the settings that it stands for",
}
"""Settings that the manifest states under another key."""

READING = {
    "query", "missing", "encoding", "date_format", "decimal", "numbers", "dates", "bad_lines", "duplicates",
    "row_index", "missing_as", "separator", "visit",
}  # fmt: skip
"""How data are read: the custodian's report says what was changed, as it may say how many records had faults."""

OF_THE_RUN = {
    "out", "crosswalk", "overwrite", "custodian_dir", "unmatched_values", "attack", "threads", "engine", "store",
    "as_json", "quiet", "verbose", "levels_from", "accept", "accept_empty",
}  # fmt: skip
"""Where files are, and how the work is done: it changes nothing of the files, or warnings of the manifest state it."""


def published(shape):
    """The keys of the settings that manifests of a shape state."""
    found = set()
    for form in FORMS_OF[shape]:
        parts = [load(FORMS[form].manifest)]
        parts += [part.model_fields["codes"].annotation for part in parts if "codes" in part.model_fields]
        found |= {key for part in parts for key in part.model_fields["settings"].annotation.model_fields}
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_a_setting_is_published_or_says_why_not(shape):
    """Every setting is in the manifest under its name or another, or is one of reading or of the run."""
    stated, asked = published(shape), {one.word for one in settings_of(SHAPES[shape].options)}

    assert asked - stated - ELSEWHERE.keys() - READING - OF_THE_RUN == set()


def test_no_reason_is_about_a_setting_that_went():
    """Every word listed here is a setting, and has one reason."""
    every = {one.word for entry in SHAPES.values() for one in settings_of(entry.options)}
    reasons = (set(ELSEWHERE), READING, OF_THE_RUN)

    assert set.union(*reasons) <= every
    assert sum(map(len, reasons)) == len(set.union(*reasons))


READ_OR_LOOKED_UP = {
    TrajectoriesSettings: {
        "code", "age", "date", "anchor", "detail", "age_unit", "attributes", "ids", "sensitive", "sensitive_codes",
    },
    CodesSettings: {"codes", "code", "separator", "repeats", "attributes", "visit", "ids", "code_hierarchy"},
    TableSettings: set(),
}  # fmt: skip
"""Settings by which data are read, or from which a field of another name is made."""


@pytest.mark.parametrize(
    ("settings", "requests"),
    [
        (TrajectoriesSettings, [TrajectoriesRequest]),
        (CodesSettings, [DisassociationRequest, GeneralizationRequest]),
        (TableSettings, [TableRequest]),
    ],
)
def test_no_setting_is_accepted_and_ignored(settings, requests):
    """A setting is a field of the request that its method receives, or says here what else becomes of it."""
    received = {one.name for request in requests for one in fields(request)}

    assert {one.name for one in fields(settings)} - received == READ_OR_LOOKED_UP[settings]
