"""``cloister replicate``: researchers' analyses of the original and of a release, side by side."""

import polars as pl

from cloister.api.open import open as open_release
from cloister.cli.options import ReplicateOptions
from cloister.cli.output import console, grid, print_json, say
from cloister.cli.query import read_column_hierarchy
from cloister.errors import setting
from cloister.io import write_private
from cloister.recipients.replication import DATA, IMPUTED
from cloister.release.folder import check_new
from cloister.settings.reading import how_read
from cloister.sources import read_table


def run_replicate(options: ReplicateOptions) -> None:
    """Verify the release, fit the analyses, and print their terms."""
    if options.out is not None:
        check_new(options.out, setting("out"))
    release = open_release(options.folder, hierarchies=dict(map(read_column_hierarchy, options.hierarchies)))
    original = read_table(options.original, **how_read(options)).frame
    found = release.replicate(original, options.analysis, options.n, options.seed)
    if options.out is not None:
        write_private(options.out, found.terms.write_csv().encode())
    if options.as_json:
        print_json(found.summary())
    elif not options.quiet:
        for name, terms in found.terms.group_by("analysis", maintain_order=True):
            console().print(grid(f"{terms['model'][0]}: {name[0]}", ["term", *DATA, "overlap"], [*_rows(terms)]))
        for sentence in found.sentences():
            say(sentence)


def _rows(terms: pl.DataFrame) -> list[list[str]]:
    """Return a row for each term: estimates with their intervals, and the overlap of the imputed one."""
    rows = []
    for term, of_term in terms.group_by("term", maintain_order=True):
        each = {row["data"]: row for row in of_term.iter_rows(named=True)}
        shown = [
            "-" if one["estimate"] is None else "{estimate:.2g} ({lower:.2g}, {upper:.2g})".format(**one)
            for one in (each[data] for data in DATA)
        ]
        rows.append([str(term[0]), *shown, f"{each[IMPUTED]['overlap']:.2f}"])
    return rows
