"""Sends the traffic of a run with the traffic program, reads its record, and accounts for every byte."""
