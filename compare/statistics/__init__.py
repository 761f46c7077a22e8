"""Intervals, paired differences and winners over the seeds of a comparison."""
