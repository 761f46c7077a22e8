"""Chooses training episodes: widening ranges, hard episodes, and snapshots of earlier policies as rivals."""
