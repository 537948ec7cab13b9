"""The small forms of hierarchy builders: each is declared by its fields, and gives the words of its builder."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.settings.declaration import Given, Keywords

from .forms import Spec
from .hierarchy_pages import split_bounds

Units = tuple[Literal["day", "week", "month", "quarter", "year", "decade"], ...]
Digits = tuple[Literal["4", "3", "2", "1"], ...]
Code = Literal["code", "4 digits", "category", "section", "chapter", "*"]
CODES = ("code", "4 digits", "category", "section", "chapter", "*")
NUMBERS = re.compile(r"[0-9.,;\s+-]*")
REVISIONS = {"ICD-9-CM": "icd9", "ICD-10-CM": "icd10"}


@dataclass(frozen=True)
class BuilderForm:
    """A form of a builder.

    Parameters
    ----------
    title : what users call it
    builder : its keyword
    usual : words of the builder with usual settings; of several the first that covers the column
    fields : called like the attributes of the hierarchy; the first one comes after the colon, the others are options
    has_bounds : whether it sets the bounds of levels, too
    """

    title: str
    builder: str
    usual: tuple[str, ...]
    fields: tuple[Spec, ...] = ()
    has_bounds: bool = False

    def write(self, given: Keywords) -> str:
        """Return the words of the builder with these settings."""
        words = []
        for spec in self.fields:
            value = "" if given.get(spec.key) is None else given[spec.key]
            if isinstance(value, str):
                value = re.split(r"[,;\s]+", value.strip(" ,;")) if NUMBERS.fullmatch(value) else [value]
            words.append(",".join(map(str, value if isinstance(value, list) else [value])))
        options = [
            f"/{spec.key}={word}"
            for spec, word in zip(self.fields[1:], words[1:], strict=True)
            if word not in ("", spec.hint)
        ]
        return "".join([self.builder, *(f":{word}" for word in words[:1]), *options])

    def read(self, spec: str) -> Given | None:
        """Return the settings in the words of a hierarchy; None if it is not of this form."""
        words, *_ = split_bounds(spec)
        try:
            hierarchy = parse_hierarchy(words) if re.split("[:/]", words)[0] == self.builder else None
        except InputError:
            return None
        if getattr(hierarchy, "kind", None) != self.builder:
            return None
        given: Given = {}
        for field in self.fields:
            value = getattr(hierarchy, field.key, None)
            several = [*map(str, value)] if isinstance(value, tuple) else []
            given |= {field.key: several if field.how == "ticks" else ", ".join(several) or value}
        return given if all(given[field.key] for field in self.fields[:1]) else None


class ZipForm(BuilderForm):
    """The form of ZIP codes: the digits that are kept."""

    def write(self, given: Keywords) -> str:
        """Return the words of the builder; all digits below the length are its own default."""
        if not (keep := given.get("keep")):
            raise InputError("Select at least one number of digits that is kept.")
        is_all = len(keep) + 1 == given.get("length")
        return super().write({**given, "keep": None if is_all else keep, "pad": "0" if given.get("pad") else None})

    def read(self, spec: str) -> Given | None:
        """Return the settings of codes from the left, of which at most four digits are kept."""
        given = super().read(spec)
        if given is None or "/side=" in spec or given["pad"] == "none":
            return None
        keep = given["keep"] or [str(n) for n in range(given["length"] - 1, 0, -1)]
        return {**given, "keep": keep, "pad": given["pad"] == "0"} if {*keep} <= {*"1234"} else None


class IcdForm(BuilderForm):
    """The form of diagnoses: their revision, and the finest and the coarsest level."""

    def write(self, given: Keywords) -> str:
        """Return the words of the builder, with the bounds of its levels."""
        low, high = (CODES.index(given[end]) if given.get(end) in CODES else usual for end, usual in ENDS)
        bounds = "" if (low, high) == (0, len(CODES) - 1) else f"@{low}-{high}"
        return REVISIONS.get(str(given.get("revision")), self.builder) + bounds

    def read(self, spec: str) -> Given | None:
        """Return the revision and the bounds."""
        name, _, bounds = spec.partition("@")
        revision = next((title for title, builder in REVISIONS.items() if builder == name), None)
        low, _, high = bounds.partition("-")
        words = zip((low, high or low), ENDS, strict=True)
        ends = [int(word) if word.isdecimal() else usual for word, (_, usual) in words]
        if revision is None or max(ends) >= len(CODES):
            return None
        return {"revision": revision, "finest": CODES[ends[0]], "coarsest": CODES[ends[1]]}


ENDS = (("finest", 0), ("coarsest", len(CODES) - 1))
LENGTH = Spec(("length",), int, "The number of characters of the longest code.", title="Characters of a code")
BUILDER_FORMS: Mapping[str, BuilderForm] = {
    "interval": BuilderForm(
        "Intervals", "interval", ("interval:5,10,20",), (
            Spec(("widths",), str, "One for each level, such as 5, 10, 20. Each must divide the next.", title="Widths"),
            Spec(("top",), str, "This number and all above it form one group.", title="Highest group from"),
            Spec(("bottom",), str, "All numbers below this one form one group.", title="Lowest group below"),
        ),
    ),
    "quantile": BuilderForm(
        "Groups of equal size", "quantile", ("quantile:10,5",), (
            Spec(("parts",), str, "One number for each level, such as 10, 5. Each is divided by the next.",
                 title="Groups"),
        ),
    ),
    "date": BuilderForm(
        "Dates", "date", ("date:month,quarter,year",), (
            Spec(("units",), Units, "Each unit is a level. Weeks go with days alone: they overlap months.",
                 title="Units"),
            Spec(("bottom",), int, "Dates of earlier years form one group, such as <1937.", title="First year"),
        ),
    ),
    "zip": ZipForm(
        "ZIP codes", "prefix", ("prefix:LENGTH/keep=3,2,1", "prefix:LENGTH/keep=3,2,1/pad=0", "prefix:5/keep=3,2,1"), (
            LENGTH,
            Spec(("keep",), Digits, "Each number of first digits is a level: 3 makes 813** of 81367.",
                 title="Digits kept"),
            Spec(("pad",), bool, "For codes of which a program dropped the leading zeros.",
                 title="Put leading zeros back"),
        ),
    ),
    "mask": BuilderForm(
        "Masks", "prefix", ("prefix:LENGTH", "prefix:LENGTH/pad=none"), (
            LENGTH,
            Spec(("keep",), str, "One number for each level, such as 3, 1. Empty: one character less at each level.",
                 title="Characters kept"),
            Spec(("side",), Literal["left", "right"], "The side of the characters that are kept.", "left",
                 title="Side kept"),
            Spec(("pad",), Literal["0", "none"], "0 puts lost leading zeros back; none: the codes are complete.",
                 "stop if some seem lost",
                 title="Leading zeros"),
        ),
    ),
    "icd": IcdForm(
        "ICD codes", "icd10", ("icd10", "icd9"), (
            Spec(("revision",), Literal["ICD-9-CM", "ICD-10-CM"], "The classification of the codes.", "ICD-10-CM",
                 title="Revision"),
            Spec(("finest",), Code, "The finest level that may be released. Sections are blocks of categories.", "code",
                 title="Finest level"),
            Spec(("coarsest",), Code, "The coarsest level that may be released.", "*", title="Coarsest level"),
        ), has_bounds=True,
    ),
    "rare": BuilderForm(
        "Rare values", "rare", ("rare:20",), (
            Spec(("least",), int, "Values with fewer records are released as other.", title="Fewest records"),
        ),
    ),
    "similar": BuilderForm(
        "Similar values", "similar", (), (
            Spec(("other",), str, "Values whose records are alike in this column form groups.", title="Column"),
        ),
    ),
    "suppress": BuilderForm("Value or *", "suppress", ("suppress",)),
}  # fmt: skip
"""The forms by their names in addresses. Categories that are kept or grouped have an editor instead."""


def form_of_spec(spec: str) -> str:
    """Return the name of the form that a hierarchy was made with; "" if there is none."""
    return next((name for name, form in BUILDER_FORMS.items() if form.read(spec) is not None), "")
