"""Results in words and pictures. Computes nothing; reads only manifests."""

from .job import render_job
from .page import render_report

__all__ = ["render_job", "render_report"]
