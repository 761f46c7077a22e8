"""Metrics: numbers computed from the stored files of a run."""
