"""The integer network: its numbers, how they come from float weights, and its reference in Python and C."""
