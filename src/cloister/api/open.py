"""Python interface for recipients: open a release, and export its table for another program."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import polars as pl

from cloister.errors import InputError, name_few, setting
from cloister.hierarchy import Hierarchy, parse_hierarchy
from cloister.io import Place, appearing
from cloister.io.columns import list_columns, nearest_column
from cloister.io.frames import to_pandas
from cloister.io.other_files import check_writable, write_other
from cloister.jobs.manifest import only_part, part_names
from cloister.privacy.rule import PrivacyRule
from cloister.release.folder import check_new, read_data, read_figures, read_manifest
from cloister.release.head import CODEBOOK, REPORT, Section
from cloister.release.manifest import AnyManifest, parse_manifest
from cloister.release.release import in_rows
from cloister.release.typed_tables import read_tables, with_bounds
from cloister.report import ReportPage, render_facts
from cloister.report.plots import plot_release
from cloister.report.sentences import use_sentences
from cloister.results import CountBounds, Figures
from cloister.settings.checking import check_arguments
from cloister.settings.constraints import HIERARCHIES, Interval, check_value
from cloister.settings.run_options import SEED
from cloister.shapes.codes.request import check_seed
from cloister.shapes.registry import FORMS, load
from cloister.verification.folder import verify_folder

if TYPE_CHECKING:
    import altair as alt

    from cloister.recipients.answers import Answers
    from cloister.recipients.codes_in_table import CodesInTable
    from cloister.recipients.replication import Replication
    from cloister.settings.analyses import Analysis
    from cloister.shapes.codes.data import CodeSets


@dataclass(frozen=True, repr=False)
class ReleaseFacts:
    """The facts that a release states, with types; ``suppressed`` may be ``<5``: at least one and fewer than five."""

    shape: str
    method: str
    k: int
    m: int | None
    rules: tuple[Section | PrivacyRule, ...]
    patients: int
    suppressed: int | str
    columns: tuple[str, ...]
    utility: Section
    risk: Section | None
    class_sizes: Figures  # how many share each class, in bands, as the report shows them
    summary: tuple[tuple[str, str], ...]  # in words

    def __repr__(self) -> str:
        """Return the facts in a few lines."""
        return "\n".join(f"{name:<10} {text}" for name, text in self._rows())

    def _repr_html_(self) -> str:
        """Return the facts with a chart of the class sizes, for a notebook."""
        return ReportPage(render_facts(self._rows(), self.class_sizes), "Facts of a release", "36rem").in_frame()

    def _rows(self) -> list[tuple[str, str]]:
        risk = self.risk.as_json() if self.risk is not None else {}
        risks = ", ".join(f"{name} {risk[name]:.3g}" for name in ("highest", "average") if name in risk)
        columns = ("columns", f"{len(self.columns)}: {name_few(self.columns)}")
        return [*self.summary, *([("risk", risks)] if risks else []), columns]


@dataclass(frozen=True, repr=False)
class ReleasedData:
    """A release as its recipient reads it; it answers questions without the original.

    Attributes
    ----------
    tables : by the name of each data file without its ending (``data``; of claims ``patients`` and ``claims``):
        numbers, booleans and days where all values of a column are released as recorded, else labels, in their order
        where they have one (a Polars ``Enum``, in pandas an ordered ``Categorical``); null is a missing value
    codebook : meaning, type, order and bounds of columns and labels, as text
    manifest : what ``release.json`` says
    folder : where it was read from
    hierarchies : by column, those that were given
    """

    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    codebook: pl.DataFrame = field(repr=False)
    manifest: AnyManifest = field(repr=False)
    folder: Path = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """Return a summary in four lines."""
        rows = [
            *in_rows(self.manifest),
            ("next", f"{', '.join(f'tables[{name!r}]' for name in self.tables)}, codebook, report(), plot()"),
        ]
        return "\n".join(f"{name:<10} {text}" for name, text in rows)

    def _repr_html_(self) -> str:
        """Return the report, for a notebook."""
        return self.report().in_frame()

    def report(self) -> ReportPage:
        """Return the report that came with the release."""
        return ReportPage((self.folder / REPORT).read_text(encoding="utf-8"))

    def plot(self) -> "alt.VConcatChart":
        """Return class sizes and the information loss of each column as a chart; needs ``cloister[plot]``."""
        return plot_release(self.manifest, read_figures(self.folder))

    @property
    def data(self) -> pl.DataFrame:
        """The table of the records; for claims, the table of claims."""
        return self.tables["claims" if self.manifest.form == "claims" else "data"]

    @property
    def guarantee(self) -> Section:
        """The guarantee of the release, with its type."""
        return self.manifest.guarantee

    @property
    def facts(self) -> ReleaseFacts:
        """The facts that the release states."""
        manifest, codes = self.manifest, getattr(self.manifest, "codes", None)
        rules = (*manifest.guarantee.rules, *(() if codes is None else codes.guarantee.rules))
        numbers = {name: [getattr(rule, name, None) for rule in rules] for name in ("k", "m")}
        return ReleaseFacts(
            shape=manifest.shape,
            method=manifest.method,
            k=max((k for k in numbers["k"] if k is not None), default=1),
            m=max((m for m in numbers["m"] if m is not None), default=None),
            rules=rules,
            patients=manifest.records.released,
            suppressed=manifest.records.suppressed,
            columns=tuple(column for table in self.tables.values() for column in table.columns),
            utility=manifest.utility,
            risk=getattr(manifest, "risk", None),
            class_sizes=read_figures(self.folder)["class_sizes"],
            summary=tuple(in_rows(manifest)),
        )

    def frame(
        self, kind: Literal["polars", "pandas", "arrow"] = "polars", table: str | None = None, *, bounds: bool = False
    ) -> Any:
        """Return a table as a dataframe of Polars, pandas or PyArrow, with types and order as in ``tables``.

        Parameters
        ----------
        table : its name in ``tables``; the data if None
        bounds : follow each column of labels of numbers or dates by ``COLUMN_lower`` and ``COLUMN_upper``, what the
            codebook states of each label: numbers or dates, null where a label is open or covers all values

        Raises
        ------
        InputError
            There is no such table or kind, its package is not installed, or a column already has such a name.
        """
        if table is not None and table not in self.tables:
            raise InputError(f"There is no table {table!r}. There are: {', '.join(self.tables)}.")
        name = table or next(name for name, own in self.tables.items() if own is self.data)
        found = self.tables[name]
        if kind not in ("polars", "pandas", "arrow"):
            raise InputError(f"A frame is of polars, pandas or arrow, not {kind!r}.")
        if bounds:
            found = with_bounds(found, self.codebook, f"{name}." if self.manifest.form == "claims" else "")
        needed = {"pandas": "pandas", "arrow": "pyarrow"}.get(kind)
        if needed is not None and find_spec(needed) is None:
            raise InputError(f"A frame of {kind} needs {needed}, which is not installed here: pip install {needed}.")
        if kind == "pandas":
            import pandas  # noqa: F401  (who asks for a frame of pandas has it, and may not have imported it)

            return to_pandas(found)
        return found if kind == "polars" else found.to_arrow()

    @cached_property
    def _answers(self) -> "Answers":
        from cloister.recipients.answers import answers_from  # loads a solver

        return answers_from(self.folder, self.manifest, self.codebook, self.hierarchies)

    def count(
        self, codes: Iterable[str], *, ages: object = None, where: Mapping[str, object] | None = None
    ) -> CountBounds:
        """Return bounds and an estimate of the number of original patients who have all of some codes.

        Parameters
        ----------
        codes : one or more; of trajectories each includes the codes below it in the hierarchy
        ages : of trajectories, the age at each code: a number, or both ends of a range, as ``(40, 44)``
        where : of a table with codes, conditions on its columns, as `answer` takes them

        Returns
        -------
        CountBounds
            No data set that could have led to this release has fewer or more. For disassociated codes, some such data
            set reaches each bound, and both are equal if all codes are in one chunk; likewise for generalized codes,
            unless codes repeat. The upper bound includes suppressed patients of a table and suppressed pairs of
            trajectories.
        """
        return self.answer({"codes": codes, **({} if ages is None else {"age": ages}), **(where or {})})

    def count_by(self, codes: Iterable[str], column: str) -> pl.DataFrame:
        """Return the bounds of `count` for each label of a column of a table with codes.

        The upper bounds include the patients who were omitted.

        Returns
        -------
        pl.DataFrame
            the label, ``lower``, ``expected``, ``upper``, one row a label
        """
        from cloister.recipients.answers import list_codes

        return self._codes_in_table.count_by(list_codes(codes), column)

    def count_by_code(
        self, outcome: Mapping[str, object], codes: Iterable[str | Sequence[str]] | None = None
    ) -> pl.DataFrame:
        """Return bounds for each code of a table with codes against an outcome, as in a phenome-wide association study.

        Parameters
        ----------
        outcome : conditions on columns of any role, as `answer` takes them: ``{"death": "1"}``. A patient who meets all
            has the outcome
        codes : one row each; of several codes in a list, patients with all of them. All codes of the release if None

        Returns
        -------
        pl.DataFrame
            One row a code, those whose odds ratio is surely above or below 1 first:

            * ``code``; codes of a list are separated by spaces
            * ``lower``, ``expected``, ``upper``: patients with code and outcome, as `count` bounds them
            * ``code_lower``, ``code_upper``: patients with the code
            * ``odds_ratio_lower``, ``odds_ratio_upper``: bounds of the odds ratio of code and outcome, without
              adjustment; 0 and infinity if nothing limits it

        Raises
        ------
        InputError
            The release is no table with codes, has no such column, or the outcome is empty or about codes.

        Notes
        -----
        *Guarantee*: that of the release, as the answer is computed from its files. The bounds hold for every data set
        that the release may stand for; suppressed patients may have any codes and any outcome. ``expected`` takes codes
        and outcome as independent inside each class, so it shows associations too weak. The bounds are no confidence
        intervals: they do not cover chance. *Cost*: seconds for 1,000 codes of 30,000 patients. Source:
        `cloister.recipients.codes_in_table`.

        Examples
        --------
        >>> import cloister as cl  # doctest: +SKIP
        >>> cl.open("out").count_by_code({"death": "1"})  # doctest: +SKIP
        """
        from cloister.recipients.answers import list_codes

        return self._codes_in_table.count_by_code(outcome, None if codes is None else [*map(list_codes, codes)])

    def answer(self, query: Mapping[str, object]) -> CountBounds:
        """Return bounds and an estimate of the number of original patients who meet named conditions.

        Parameters
        ----------
        query : of a table, conditions on released columns: a value (and all below it in the hierarchy), a list of
            values, or both ends of a range of numbers or days, as ``{"age": (40, 49), "sex": "F"}``. Of codes
            ``{"codes": ["401.9"]}``; of a table with codes with columns of its classes. Of trajectories codes with one
            ``"age"`` for all, or each with its own: ``{"pairs": [("401.9", (38, 40)), ("250", 45)]}``,
            with a detail ``("401.9", None, "surgery")``

        Returns
        -------
        CountBounds
            The bounds hold for every data set that the release may stand for. Between them, what a label may stand for
            is equally likely: values that exclude each other and leave nothing out add up to all released patients. The
            estimate is NaN where nothing says what a label covers: give ``hierarchies`` to `open`.
        """
        return self._answers.answer(query)

    def reconstruct(self, n: int = 1, seed: int = 0, item_support: str = "one") -> list["CodeSets"]:
        """Return ``n`` random data sets that are consistent with disassociated codes; see `pool`.

        Parameters
        ----------
        seed : of the first one; equal seeds give equal data sets
        item_support : to how many records a code of an item chunk goes: ``one``, ``below-k`` or ``any``
        """
        from cloister.recipients.answers import ChunkAnswers
        from cloister.recipients.codes_in_table import ClassChunkAnswers
        from cloister.shapes.disassociation.method.release import reconstruct

        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InputError(f"{n!r} reconstructions were asked for. Give a whole number from 1 on.")
        if not isinstance(self._answers, ChunkAnswers | ClassChunkAnswers):
            raise InputError(f"{self.folder.name} has no disassociated codes, and only these can be reconstructed.")
        released = self._answers.counts.released
        return [reconstruct(released, check_seed(seed) + number, item_support) for number in range(n)]

    def impute(self, n: int = 20, seed: int = 0, table: str | None = None) -> list[pl.DataFrame]:
        """Return ``n`` complete tables, each cell drawn inside its label; analyse each, and `pool` the results.

        Parameters
        ----------
        n : from 1 to 1000; 20 are enough for most intervals
        seed : equal seeds give equal tables, and the first ones do not depend on ``n``
        table : of claims ``patients`` or ``claims``; those of equal seed and place belong together. `data` if None

        Returns
        -------
        list[pl.DataFrame]
            Each with the rows and columns of the table: numbers as numbers, dates as dates, text as categories (Enum).
            Cells of single values, missing values and recorded columns are as released. Cells whose values nothing in
            the release limits are null. Groups of which it names no values stay labels: give ``hierarchies`` to `open`.
            Suppressed records, of which ``facts.suppressed`` is the number, are not in the tables.

            *Trajectories*: a code and an age for each released pair, the ages of a patient in their order. Labels of
            classifications with no finer label in the release are drawn among their categories. Suppressed pairs are
            not invented: rows of ``*`` alone are null.

            *Claims*: each released claim. Labels of numbers are drawn; groups of codes stay labels. Suppressed cells
            stay null, and claims that were removed are not invented: ``sup_*`` and ``claims_truncated`` are as
            released.

            *Codes* of a table are those of `reconstruct`, or terms as released.

        Raises
        ------
        InputError
            The release is of code sets, has no such table, or needs a hierarchy file; ``n`` or ``seed`` is out of
            range; the extra ``analysis`` is not installed.

        Notes
        -----
        *Guarantee*: that of the release. The tables are computed from its files and the seed alone, so that they reveal
        nothing that its labels do not. *Limits*: they are drawn, not recorded: never count or look up single patients
        in them. Relations that labels hide are not brought back. *Cost*: about 2 s a table of 12,000 x 10.
        Source: see `cloister.recipients.imputation` and `cloister.recipients.imputed_events`.

        Examples
        --------
        >>> import cloister as cl  # doctest: +SKIP
        >>> tables = cl.open("out").impute(n=20, seed=1)  # doctest: +SKIP
        """
        check_value("n", n, Interval(int, 1, 1000))
        check_value("seed", seed, SEED)
        place = FORMS[self.manifest.form].imputed
        if place is None:
            raise InputError(
                f"{self.folder.name} is a release of code sets, and these are not imputed. Draw complete data of "
                "disassociated codes with `reconstruct`, or `count` codes with bounds."
            )
        draws = load(place)(self.folder, self.manifest, self.codebook, self.hierarchies, self.tables)
        wanted = ("claims" if "claims" in draws else "data") if table is None else table
        if wanted not in draws:
            raise InputError(f"There is no table {wanted!r} to impute. There are: {', '.join(draws)}.")
        return [draws[wanted](seed, number) for number in range(n)]

    def replicate(
        self, original: object, analyses: "Sequence[Analysis | str]", n: int = 10, seed: int = 0
    ) -> "Replication":
        """Compare what researchers' analyses find in the original and in this release: for the custodian alone.

        Parameters
        ----------
        original : a dataframe of the original, with the columns of the release
        analyses : each as ``"logistic: died ~ age + sex"`` or an `Analysis`
        n : imputed tables, 2 to 1000
        seed : of the imputation

        Returns
        -------
        Replication
            Of the original, of the labels and of the imputed tables: estimates, intervals, and how they overlap.

        Raises
        ------
        InputError
            The release is no table, an analysis names a column that was not released, its formula is none, it cannot be
            fitted to the original, or the extra ``analysis`` is not installed.

        Notes
        -----
        Results of the original follow from unprotected records. Publish them only on purpose.

        Examples
        --------
        >>> found = cl.open("out").replicate(original, ["cox: Surv(days, died) ~ age + sex"])  # doctest: +SKIP
        """
        from cloister.recipients.replication import replicate_table
        from cloister.settings.analyses import Analysis

        wanted = [Analysis.parse(one) if isinstance(one, str) else one for one in analyses]
        return replicate_table(self._answers, self.manifest, self.data, original, wanted, n, seed)

    @property
    def _codes_in_table(self) -> "CodesInTable":
        from cloister.recipients.codes_in_table import CodesInTable

        if not isinstance(self._answers, CodesInTable):
            raise InputError(
                f"{self.folder.name} is a release of {self._answers.kind}, and codes are counted by the columns of a "
                "table with codes only. Count without a column."
            )
        return self._answers

    def risk_of_use(self) -> tuple[str, ...]:
        """Return the conclusions that a user must not draw from such a release, in sentences."""
        return tuple(use_sentences(self.manifest))


@check_arguments
def open(  # noqa: A001  (the public name)
    folder: str | Path,
    *,
    verify: bool = True,
    hierarchies: Annotated[Mapping[str, Hierarchy | str] | None, HIERARCHIES] = None,
    privacy: object = None,
    visit: str | None = None,
) -> ReleasedData:
    """Verify a release folder and return it, with columns in their types.

    Parameters
    ----------
    verify : check all that is promised first, as `verify_folder` does; the whole takes as long as that
    hierarchies : by column (of trajectories ``code``, ``age`` and ``detail``), those that came from files, or names of
        the files, to ask about values below their labels; they are not in a release
    privacy, visit : of generalized code sets, the privacy policy where the release does not have it, and the column of
        visits where that is a file of them; as of `verify_folder`

    Raises
    ------
    GuaranteeViolation
        The folder does not hold what it promises.
    InputError
        It promises to keep to a privacy policy that was not given.

    Examples
    --------
    >>> import cloister as cl  # doctest: +SKIP
    >>> cl.open("out").data.group_by("age").len()  # doctest: +SKIP
    """
    whole, folder = Path(folder), only_part(Path(folder))
    if verify:
        verdict = verify_folder(whole if privacy is None and visit is None else folder, privacy=privacy, visit=visit)
        # Facts that only the original confirms are accepted from the releaser; without the policy, nothing is checked.
        if why := dict(verdict.unchecked).get("privacy"):
            raise InputError(f"{folder.name} was not checked in full: {why}. Give it with ", setting("privacy"), ".")
    if parts := part_names(read_manifest(folder)):
        raise InputError(f"{folder.name} is of a job. Open one of its parts, as {folder.name}/{parts[0]}.")
    manifest = parse_manifest(read_manifest(folder))
    codebook, tables = read_tables(folder, manifest)
    columns = [*dict.fromkeys(column for table in tables.values() for column in table.columns)]
    for column in hierarchies or {}:
        if column not in columns:
            raise InputError(
                f"A hierarchy of {column!r} is given, and {folder.name} has no such column."
                f"{nearest_column(column, columns)} Its columns: {list_columns(columns)}.",
                column=column,
            )
    given = {name: parse_hierarchy(one) if isinstance(one, str) else one for name, one in (hierarchies or {}).items()}
    return ReleasedData(tables, codebook, manifest, folder, given)


def export(folder: str | Path, out: str | Path) -> dict[str, str]:
    """Verify a released table, and write it as a file of another program; equivalent to ``cloister export``.

    Parameters
    ----------
    folder : a release of a table, or a job with one such part
    out : ends in .xlsx, .dta or .sav, and must not exist

    Returns
    -------
    dict
        Columns whose name Stata or SPSS does not allow, and their name in the file; their label has their own.

    Raises
    ------
    InputError
        It is no release of a table, the extra ``files`` is not installed, or the file cannot hold a column.
    GuaranteeViolation
        The release does not hold.

    Notes
    -----
    *Guarantee*: that of the release, as the file holds its table and nothing else but the roles and labels of the
    codebook. It is read back and compared before it appears. The hashes of the manifest, which show that a
    file was not changed, stay in the folder. Equal releases give equal files.
    """
    whole, target = Path(folder).absolute(), Path(out)
    place = only_part(whole)
    manifest = parse_manifest(read_manifest(place))
    files = manifest.with_records
    if manifest.shape != "table" or len(files) != 1:
        raise InputError(f"{place.name} is no release of one table in a file, and no other can be exported.")
    check_new(target)
    frame = read_data(place / files[0], manifest.settings.delimiter)
    codebook = read_data(place / CODEBOOK, ",")
    check_writable(target)
    verify_folder(whole)
    listed = codebook.drop_nulls("label").sort(pl.col("order").cast(pl.Int64), "label", nulls_last=True)
    labels = dict(listed.group_by("column", maintain_order=True).agg("label").iter_rows())
    role = pl.concat_str("role", "hierarchy", separator=", ", ignore_nulls=True)
    roles = dict(codebook.select("column", role).unique(maintain_order=True).iter_rows())
    with appearing(Place(target, is_file=True)) as (partial,):
        return write_other(frame, partial, labels, roles)
