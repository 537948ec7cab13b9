"""The version of this package, in a module of its own: who needs it should not import the front door."""

__version__ = "0.1.0"
