"""Labs: a kernel of their own in which the network runs. See docs/architecture.md."""

from env.lab.errors import GuestDied, GuestFailed, GuestHung, LabError, LabMissing
from env.lab.virtual import Observation, Play, Record, Reply, VirtualLab

__all__ = [
    "GuestDied",
    "GuestFailed",
    "GuestHung",
    "LabError",
    "LabMissing",
    "Observation",
    "Play",
    "Record",
    "Reply",
    "VirtualLab",
]
