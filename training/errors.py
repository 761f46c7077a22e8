"""Errors of a training that the command line prints as one paragraph."""


class RunError(Exception):
    """A run that cannot be started or continued; the text says why and what to do."""
