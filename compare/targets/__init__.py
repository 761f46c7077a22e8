"""The targets of the shipped model: scenarios, requirements and verdicts (docs/results/targets.md)."""
