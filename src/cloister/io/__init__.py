"""Read tables from files, databases and dataframes; write files to a folder that appears complete or not at all."""

from cloister.io.codes import CodeColumns, CodeSource, EventColumns, EventSource, code_events, code_lists
from cloister.io.columns import as_text, distinct_values, plain_columns
from cloister.io.csv import Source
from cloister.io.folder import Place, appearing, note_table, release_folder, remove_dead_partials
from cloister.io.frames import NativeFrame, from_native
from cloister.io.query import Query, is_address
from cloister.io.read import read_table
from cloister.io.tally import Tally, concat_tallies
from cloister.io.write import (
    formula_columns,
    is_taken,
    private_file,
    sha256,
    without_formulas,
    write_csv,
    write_parquet,
    write_private,
)

__all__ = [
    "CodeColumns", "CodeSource", "EventColumns", "EventSource", "NativeFrame", "Place", "Query", "Source", "Tally",
    "appearing", "as_text", "code_events", "code_lists", "concat_tallies", "distinct_values", "formula_columns",
    "from_native", "is_address", "is_taken", "note_table", "plain_columns", "private_file", "read_table",
    "release_folder", "remove_dead_partials", "sha256", "without_formulas", "write_csv", "write_parquet",
    "write_private",
]  # fmt: skip
