"""Values that look like an identifier."""

from dataclasses import dataclass

import polars as pl

MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"

_NOT_A_NUMBER = r"[^0-9.+\- ]"


@dataclass(frozen=True)
class Pattern:
    """A form of values.

    Attributes
    ----------
    letter : of the class of 45 CFR 164.514(b)(2)(i)
    what : what has this form, as a sentence goes on after "look like"
    regex : as Polars reads it
    inside : whether it counts within longer text, too
    """

    letter: str
    what: str
    regex: str
    inside: bool = False


EMAIL = Pattern("F", "email addresses", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}", True)
WEB = Pattern("N", "web addresses", r"(?i)\b(?:https?://|www\.)\S+", True)
SSN = Pattern("G", "social security numbers", r"\b\d{3}-\d{2}-\d{4}\b", True)
PHONE = Pattern(
    "D",
    "telephone or fax numbers",
    r"(?:^|[^\d])(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?:$|[^\d])|(?:^|\s)\+\d[\d ()/-]{7,16}\d\b",
    True,
)
IP = Pattern(
    "O",
    "IP addresses",
    r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$"
    r"|^(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}$|^(?:[0-9A-Fa-f]{1,4}:)+:[0-9A-Fa-f:]*$",
)
MAC = Pattern("M", "addresses of network devices", r"^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$")
UUID = Pattern("R", "UUIDs", r"^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$")
VIN = Pattern(
    "L", "vehicle identification numbers", r"^[A-HJ-NPR-Z0-9]{8}[0-9X][A-HJ-NPR-Y1-9][A-HJ-NPR-Z0-9]{3}\d{4}$"
)
PICTURE = Pattern("Q", "names of picture files", r"(?i)\.(?:jpe?g|png|gif|bmp|tiff?|heic|dcm)$")
PERSON = Pattern("A", "names of people", r"^[A-Z][a-z'’-]+,? (?:[A-Z]\.? )?[A-Z][a-z'’-]+$")

OF_TEXT = (EMAIL, WEB, SSN, PHONE, IP, MAC, UUID, VIN, PICTURE)
"""Looked for in columns with values that are no numbers; of one that is, only within what the number form allows."""

OF_NUMBERS = (SSN, PHONE, IP)

DATE = (
    r"^(?:18|19|20)\d{2}[-/.](?:0?[1-9]|1[0-2])(?:[-/.]\d{1,2})?(?:[T ].*)?$"
    r"|^\d{1,2}[-/.]\d{1,2}[-/.](?:(?:18|19|20)\d{2}|\d{2})(?:[ ,T].*)?$"
    r"|^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$"
    rf"|(?i)^\d{{1,2}}[ -]?{MONTH}[ ,.-]*(?:\d{{4}}|\d{{2}})$|^{MONTH}\.? \d{{1,2}},? \d{{4}}$|^{MONTH}[ ,-]+\d{{4}}$"
)
"""A day or a month: by figures, year first or last, in one number, or with the month's name."""

ZIP = r"^\d{5}(?:-?\d{4})?$|^\d{4}[*xX]$"
"""More than three digits of a ZIP code."""

ZIP_START = r"^(\d{3})(?:[*xX0]{2}|\d{2}(?:-?\d{4})?|\d[*xX])?$"
"""A ZIP code, whole or cut: its first three digits."""


@dataclass(frozen=True)
class Values:
    """The distinct values of a column that are not missing, and how many records have each.

    Attributes
    ----------
    texts : (n_values,) distinct
    records : (n_values,) records of each
    """

    texts: pl.Series
    records: pl.Series

    @classmethod
    def of(cls, text: pl.Series, records: pl.Series | None = None) -> "Values":
        """Return the distinct values of a column of text.

        Parameters
        ----------
        records : how many have each of these texts; one unless given
        """
        times = pl.ones(len(text), dtype=pl.Int64, eager=True) if records is None else records
        every = pl.DataFrame([text.alias("text"), times.alias("n")]).drop_nulls("text")
        counted = every.group_by("text").agg(pl.col("n").sum())
        return cls(counted["text"], counted["n"])

    @property
    def n_records(self) -> int:
        """Records with a value."""
        return int(self.records.sum())

    @property
    def are_numbers(self) -> bool:
        """Whether no value holds other than figures and what stands between them."""
        return not self.texts.str.contains(_NOT_A_NUMBER).any()

    def n_like(self, regex: str) -> int:
        """Return the number of records whose value has this form."""
        found = self.texts.str.contains(regex)
        return self.n_where(found) if found.any() else 0

    def n_where(self, chosen: pl.Series) -> int:
        """Return the number of records whose value is chosen; what is null is not."""
        return int(self.records.filter(chosen).sum())
