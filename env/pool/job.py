"""What a pool runs: one piece of work for one lab."""

from __future__ import annotations

from typing import Protocol, TypeVar

from env.lab import Lab

ResultT_co = TypeVar("ResultT_co", covariant=True)


class Job(Protocol[ResultT_co]):
    """Work for one lab, and what the pool must know about it.

    The result is a pure function of the job: a job loads what it needs into the lab and gives each run its seed, so it
    does not matter which lab does the job, what that lab did before, nor how often the job is repeated. On a cluster
    jobs and results are pickled.
    """

    @property
    def cost(self) -> float:
        """Expected duration in any unit; of the jobs that are submitted together the longest begin first."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """Wall seconds without an answer after which the guest counts as hung; None: the lab's own timeout."""
        ...

    def __call__(self, lab: Lab) -> ResultT_co:
        """Do the work in a lab that has been started. Raises env.lab.LabError."""
        ...
