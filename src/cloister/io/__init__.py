"""Read tables from files, databases and dataframes; write files to a folder that appears complete or not at all."""

from cloister.io.codes import CodeColumns, CodeSource, EventColumns, EventSource, code_events, code_lists
from cloister.io.columns import as_text, distinct_values, plain_columns
from cloister.io.csv import Source
from cloister.io.folder import Place, appearing, note_table, release_folder, remove_dead_partials
from cloister.io.frames import NativeFrame, from_native
from cloister.io.query import Query, is_address
from cloister.io.read import read_table
from cloister.io.tally import (
    RECORDS,
    Tally,
    as_tally,
    concat_tallies,
    count_records,
    first_records,
    is_tally,
    n_records,
    records_of,
    table_columns,
    tally_rows,
    with_records_of,
)
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
    "RECORDS", "CodeColumns", "CodeSource", "EventColumns", "EventSource", "NativeFrame", "Place", "Query", "Source",
    "Tally", "appearing", "as_tally", "as_text", "code_events", "code_lists", "concat_tallies", "count_records",
    "distinct_values", "first_records", "formula_columns", "from_native", "is_address", "is_taken", "is_tally",
    "n_records", "note_table", "plain_columns", "private_file", "read_table", "records_of", "release_folder",
    "remove_dead_partials", "sha256", "table_columns", "tally_rows", "with_records_of", "without_formulas", "write_csv",
    "write_parquet", "write_private",
]  # fmt: skip
