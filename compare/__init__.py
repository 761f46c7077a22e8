"""Comparison: runs schemes x scenarios x seeds in the lab, measures, draws and reports.

experiment (what is compared) -> schemes, models -> matrix (the runs) -> store (files) -> metrics -> statistics ->
summary, plots, report, terminal.
"""
