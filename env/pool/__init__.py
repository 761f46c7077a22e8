"""Runs jobs in labs side by side, on this machine or on a Ray cluster, with one retry policy."""

from env.pool.files import lab_files
from env.pool.job import Job
from env.pool.pool import LabPool, Pool, wait_all
from env.pool.runner import RUNNERS, check_runner, make_pool
from env.pool.slot import BootLab

__all__ = [
    "RUNNERS",
    "BootLab",
    "Job",
    "LabPool",
    "Pool",
    "check_runner",
    "lab_files",
    "make_pool",
    "wait_all",
]
