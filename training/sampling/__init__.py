"""Samples for the learners: batches of rollouts with exploration."""
