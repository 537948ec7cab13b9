"""The page on which a hierarchy is chosen for one column: by the form of a builder, with a preview of its levels."""

from starlette.responses import Response

from cloister.errors import CloisterError
from cloister.hierarchy.file_hierarchy import LevelPreview
from cloister.pipeline.tables import TableInMemory
from cloister.settings.declaration import Given

from .app import RequestContext, status_of
from .builder_forms import BUILDER_FORMS, BuilderForm, form_of_spec
from .data_pages import job_page, read_part, source_of
from .forms import bind_fields, fill_section, in_words
from .hierarchy_pages import PageColumn, column_of_page, preview_of, reduce_to, use_hierarchy

USUAL = "suppress"
"""The form of a column for which no other is suggested."""


def _proposed(visit: RequestContext, own: PageColumn) -> str:
    called, source, _ = source_of(visit.state.job, visit.part)
    return visit.app.data.propose(visit.state.path.parent, called, source, own.name)


def _usual(visit: RequestContext, own: PageColumn, form: BuilderForm) -> Given:
    """The settings of a form that nobody has filled: those of the job, as the data suggest, or usual ones."""
    for spec in (own.spec, _proposed(visit, own)):
        if (given := form.read(spec)) is not None:
            return given
    longest = max(map(len, _records_of(visit, own)), default=1)
    words = [usual.replace("LENGTH", str(longest)) for usual in form.usual]
    chosen = next((one for one in words if not preview_of(visit, own.name, one)[1]), "".join(words[:1]))
    return form.read(chosen) or {}


def _records_of(visit: RequestContext, own: PageColumn) -> dict[str, int]:
    """The records of each value of the column, whatever its hierarchy is; "" is missing."""
    reduced = visit.state.with_content(reduce_to(visit, own.name, USUAL))
    prepared = visit.app.data.prepared(reduced, visit.part)
    assert isinstance(prepared, TableInMemory)
    return dict(visit.app.data.counts(prepared.source.frame[own.name], read_part(visit).stamp))


def builder(visit: RequestContext) -> Response:
    """Show the form of a builder, filled with the settings of the column or with usual ones."""
    own = column_of_page(visit)
    named = [visit.say("form"), form_of_spec(own.spec), form_of_spec(_proposed(visit, own)), USUAL]
    name = next(one for one in named if one in BUILDER_FORMS)
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
