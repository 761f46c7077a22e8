"""What can go wrong with a comparison."""


class CompareError(ValueError):
    """A comparison that cannot be made or go on; the message is one paragraph: the bad value and the right ones."""
