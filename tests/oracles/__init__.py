"""Definitions, slow on purpose, written from the papers and sharing no code with the package."""
