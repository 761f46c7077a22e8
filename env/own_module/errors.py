"""The error of a module that a user brings."""

from __future__ import annotations


class OwnModuleError(ValueError):
    """A module that is missing, cannot be built, or does not fit the kernel; the message says what to change."""
