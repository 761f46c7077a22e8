"""The choice of training episodes: widening ranges, hard episodes, snapshots of earlier policies."""
