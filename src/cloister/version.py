"""The version of this package, in its own module: reading it does not import the rest of the package."""

__version__ = "0.2.0"
