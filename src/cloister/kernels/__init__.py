"""Compiled loops over rows and compiled enumeration: arrays and bounds in, arrays out; no policy, nothing of ours."""
