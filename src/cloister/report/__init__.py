"""Results in words and pictures. Computes nothing; reads only manifests."""

from .page import render_comparison, render_exploration, render_job, render_report

__all__ = ["render_comparison", "render_exploration", "render_job", "render_report"]
