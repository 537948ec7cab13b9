"""The six stages in order: read, encode, protect, verify, measure, release. One file a shape.

Read ``tables.py`` first: `protect_table` is the whole pipeline of a release on one page. ``codes.py`` is the same for
code sets, and ``stages.py`` holds what every pipeline goes through. The command line and `cloister.api` import the
pipeline that they run, so that none loads the methods of another shape.

Each stage hands a frozen record to the next; verification never trusts protection, and nothing becomes a `Release`
that did not pass it.
"""
