"""Checks of an integer model: agreement with the float policy, and the proof that it cannot overflow."""
