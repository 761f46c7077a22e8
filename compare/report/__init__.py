"""The report of a comparison: report.html, to be read offline, and report.md."""

from compare.report.content import Comparison
from compare.report.html import render_report
from compare.report.markdown import render_markdown

__all__ = ["Comparison", "render_markdown", "render_report"]
