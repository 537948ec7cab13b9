"""The page as a document: the same sections for every shape, to be read by ear, by print and on a telephone.

The outlines beside this file are renewed by ``CLOISTER_RENEW=1 python -m pytest`` of it; look at what has changed.
"""

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

OUTLINES = Path(__file__).parent / "outlines"
SHAPES = [
    "table",
    "mondrian",
    "table_with_codes",
    "table_with_terms",
    "disassociation",
    "generalization",
    "trajectories",
    "claims",
]
SECTIONS = [
    *("1. Verdict and sign-off", "2. Records and columns", "3. Risk", "4. Simulated attacks"),
    *("5. Utility and information loss", "6. Regulatory thresholds", "7. Assumptions and limits"),
    *("Annex A. Frequency of each label", "Annex B. Method", "Annex C. Provenance"),
]
TOLD = {"h1", "h2", "h3", "caption", "figcaption"}
CONTAINERS = {"section", "figure", "svg", "table", "ul", "details"}


class Outline(HTMLParser):
    """Headings, captions, column heads and containers, in order; and what a reader by ear would miss."""

    def __init__(self):
        super().__init__()
        self.lines, self.missing, self.levels, self.path, self.text, self.head = [], [], [], [], None, False

    def handle_starttag(self, tag, attrs):
        """Note a tag that opens."""
        known = dict(attrs)
        if tag in ("meta", "br", "rect", "line"):
            return
        self.path.append(tag)
        if tag in CONTAINERS:
            self.lines.append("  " * sum(name in CONTAINERS for name in self.path[:-1]) + tag)
        if tag == "th" and "scope" not in known:
            self.missing.append("scope of a head")
        if tag == "svg" and (known.get("role") != "img" or "aria-labelledby" not in known):
            self.missing.append("role or name of a picture")
        if tag == "figure" or tag == "svg":
            self.missing.append(f"{'figcaption' if tag == 'figure' else 'desc'}?")
        if f"{tag}?" in self.missing:
            self.missing.remove(f"{tag}?")
        self.head = tag == "th" and known.get("scope") == "col"
        if tag in TOLD or self.head:
            self.text = []

    def handle_endtag(self, tag):
        """Write down a heading, a caption or the head of a column."""
        if self.path and self.path[-1] == tag:
            self.path.pop()
        if self.text is not None and (tag in TOLD or tag == "th"):
            words = " ".join("".join(self.text).split())
            self.lines.append("  " * sum(name in CONTAINERS for name in self.path) + f"{tag}: {words}")
            if tag.startswith("h") and tag != "th":
                self.levels.append(int(tag[1]))
            self.text = None

    def handle_data(self, data):
        """Collect what stands in a heading."""
        if self.text is not None:
            self.text.append(data)


def outlined(page):
    """The outline of a page."""
    parser = Outline()
    parser.feed(page)
    parser.close()
    return parser


@pytest.mark.parametrize("shape", SHAPES)
def test_the_outline_of_every_shape(releases, shape):
    """Sections, tables, pictures and their captions are those that were looked at and agreed on."""
    page = (releases[shape] / "release" / "report.html").read_text()
    found = outlined(page)
    outline = "\n".join(found.lines) + "\n"
    path = OUTLINES / f"{shape}.txt"
    if os.environ.get("CLOISTER_RENEW"):
        path.write_text(outline)

    assert path.read_text() == outline
    assert [line.strip()[4:] for line in found.lines if line.strip().startswith("h2: ")] == SECTIONS
    assert found.missing == []
    assert all(after - before <= 1 for before, after in zip([0, *found.levels], found.levels, strict=False))


def test_the_custodians_page_says_so(releases):
    """The report beside the exact figures has them, and is marked; that of the release has neither."""
    for place in releases.values():
        secret, told = ((place / name / "report.html").read_text() for name in ("secret", "release"))
        assert "Do not share" in secret
        assert "Confidential: for the custodian" in secret
        assert "Do not share" not in told
        assert "None" not in re.sub(r"<style>.*?</style>", "", secret + told, flags=re.DOTALL)


def luminance(colour):
    """Relative luminance of a colour, by WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_text_stands_out_from_what_is_behind_it(releases):
    """Every colour of text has a contrast of 4.5 at least on every background, light and dark (WCAG 2.2, 1.4.3)."""
    page = (releases["table"] / "release" / "report.html").read_text()
    light, dark = (dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", one)) for one in re.findall(r":root {([^}]*)}", page))

    assert set(dark) == set(light)
    assert not re.findall(r"(?<!-)(?:background|fill|stroke): #", page)
    for colours in (light, dark):
        for name in ("ink", "soft", "fill", "was"):
            for behind in ("page", "okbg", "badbg", "warnbg"):
                low, high = sorted((luminance(colours[name]), luminance(colours[behind])))
                least = 4.5 if name in ("ink", "soft") else 3.0
                assert (high + 0.05) / (low + 0.05) >= least, (name, behind)


def test_what_people_sign_is_on_the_first_page(releases):
    """Promise, risk, recorded columns, losses, attack, limits and sign-off are in the first section of every shape."""
    for place in releases.values():
        page = (place / "release" / "report.html").read_text()
        first = page.partition('<h2 id="s1"')[2].partition("</section>")[0]
        found = re.findall(r"<h3>([^<]*)</h3>", first)
        assert found == [*("Risk", "Columns released as recorded", "Information lost", "Attack", "Limits", "Sign-off")]
        assert "<strong>Verified:</strong>" in first
