"""Protecting from Python: one file a shape, one function a method; each loads what it needs."""
