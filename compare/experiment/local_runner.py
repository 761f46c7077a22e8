"""Runs tasks in labs of this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from compare.experiment.run_files import pack
from compare.experiment.worker import Task, Worker, virtual_lab
from env.lab import Lab, LabError

# A task, and the files of its result or what its lab said when it failed.
Outcome = tuple[Task, dict[str, bytes] | str]


class LocalRunner:
    """Labs side by side, each a process of its own: the workers here are threads that wait for theirs."""

    def __init__(self, jobs: int, boot: Callable[[], Lab] = virtual_lab) -> None:
        self.jobs = jobs
        self._boot = boot

    def results(self, tasks: Sequence[Task]) -> Generator[Outcome]:
        """Yield outcomes as they come. When the caller stops early, or on any error but a lab's, all labs are ended."""
        mine = threading.local()
        workers: list[Worker] = []

        def begin() -> None:
            mine.worker = Worker(self._boot)
            workers.append(mine.worker)

        def make(task: Task) -> dict[str, bytes] | str:
            try:
                return pack(mine.worker.make(task))
            except LabError as error:
                return str(error)

        with ThreadPoolExecutor(min(self.jobs, len(tasks)) or 1, "lab", initializer=begin) as pool:
            try:
                waiting: dict[Future[dict[str, bytes] | str], Task] = {pool.submit(make, task): task for task in tasks}
                while waiting:
                    finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in finished:
                        yield waiting.pop(future), future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for worker in workers:
                    worker.close()
