"""The page on which a hierarchy is chosen for one column: by the form of a builder, with a preview of its levels."""

import re
from collections.abc import Mapping
from pathlib import PurePath

from starlette.datastructures import UploadFile
from starlette.responses import Response

from cloister.errors import CloisterError, InputError
from cloister.hierarchy.file_hierarchy import LevelPreview, hierarchy_of_content, preview
from cloister.settings.declaration import Given

from .app import MOST_FILE_BYTES, TOO_LARGE, RequestContext, status_of
from .builder_forms import BUILDER_FORMS, BuilderForm, form_of_spec
from .data_pages import job_page, read_part, suggest_hierarchy
from .forms import bind_fields, fill_section, in_words
from .hierarchy_pages import (
    PageColumn,
    column_of_page,
    prepare_column,
    preview_of,
    reduce_to,
    use_hierarchy,
    write_hierarchy,
)

USUAL, FILE, ICD = "suppress", "file", "icd10"
"""The default form of a column, the form of files, and the codes that numbers are never mistaken for."""

STRANGE = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST_NAME = 60


def _usual(visit: RequestContext, own: PageColumn, form: BuilderForm) -> Given:
    """The settings of a form that nobody has filled: those of the job, as the data suggest, or usual ones."""
    for spec in (own.spec, suggest_hierarchy(visit, own.name)):
        if (given := form.read(spec)) is not None:
            return given
    longest = max(map(len, _records_of(visit, own)), default=1)
    words = [usual.replace("LENGTH", str(longest)) for usual in form.usual]
    chosen = next((one for one in words if not preview_of(visit, own.name, one)[1]), "".join(words[:1]))
    return form.read(chosen) or {}


def _records_of(visit: RequestContext, own: PageColumn) -> Mapping[str, int]:
    """The records of each value of the column, whatever its hierarchy is; "" is missing."""
    return prepare_column(visit, visit.state.with_content(reduce_to(visit, own.name, USUAL)), own.name)[1]


def builder(visit: RequestContext) -> Response:
    """Show the form of a builder, filled with the settings of the column or with usual ones."""
    own = column_of_page(visit)
    if visit.say("form") == FILE:
        return _show_file(visit, own)
    name = visit.say("form") if visit.say("form") in BUILDER_FORMS else ""
    name = name or form_of_spec(own.spec).replace(USUAL, "")
    if not name:  # what suits the values of a column that has nothing yet
        name = form_of_spec(suggest_hierarchy(visit, own.name)) or USUAL
        name = "icd" if name == USUAL and not preview_of(visit, own.name, ICD)[1] else name
    form = BUILDER_FORMS[name]
    given = _usual(visit, own, form)
    return _show(visit, own, name, given, *_preview(visit, own, form, given))


def _preview(
    visit: RequestContext, own: PageColumn, form: BuilderForm, given: Given
) -> tuple[str, tuple[LevelPreview, ...], str]:
    """The words of the builder, the levels of the column, and what is wrong with them; nothing of an empty form."""
    if form.fields and not given:
        return "", (), ""
    try:
        words = form.write(given)
    except CloisterError as error:
        return "", (), in_words(error)
    return words, *preview_of(visit, own.name, words)


def _show(
    visit: RequestContext, own: PageColumn, name: str, given: Given, words: str, levels: tuple[LevelPreview, ...],
    error: str, status: int = 200,
) -> Response:  # fmt: skip
    drawn: dict[str, object] = {"words": words, "levels": levels, "error": error, "values": bool(visit.say("values"))}
    if visit.is_partial:
        return visit.shown("builder_preview", status, **drawn)
    fields = bind_fields(BUILDER_FORMS[name].fields, given)
    return job_page(
        visit, "hierarchies_builder", status, problem="", own=own, forms=BUILDER_FORMS, name=name, fields=fields,
        columns=[one.name for one in read_part(visit).columns], **drawn,
    )  # fmt: skip


def change_builder(visit: RequestContext) -> Response:
    """Show the levels of a form as typed, or use them."""
    own, name = column_of_page(visit), visit.say("form") if visit.say("form") in BUILDER_FORMS else USUAL
    form = BUILDER_FORMS[name]
    given = fill_section(form.fields, {}, visit.form)
    words, levels, error = _preview(visit, own, form, given)
    if not visit.say("save") or error:
        return _show(visit, own, name, given, words, levels, error, 400 if visit.say("save") else 200)
    try:
        return use_hierarchy(visit, own, words, len(levels) - 1, has_bounds=form.has_bounds)
    except CloisterError as refused:
        return _show(visit, own, name, given, words, (), in_words(refused), status_of(refused))


def _show_file(visit: RequestContext, own: PageColumn, error: str = "", status: int = 200) -> Response:
    return job_page(
        visit, "hierarchies_builder", status, own=own, forms=BUILDER_FORMS, name=FILE, fields=(), error=error,
        values=False, columns=(), most=MOST_FILE_BYTES,
    )  # fmt: skip


def use_file(visit: RequestContext) -> Response:
    """Check a hierarchy file that a browser sent, copy it next to the job, and use it for the column."""
    own, sent = column_of_page(visit), visit.form.get(FILE)
    try:
        if visit.say(TOO_LARGE):
            raise InputError("The file is too large. Copy it into the folder of the job, and name it.")
        if not isinstance(sent, UploadFile) or not sent.filename:
            raise InputError("Choose a file.")
        content = sent.file.read()
        name = (
            STRANGE.sub("-", PurePath(sent.filename.replace("\\", "/")).stem).strip("-")[:LONGEST_NAME] or "hierarchy"
        )
        missing_as = visit.state.section(visit.part).get("missing_as")
        hierarchy = hierarchy_of_content(content, f"{name}.csv", None if missing_as is None else str(missing_as))
        records = {value or None: count for value, count in _records_of(visit, own).items()}
        levels = preview(hierarchy, records, own.name)
        return use_hierarchy(visit, own, write_hierarchy(visit, name, content), len(levels) - 1)
    except CloisterError as error:
        return _show_file(visit, own, in_words(error), status_of(error))
