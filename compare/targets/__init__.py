"""The targets of the shipped model: what is measured, what is to be reached, what became of it (docs/targets.md)."""
