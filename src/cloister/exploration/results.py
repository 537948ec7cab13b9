"""Results of an exploration: the outcome of each setting, their summary, and a file of them that can be resumed."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from cloister.errors import InputError, Message, NoSafeRelease, setting
from cloister.io import is_taken, write_private
from cloister.io.write import cannot_write
from cloister.report import ReportPage, render_exploration
from cloister.report.chart import Parallel, Placed, Scatter, parallel, scatter, with_areas
from cloister.report.plots import plot_trade_off
from cloister.results import Figures as Content
from cloister.settings.constraints import Interval, OneOf, check_value
from cloister.version import __version__

from .figures import Figures

if TYPE_CHECKING:
    import altair as alt

SAME = 1e-12
"""Distances that differ by no more are equal; then the setting with the lower risk is recommended."""

Rule = Literal["knee", "best-utility"]
ANALYSES = {"says nothing": "says_nothing", "age x sex": "by_age_and_sex", "AUC": "auc"}
RULES: tuple[Rule, ...] = ("knee", "best-utility")

RISK_LIMIT = Interval(float, 0, 1, closed="right")


def rule_named(word: str, risk_limit: float | None) -> Rule:
    """Return the rule with this name, after checking it."""
    check_value("recommend", word, OneOf(*RULES))
    if risk_limit is not None:
        check_value("risk_limit", risk_limit, RISK_LIMIT)
    rule = next(rule for rule in RULES if rule == word)
    if rule == "best-utility" and risk_limit is None:
        raise InputError("The rule best-utility needs a risk limit, for example 0.09.")
    return rule


@dataclass(frozen=True)
class Point:
    """A setting that has a safe release."""

    place: int  # which of the settings, from 0
    risk: float
    loss: float
    # numbers of the guarantee, better if greater; it decides between points that are alike
    promise: tuple[float, ...] = ()


@dataclass(frozen=True)
class Recommendation:
    """The recommendation of a rule: the place of its setting, None without one, and the reason, in a sentence."""

    rule: Rule
    place: int | None
    why: str


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the Pareto-optimal points: no other point has lower risk or loss without a higher value of the other.

    In order of risk; points that are alike are all there, the one that promises most first.
    """
    found: list[Point] = []
    lowest = float("inf")
    for point in sorted(
        points, key=lambda one: (one.risk, one.loss, tuple(-number for number in one.promise), one.place)
    ):
        alike = bool(found) and (found[-1].risk, found[-1].loss) == (point.risk, point.loss)
        if point.loss < lowest or alike:
            found.append(point)
            lowest = point.loss
    return tuple(found)


def recommend(points: Sequence[Point], rule: Rule, risk_limit: float | None) -> Recommendation:
    """Return the setting that a rule recommends."""
    allowed = [point for point in points if risk_limit is None or point.risk <= risk_limit]
    if not allowed:
        why = "no setting has a risk within the limit" if points else "no setting can be compared"
        return Recommendation(rule, None, why)
    within = "" if risk_limit is None else f" of those with a risk of at most {risk_limit:g}"
    best = frontier(allowed)
    if rule == "best-utility":
        least = min(best, key=lambda point: point.loss)
        return Recommendation(rule, least.place, f"lowest loss{within}")
    knee = _knee(best)
    if len(best) == 1:
        return Recommendation(rule, best[0].place, f"lowest risk and lowest loss{within}")
    if knee is None:
        return Recommendation(rule, best[0].place, f"lowest risk{within}; no setting offers a better trade-off")
    return Recommendation(rule, knee.place, f"best trade-off between risk and information loss{within}")


def _knee(best: Sequence[Point]) -> Point | None:
    """Return the point of a frontier that is furthest below the line between its ends; None if no point is below it."""
    first, last = best[0], best[-1]
    wide, high = last.risk - first.risk, first.loss - last.loss
    if wide <= 0 or high <= 0:
        return None
    found, furthest = None, SAME
    for point in best:
        # the line goes from (0, 1) to (1, 0); what is lost of 1 on both axes is the distance, times the root of 2
        below = 1 - (point.risk - first.risk) / wide - (point.loss - last.loss) / high
        if below > furthest + SAME:
            found, furthest = point, below
    return found


Setting = Mapping[str, object]
"""Values by key; may be written as JSON."""


