"""A shape with a form of its own, one word a patient: a room and its lines of the registry, nothing else.

Words that fewer than k patients have are left out. It is small enough to be read as an example of what a shape needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from cloister.attacks.adversary import NOT_KNOWN, Adversary, KnowledgeStep, RecordGroups
from cloister.attacks.simulation import OpenedRelease
from cloister.cli import commands, main
from cloister.errors import NoSafeRelease
from cloister.exploration.setting_keys import KeyedShape
from cloister.pipeline.protecting import StagedProtection, complete_manifest
from cloister.release.codebook import codebook_of
from cloister.release.derived import Derived
from cloister.release.figures import Counted, ReportCounts
from cloister.release.folder import read_data
from cloister.release.head import DATA, Count, Delimiter, FileName, ManifestHead, Section, Share
from cloister.release.release import CustodianFiles, DataFileRelease
from cloister.report.page import environment
from cloister.results import Checks, Promise
from cloister.settings.declaration import Help, Key
from cloister.settings.run_options import K, ReleaseOptions
from cloister.shapes import registry
from cloister.shapes.protocol import Original
from cloister.shapes.registry import Form, ShapeEntry
from cloister.verification.driver import Checker

WORD = "word"


@dataclass(frozen=True, kw_only=True)
class WordsOptions(ReleaseOptions):
    """Protect words, one a patient."""

    data: Annotated[Path, Help("A text, one word a patient a line.", option="DATA")]
    k: Annotated[int, Help("Patients who share a word.", option="-k"), K, Key()]
    seed: Annotated[int, Help("Nothing is drawn at random.")] = 0
    engine: Annotated[str, Help("Words are counted here.")] = "auto"
    shout: Annotated[bool, Help("Release words in capitals."), Key()] = False
    examples: ClassVar[tuple[str, str]] = (
        "cloister protect words notes.txt -k 5 --out release",
        "cloister explore words notes.txt --grid k=2,5 --out exploration",
    )

    @classmethod
    def is_whole(cls, _keywords):
        """A patient has one word."""
        return False


class Settings(Section):
    """What was asked."""

    source: FileName
    k: Count
    shout: bool
    delimiter: Delimiter | None = None


class WordColumn(Section):
    """The column of words."""

    role: Literal["quasi-identifier"]


class Records(Section):
    """How many are released; of those left out, a bound."""

    in_: int | str = Field(alias="in")
    released: Count
    suppressed: int | str


class Rule(Section):
    """What is promised."""

    model: Literal["k-anonymity"]
    k: Count


class WordsGuarantee(Section):
    """What was verified."""

    rules: tuple[Rule]
    verified: Literal[True]
    one_row_per_patient: Literal["assumed"]


class WordsUtility(Section):
    """What was lost."""

    loss: Share


class WordsManifest(ManifestHead):
    """All that ``release.json`` of words says."""

    form: ClassVar[Literal["words"]] = "words"
    is_whole: ClassVar[bool] = False
    shape: Literal["words"]
    method: Literal["common"]
    settings: Settings
    columns: dict[Literal["word"], WordColumn]
    records: Records
    guarantee: WordsGuarantee
    utility: WordsUtility

    def risk_and_loss(self):
        """The risk, and the loss."""
        return 1 / self.settings.k, self.utility.loss


def verified(frame, k):
    """Count each word, and look at the order."""
    checks, words = Checks(), frame[WORD].cast(pl.String)
    smallest = words.value_counts()["count"].min()
    checks.require(smallest is None or smallest >= k, f"all words are of at least {k} patients")
    checks.require(words.to_list() == sorted(words), "records stand in the order of their words")
    return checks.verdict("recomputed from the released file")


@dataclass(frozen=True, repr=False)
class DerivedWords(Derived):
    """What follows from the words, and from k."""

    frame: pl.DataFrame
    k: int

    def parts(self):
        """The records, and the rule."""
        rule = Rule(model="k-anonymity", k=self.k)
        return {("records", "released"): self.frame.height, ("guarantee", "rules"): [rule]}

    def codebook(self):
        """What words mean."""
        labels = sorted(set(self.frame[WORD].cast(pl.String)))
        return codebook_of([(WORD, "quasi-identifier", None, None, label, "as recorded") for label in labels])

    def report_counts(self):
        """What the report shows."""
        words = self.frame[WORD].cast(pl.String).value_counts()
        by_word = dict(zip(words[WORD].to_list(), words["count"].to_list(), strict=True))
        columns = (Counted("data", WORD, "patients", by_word),)
        return ReportCounts(k=self.k, sizes=words["count"], of="patients", by="the word", columns=columns, files={})


class WordsChecker(Checker):
    """Checks a folder of words."""

    def read_files(self, folder, manifest):
        """Read the data file."""
        return read_data(folder / DATA[0], manifest.settings.delimiter)

    def read_original(self, request, manifest, files):
        """Read the words of the original."""
        return None if request.original is None else words_in(request.original)

    def verify(self, release):
        """Count again, up to what is promised or expected."""
        return verified(release.files, max(release.manifest.settings.k, release.request.k or 0))

    def derive(self, release):
        """Count the records."""
        return DerivedWords(release.files, release.manifest.settings.k)


@dataclass(frozen=True, repr=False)
class WordsRelease(DataFileRelease):
    """Words that passed verification."""

    k: int = field(kw_only=True)

    def recheck(self):
        """Count again."""
        return verified(self.frame, self.k)

    def recheck_written(self, folder):
        """Count what is read back."""
        return verified(self.read_written(folder), self.k)


def words_in(given):
    """Read one word a line."""
    return given if isinstance(given, list) else Path(given).read_text(encoding="utf-8").split()


class WordsProtection(StagedProtection):
    """Words that were read, and what is asked of them."""

    kernels = "no search"

    def __init__(self, options, words):
        """Keep them for an attack."""
        self.options, self.words, self.original = options, words, Original(words)
        self.summary = [("patients", str(len(words))), ("rules", f"k = {options.k}")]

    def encode(self):
        """Return the words as a column."""
        return pl.Series(WORD, self.words, dtype=pl.String)

    def protect(self, every, _run):
        """Leave rare words out."""
        k = self.options.k
        kept = every.filter(every.is_in(every.value_counts().filter(pl.col("count") >= k)[WORD].implode())).sort()
        if kept.is_empty():
            raise NoSafeRelease(f"No word is of {k} patients.")
        return (kept.str.to_uppercase() if self.options.shout else kept).to_frame()

    def describe(self, _every, frame):
        """Say what is released."""
        derived = DerivedWords(frame, self.options.k)
        stated = {
            "shape": "words",
            "method": "common",
            "settings": {"k": self.options.k, "shout": self.options.shout},
            "columns": {WORD: {"role": "quasi-identifier"}},
            "records": {"in": "withheld", "suppressed": "withheld"},
            "guarantee": {"verified": True, "one_row_per_patient": "assumed"},
            "utility": {"loss": 0.5},
        }
        source = self.options.data.name
        return WordsRelease(
            manifest=complete_manifest(stated, derived, source=source, seed=0, written=("csv", ",")),
            derived=derived,
            custody=CustodianFiles({}),
            frame=frame,
            format="csv",
            delimiter=",",
            k=self.options.k,
        )


class WordsShape(KeyedShape):
    """How words are read."""

    name = "words"
    reading: tuple[str, ...] = ()
    usual_grid: Mapping[str, tuple[str, ...]] = MappingProxyType({"k": ("2", "5")})

    def check(self, options):
        """All settings fit."""

    def read(self, options):
        """Read one word a line."""
        return words_in(options.data)

    def prepare(self, options, _run, read=None):
        """Return the words."""
        return WordsProtection(options, self.read(options) if read is None else read)


class Holders(RecordGroups):
    """Records by their word."""

    def __init__(self, words, sizes, own):
        self.words, self.sizes, self.own = words, sizes, own

    def groups(self, target, known):
        """Return the records of the word of the target."""
        return self.words[[target]] if known and self.words[target] >= 0 else np.arange(self.sizes.size)


def open_words(folder, manifest, known, _seed):
    """Open a release for somebody who knows the word of a patient."""
    original, released = words_in(known.original), read_data(folder / DATA[0], manifest.settings.delimiter)
    change = str.upper if manifest.settings.shout else str
    labels = sorted({change(word) for word in original})
    numbers = np.array([labels.index(change(word)) for word in original])
    own = np.full(numbers.size, NOT_KNOWN, dtype=np.int64)
    sizes = [np.array([words.count(label) for label in labels]) for words in (released[WORD].to_list(), labels)]
    sizes[1] = np.bincount(numbers, minlength=len(labels))
    adversary = Adversary(
        steps=(KnowledgeStep("the word", None),),
        n_items=np.ones(numbers.size, dtype=np.int64),
        released=Holders(numbers, sizes[0], own),
        original=Holders(numbers, sizes[1], own),
        covers=lambda _target, _known: True,
    )
    return OpenedRelease("words", "common", manifest.settings.k, numbers.size, released.height, False, (adversary,))


def promise(manifest):
    """What is promised."""
    return Promise([f"Each word is of at least {manifest.settings.k} patients"])


def figures(head, manifest):
    """What it is compared by."""
    return replace(head, loss=manifest.utility.loss, measure="made up")


PAGE = """{% extends "sections.html" %}
{% block summary %}words{% endblock %}{% block one_row %}One word is one patient{% endblock %}{% block released %}
{% endblock %}{% block meaning %}{% endblock %}{% block variables %}{% endblock %}{% block risk %}{% endblock %}
{% block known %}the word{% endblock %}{% block utility %}{% endblock %}{% block before_and_after %}{% endblock %}
{% block search %}{% endblock %}{% block ema %}{% endblock %}{% block singling_out %}{% endblock %}
{% block linkability %}{% endblock %}{% block inference %}{% endblock %}{% block assumptions %}{% endblock %}"""
WORDS = """{% extends base ~ ".txt" %}{% block title %}words{% endblock %}"""

SHAPE = ShapeEntry(f"{__name__}:WordsOptions", f"{__name__}:WordsShape", "words")
FORM = Form(
    manifest=f"{__name__}:WordsManifest",
    checker=f"{__name__}:WordsChecker",
    attack=f"{__name__}:open_words",
    promise=f"{__name__}:promise",
    figures=f"{__name__}:figures",
    page="words.html",
    words="words",
)


def register(monkeypatch):
    """Enter the shape, its form, its pages and its command for a test."""
    monkeypatch.setitem(registry.SHAPES, "words", SHAPE)
    monkeypatch.setitem(registry.FORMS, "words", FORM)
    templates = environment().loader.mapping
    monkeypatch.setitem(templates, "words.html", PAGE)
    monkeypatch.setitem(templates, "words.txt", WORDS)
    protect = commands.Command("protect words", "protect.run_protect", SHAPE.settings, first=("words",))
    monkeypatch.setattr(commands, "COMMANDS", (*commands.COMMANDS, protect))
    monkeypatch.setattr(main, "command", cache(main.command.__wrapped__))
