"""Results in words and pictures. Computes nothing; reads only manifests."""

from .page import render_report

__all__ = ["render_report"]
