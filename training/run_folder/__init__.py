"""Writes the folder of a run: checkpoint, metrics, card, learning curve and alarms."""
