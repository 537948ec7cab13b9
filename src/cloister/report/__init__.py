"""Results in words and pictures. Computes nothing; reads only manifests."""

from .page import (
    ReportPage,
    render_comparison,
    render_exploration,
    render_facts,
    render_job,
    render_readme,
    render_report,
    report_files,
)
from .terminal import terminal_text

__all__ = [
    "ReportPage",
    "render_comparison",
    "render_exploration",
    "render_facts",
    "render_job",
    "render_readme",
    "render_report",
    "report_files",
    "terminal_text",
]
