"""The targets of the shipped model: what is measured, what it must reach, verdicts (docs/results/targets.md)."""
