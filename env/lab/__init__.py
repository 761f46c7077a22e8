"""Labs: kernels in which networks run. docs/explanation/lab.md explains them."""

from env.lab.errors import GuestDied, GuestFailed, GuestHung, LabError, LabMissing, ModuleInTheWay
from env.lab.lab import Lab
from env.lab.protocol import Observation, Record, Reply, RolloutPlan
from env.lab.result import FlowResult, RunResult, Table
from env.lab.virtual import VirtualLab

__all__ = [
    "FlowResult",
    "GuestDied",
    "GuestFailed",
    "GuestHung",
    "Lab",
    "LabError",
    "LabMissing",
    "ModuleInTheWay",
    "Observation",
    "Record",
    "Reply",
    "RolloutPlan",
    "RunResult",
    "Table",
    "VirtualLab",
]
