"""Compiled loops over rows and compiled enumeration: arrays and bounds in, arrays out; no rules, no other rooms."""

only_ours = False
"""Whether this process compiles nothing but our kernels, as the command line does: then none needs a BLAS."""
