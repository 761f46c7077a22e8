"""What can go wrong with a lab."""


class LabError(RuntimeError):
    """Base of every error of a lab."""


class LabMissing(LabError):
    """A file that the lab needs is missing or cannot be used; the message names the make target that makes it."""


class GuestDied(LabError):
    """The lab kernel ended: a crash, a panic, or a guest that halted."""


class GuestHung(LabError):
    """No answer within the time allowed."""


class GuestFailed(LabError):
    """A command failed in the guest; where that was not foreseen, the message carries the guest's traceback."""
