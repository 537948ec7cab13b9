"""Measures of re-identification risk, in original and in released data."""
