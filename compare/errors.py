"""What can go wrong with a comparison."""


class CompareError(ValueError):
    """A comparison that cannot be made or go on; the message is one paragraph that names the bad value and the right ones."""
