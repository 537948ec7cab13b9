"""Results in words and pictures. Computes nothing; reads only manifests."""

from .chart import Placed
from .page import (
    render_comparison,
    render_exploration,
    render_job,
    render_readme,
    render_report,
    report_files,
    screen,
)

__all__ = [
    "Placed",
    "render_comparison",
    "render_exploration",
    "render_job",
    "render_readme",
    "render_report",
    "report_files",
    "screen",
]
