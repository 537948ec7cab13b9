"""Bytes <-> columns: tables read from files and dataframes, written to files of a folder that appears whole."""

from cloister.io.code_events import EventColumns, EventSource, code_events, read_code_events
from cloister.io.code_lists import CodeColumns, CodeSource, code_lists, read_code_lists
from cloister.io.columns import as_text, distinct_values
from cloister.io.disk import is_taken, private_file, sha256, write_private
from cloister.io.folder import Place, appearing, release_folder, repair
from cloister.io.frames import NativeFrame, from_native
from cloister.io.read import Source, read_table
from cloister.io.write import as_written_failures, write_csv, write_parquet

__all__ = [
    "CodeColumns",
    "CodeSource",
    "EventColumns",
    "EventSource",
    "NativeFrame",
    "Place",
    "Source",
    "appearing",
    "as_text",
    "as_written_failures",
    "code_events",
    "code_lists",
    "distinct_values",
    "from_native",
    "is_taken",
    "private_file",
    "read_code_events",
    "read_code_lists",
    "read_table",
    "release_folder",
    "repair",
    "sha256",
    "write_csv",
    "write_parquet",
    "write_private",
]