def word_of(value: object) -> str:
    """Return a value of a setting as a user would type it; values of columns are separated by spaces."""
    if isinstance(value, list):
        return ",".join(map(word_of, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{column}={word_of(one)}" for column, one in value.items())
    word = getattr(value, "spec", value)  # of a hierarchy
    return word if isinstance(word, str) else json.dumps(word, default=lambda one: type(one).__name__)


def in_words(setting: Setting) -> str:
    """Return a setting as a user would type it."""
    return " ".join(f"{key}={word_of(value)}" for key, value in setting.items())


@dataclass(frozen=True)
class Outcome:
    """The outcome of one setting."""

    setting: Setting
    figures: Figures | None  # of the release; None where there is no safe one
    reason: str | None  # why there is none; None where there is one
    seconds: float

    def as_record(self) -> Content:
        """Return the outcome as an object of JSON."""
        return asdict(self)


def outcome_from_record(record: Content) -> Outcome:
    """Parse an outcome from a JSON object."""
    figures = None if record["figures"] is None else figures_of_record(record["figures"])
    return Outcome(dict(record["setting"]), figures, record["reason"], float(record["seconds"]))


def figures_of_record(record: Content) -> Figures:
    """Parse figures from a JSON object."""
    return Figures(**(record | {"promise": tuple(record["promise"])}))


def outcome_of(setting: Setting, attempt: Callable[[], Figures]) -> Outcome:
    """Protect, verify and measure under a setting, or record why no safe release exists."""
    started = time.perf_counter()
    figures, reason = None, None
    try:
        figures = attempt()
    except NoSafeRelease as error:
        reason = error.message
    return Outcome(setting, figures, reason, round(time.perf_counter() - started, 3))


@dataclass(frozen=True, repr=False)
class Exploration:
    """All settings of a grid with their risk and loss, and the recommended setting.

    Attributes
    ----------
    losses : what each is compared by; None where there is no release, or losses cannot be compared
    """

    outcomes: tuple[Outcome, ...]
    losses: tuple[float | None, ...]
    measure: str | None
    on_frontier: frozenset[int]
    recommendation: Recommendation

    def __repr__(self) -> str:
        """Return what was found in five lines."""
        points, recommended = points_of([one.figures for one in self.outcomes], self.losses), self.recommended
        why, best = self.recommendation.why, f"{len(self.on_frontier)} on the frontier"
        ranges = {
            name: " to ".join(f"{end(values):.3g}" for end in (min, max)) if values else "not known"
            for name, values in (("risk", [one.risk for one in points]), ("loss", [one.loss for one in points]))
        }
        rows = [
            ("exploration", f"{len(self.outcomes)} settings, {self.safe} with a safe release, {best}"),
            ("recommended", f"{in_words(recommended.setting)}: {why}" if recommended is not None else f"none: {why}"),
            ("risk", ranges["risk"]),
            ("loss", f"{ranges['loss']} ({self.measure})" if self.measure else ranges["loss"]),
            ("next", "outcomes, recommended, plot(); confidential"),
        ]
        return "\n".join(f"{name:<12} {text}" for name, text in rows)

    def _repr_html_(self) -> str:
        """Return the page of the exploration with its frontier, for a notebook."""
        return ReportPage(exploration_page(self), "Exploration", "60rem").in_frame()

    def plot(self) -> "alt.LayerChart":
        """Return risk against information loss of the settings as a chart; needs ``cloister[plot]``."""
        words = [in_words(one.setting) for one in self.outcomes]
        rows = [replace(row, label=words[int(row.label) - 1]) for row in select_compared(self.as_record())]
        return plot_trade_off(rows, self.measure)

    @property
    def safe(self) -> int:
        """The number of settings with a safe release."""
        return sum(one.figures is not None for one in self.outcomes)

    @property
    def known_of_analyses(self) -> dict[str, str]:
        """The names of figures about remaining analyses, by their titles."""
        there = [one.figures.more for one in self.outcomes if one.figures is not None]
        return {head: name for head, name in ANALYSES.items() if any(figures.get(name) for figures in there)}

    @property
    def recommended(self) -> Outcome | None:
        """The recommended setting; None if there is none."""
        place = self.recommendation.place
        return None if place is None else self.outcomes[place]

    def as_record(self) -> Content:
        """Return the exploration as a JSON object."""
        settings = [
            {"number": place + 1, **one.as_record(), "compared_by": loss, "on_frontier": place in self.on_frontier}
            for place, (one, loss) in enumerate(zip(self.outcomes, self.losses, strict=True))
        ]
        place = self.recommendation.place
        return {
            "settings": settings,
            "measure": self.measure,
            "recommendation": {
                "rule": self.recommendation.rule,
                "number": None if place is None else place + 1,
                "why": self.recommendation.why,
            },
        }


RISK_AND_LOSS = "highest risk", "loss"
FIGURES_SHOWN = ("guarantee", "risk", "released", "suppressed")


def exploration_page(exploration: Exploration, source: str = "") -> str:
    """Return the report page of an exploration; ``source`` is the name of the data."""
    facts = exploration.as_record()
    words = [{key: word_of(value) for key, value in one.setting.items()} for one in exploration.outcomes]
    return render_exploration(
        {**facts, "source": source, "words": words, "pictures": pictures(facts), "more": exploration.known_of_analyses}
    )


def select_compared(facts: Content) -> list[Placed]:
    """Return the settings of an exploration's record that have both a risk and a loss, by number."""
    recommended = facts["recommendation"]["number"]
    return [
        Placed(
            str(row["number"]),
            row["figures"]["risk"],
            row["compared_by"],
            row["on_frontier"],
            row["number"] == recommended,
            in_words(row["setting"]),
        )
        for row in facts["settings"]
        if row["figures"] and row["figures"]["risk"] is not None and row["compared_by"] is not None
    ]


def pictures(facts: Content) -> dict[str, Scatter | Parallel]:
    """Return the pictures of an exploration by title, from its record; settings without a figure are omitted.

    Risk against loss; where settings differ in k, how many records each keeps; where they differ in several values,
    all of these.
    """
    compared, recommended = select_compared(facts), facts["recommendation"]["number"]
    kept = [
        Placed(
            str(row["number"]),
            row["setting"]["k"],
            row["figures"]["released"],
            False,
            row["number"] == recommended,
            in_words(row["setting"]),
        )
        for row in facts["settings"]
        if row["figures"] and "k" in row["setting"] and isinstance(row["figures"]["released"], int)
    ]
    shown: dict[str, Scatter | Parallel] = {}
    if compared:
        shown["Risk against loss; lower is better in both"] = scatter(compared, *RISK_AND_LOSS)
    if len({one.across for one in kept}) > 1:
        shown["Records kept, by k"] = with_areas(scatter(kept, "k", "records released", is_named=False))
    by_number = {str(row["number"]): flat_setting(row["setting"]) for row in facts["settings"]}
    names = list(dict.fromkeys(name for one in compared for name in by_number[one.label]))
    lines = parallel([(one, [by_number[one.label].get(name, "-") for name in names]) for one in compared], names)
    return shown if lines is None else {**shown, "Settings side by side": lines}


def flat_setting(setting: Setting) -> dict[str, str]:
    """Return the values of a setting as words; each column of a value by column has its own, as ``levels.age``."""
    found: dict[str, str] = {}
    for key, value in setting.items():
        if isinstance(value, Mapping):
            found |= {f"{key}.{column}": word_of(one) for column, one in value.items()}
        else:
            found[key] = word_of(value)
    return found


def settings_as_rows(facts: Content) -> list[list[object]]:
    """Return what the pictures of an exploration show, as rows of a table under their names."""
    flat = [flat_setting(row["setting"]) for row in facts["settings"]]
    names, recommended = list(dict.fromkeys(name for one in flat for name in one)), facts["recommendation"]["number"]
    rows: list[list[object]] = [["setting", *names, *FIGURES_SHOWN, "loss", "on_frontier", "recommended"]]
    for row, one in zip(facts["settings"], flat, strict=True):
        figures = row["figures"] or dict.fromkeys(FIGURES_SHOWN)
        own = [row["number"], *(one.get(name) for name in names), *(figures[name] for name in FIGURES_SHOWN)]
        rows.append([*own, row["compared_by"], row["on_frontier"], row["number"] == recommended])
    return rows


def summed_up(outcomes: Sequence[Outcome], rule: Rule, risk_limit: float | None) -> Exploration:
    """Summarize outcomes as an exploration."""
    figures = [one.figures for one in outcomes]
    losses, measure = comparable(figures)
    points = points_of(figures, losses)
    recommendation = recommend(points, rule, risk_limit)
    if not points and any(figures):
        recommendation = Recommendation(rule, None, "the losses of these settings cannot be compared")
    best = frozenset(point.place for point in frontier(points))
    return Exploration(tuple(outcomes), losses, measure, best, recommendation)


def comparable(figures: Sequence[Figures | None]) -> tuple[tuple[float | None, ...], str | None]:
    """Return the losses in a common measure, and the measure; None for each if there is no common measure."""
    there = [one for one in figures if one is not None]
    if len({one.measure for one in there}) == 1:
        return tuple(None if one is None else one.loss for one in figures), there[0].measure
    return (None,) * len(figures), None


def points_of(figures: Sequence[Figures | None], losses: Sequence[float | None]) -> list[Point]:
    """Return the points of settings that have both a risk and a loss."""
    return [
        Point(place, one.risk, loss, one.promise)
        for place, (one, loss) in enumerate(zip(figures, losses, strict=True))
        if one is not None and one.risk is not None and loss is not None
    ]


RECORD = "settings.jsonl"
README = "README.txt"
FOR_THE_CUSTODIAN = (
    "Confidential. Do not share this folder or any of its files: comparing suppressed records across settings can "
    f"reveal individuals, and {RECORD} contains hashes of the data."
)
ANOTHER = Message("Take another folder for ", setting("out"), ", or remove that one.")


@dataclass
class Record:
    """The outcomes so far, and the file to which they are appended; None for a record in memory."""

    done: list[Outcome] = field(default_factory=list)
    file: BinaryIO | None = field(default=None, repr=False)

    def add(self, outcome: Outcome) -> None:
        """Append an outcome, and flush its line to disk."""
        if self.file is not None:
            self.file.write(_line(outcome.as_record()))
            self.file.flush()
            os.fsync(self.file.fileno())
        self.done.append(outcome)


@contextmanager
def open_record(folder: Path | None, identity: Mapping[str, object], settings: Sequence[Setting]) -> Iterator[Record]:
    """Yield the record of an exploration in a folder: a new one, or an existing one to resume.

    If the last line is incomplete, it is removed.

    ``folder``: None for a record in memory
    ``identity``: what is asked for, and hashes of the files; must be the same for an exploration to be gone on with
    """
    if folder is None:
        yield Record()
        return
    if not is_taken(folder):
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise cannot_write(folder.name, error) from None
        write_private(folder / README, f"{FOR_THE_CUSTODIAN}\n".encode())
        write_private(folder / RECORD, _line(_head(identity)))
    path = folder / RECORD
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{folder.name} exists and is not a comparison of settings. ", ANOTHER)
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except BlockingIOError:
            is_ours = False
        if not is_ours:
            raise InputError(
                f"Another command is exploring into {folder.name}. Wait for it, or take another folder for ",
                setting("out"),
            )
        yield Record(_read_outcomes(file, folder.name, identity, settings), file)


def _head(identity: Mapping[str, object]) -> dict[str, object]:
    head = {"for": FOR_THE_CUSTODIAN, "cloister": __version__, **identity}
    plain: dict[str, object] = json.loads(json.dumps(head))
    return plain


def _line(content: dict[str, object]) -> bytes:
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def _read_outcomes(
    file: BinaryIO, name: str, identity: Mapping[str, object], settings: Sequence[Setting]
) -> list[Outcome]:
    """Return the outcomes in the file, and truncate the file after its last complete line."""
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    file.seek(len(whole))
    file.truncate()
    head: object = None
    done: list[Outcome] = []
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
        head, done = lines[0], [outcome_from_record(line) for line in lines[1:]]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        head = None
    if not isinstance(head, dict):
        raise InputError(f"{RECORD} of {name} cannot be read. ", ANOTHER, file=RECORD)
    for key, what in (("cloister", "by another version"), ("asked", "with other options"), ("files", "of other data")):
        if head.get(key) != _head(identity)[key]:
            raise InputError(f"{name} holds an exploration {what}, which cannot be gone on with. ", ANOTHER)
    if [one.setting for one in done] != list(settings[: len(done)]):
        raise InputError(f"{RECORD} of {name} has other settings than were asked for. ", ANOTHER, file=RECORD)
    return done
