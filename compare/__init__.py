"""Compare congestion controls: run schemes x scenarios x seeds in the lab, and report the results.

experiment (plan, runs, files) -> metrics -> statistics -> targets -> report. command: what compare.py does. studies:
questions about the project.
"""
