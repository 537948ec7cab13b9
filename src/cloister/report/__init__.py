"""Results in words and pictures. Computes nothing; reads only manifests."""

from .job import render_job
from .page import render_report
from .side_by_side import render_comparison, render_exploration

__all__ = ["render_comparison", "render_exploration", "render_job", "render_report"]
