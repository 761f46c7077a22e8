"""The error of a comparison."""


class CompareError(ValueError):
    """A comparison cannot start or continue. The message names the bad value and the right ones, in one paragraph."""
