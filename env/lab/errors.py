"""The errors of a lab."""

from env.errors import printable


class LabError(RuntimeError):
    """Base of all errors of a lab."""

    def __str__(self) -> str:
        return printable(super().__str__())


class LabMissing(LabError):
    """A file that the lab needs is missing or cannot be used; the message names the make target that builds it."""


class GuestDied(LabError):
    """The guest's process ended: a crash, a panic, or a guest that halted."""


class GuestHung(LabError):
    """The guest did not answer within the lab's timeout."""


class GuestFailed(LabError):
    """A command failed in the guest; for an unexpected error the message carries the guest's traceback."""


class ModuleInTheWay(LabError):
    """The kernel takes a module's name, and a congestion control's, once; a fresh lab has neither."""


class BrokenFrame(LabError):
    """The guest sent bytes that are not a frame of the protocol."""

    def __init__(self, kind: int, length: int) -> None:
        super().__init__(f"broken frame from the guest: kind {kind}, {length} bytes")
