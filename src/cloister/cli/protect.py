"""``cloister protect``: a release is written by the library, and said what was done."""
