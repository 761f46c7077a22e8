"""The tables of a report, one file for each kind."""
