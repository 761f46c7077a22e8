"""Samples for the learners: batches of rollouts with exploration, and generations of candidates with their fitness."""
