"""Results in words and pictures. Computes nothing; reads only manifests."""

from .page import render_comparison, render_exploration, render_job, render_readme, render_report, report_files, screen

__all__ = [
    "render_comparison",
    "render_exploration",
    "render_job",
    "render_readme",
    "render_report",
    "report_files",
    "screen",
]
