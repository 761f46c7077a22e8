"""The commands of compare.py: make the runs of a comparison or of targets, and write tables and reports."""
