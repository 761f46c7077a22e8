"""A job: one piece of work for one lab, which a pool runs."""

from __future__ import annotations

from typing import Protocol, TypeVar

from env.lab import Lab

ResultT_co = TypeVar("ResultT_co", covariant=True)


class Job(Protocol[ResultT_co]):
    """Work for one lab, with its cost and timeout.

    The result is a pure function of the job, because a job loads what it needs into the lab and seeds each run. It does
    not depend on which lab does the job, what that lab did before, or how often the job is repeated. On a cluster jobs
    and results are pickled.
    """

    @property
    def cost(self) -> float:
        """Expected duration in any unit. Of the jobs that are submitted together, the longest begin first."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """Wall seconds without an answer after which the guest counts as hung; None: the lab's own timeout."""
        ...

    def __call__(self, lab: Lab) -> ResultT_co:
        """Do the work in a lab that has been started. Raises env.lab.LabError."""
        ...
