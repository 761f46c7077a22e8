"""The traffic of a run: the traffic program, its record, and the accounts of every byte."""
