"""The pool of a Ray cluster: a slot (env/pool/slot.py) for each core of each node.

Ray repeats a job elsewhere when its node or worker process is gone; the result is the same (env/pool/job.py).
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from env.checkout import MODEL_BUILD, ROOT
from env.errors import UserError, first_line
from env.lab.module_files import hand_over_modules
from env.pool.files import check_files
from env.pool.job import Job
from env.pool.pool import Pool
from env.pool.slot import BootLab, LabSlot

ResultT = TypeVar("ResultT")

CONNECT_TIMEOUT_S = 10.0
FOREVER = -1  # retries: Ray repeats a job each time that its node or worker process is gone


class RayPool(Pool):
    """Labs of a cluster.

    address: as for connect(). boot: returns a new lab; picklable. files: by path, the SHA-256 that each file of a node
    must have. modules: contents of modules that the nodes may lack, by path. Raises UserError.
    """

    def __init__(
        self, address: str | None, boot: BootLab, files: Mapping[Path, str], modules: Mapping[Path, bytes]
    ) -> None:
        self._ray = ray = connect(address)
        self._shared = ray.put((boot, dict(files), dict(modules)))
        self._remote: Any = ray.remote(num_cpus=1, max_retries=FOREVER)(do_job)
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._busy_s = 0.0

    def _submit(self, job: Job[ResultT]) -> Future[ResultT]:
        future: Future[ResultT] = Future()

        def hand_over(remote: Future[tuple[ResultT, float]]) -> None:
            error = remote.exception()
            if error is not None:
                # what the job raised, without the traceback of the node
                future.set_exception(error.cause if isinstance(error, self._ray.exceptions.RayTaskError) else error)
                return
            result, busy_s = remote.result()
            self._busy_s += busy_s
            future.set_result(result)

        self._remote.remote(job, self._shared).future().add_done_callback(hand_over)
        return future

    @property
    def busy_s(self) -> float:
        """See Pool; counts only jobs that have ended."""
        return self._busy_s

    def close(self) -> None:
        """See Pool; leaves the cluster."""
        self._ray.shutdown()


_slot: LabSlot | None = None  # of this worker process: Ray gives it one job at a time


def do_job(job: Job[ResultT], shared: tuple[BootLab, dict[Path, str], dict[Path, bytes]]) -> tuple[ResultT, float]:
    """Do a job in a worker process of the cluster. Returns its result, and the wall seconds that it took."""
    global _slot
    began = time.perf_counter()
    if _slot is None:
        boot, files, modules = shared
        check_files(files)
        hand_over_modules(modules)
        _slot = LabSlot(boot)
    return _slot.do(job), time.perf_counter() - began


_folder: tempfile.TemporaryDirectory[str] | None = None  # of the cluster that this process started


def connect(address: str | None) -> Any:
    """Join a cluster until `ray.shutdown()`. Returns the module ray.

    address: HOST:PORT, or "auto" for the cluster that this machine belongs to; None starts one on this machine, which
    no other machine and no other user reaches. Raises UserError.
    """
    global _folder
    # Ray and its processes read these when they start: no usage reports, and CUDA_VISIBLE_DEVICES as it is
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    own: dict[str, Any] = {}
    if address is not None:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        _check_reachable(address)
    else:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # the latter: 127.0.0.1 only
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # Ray lets everybody write to its folder, and names of sockets are short
        _folder = tempfile.TemporaryDirectory(prefix="ndm-ray-", dir="/tmp", ignore_cleanup_errors=True)
        own = {"include_dashboard": False, "_temp_dir": f"{_folder.name}/ray"}
    try:
        import ray
    except ImportError as error:
        raise UserError(f"a cluster needs Ray ({error}): run `make ray`") from error
    try:
        ray.init(
            address=address or "local",  # by None Ray joins a cluster of this machine
            **own,
            log_to_driver=False,
            logging_level=logging.ERROR,
            # workers import this checkout, and load its modules
            runtime_env={"env_vars": {"PYTHONPATH": str(ROOT), "NDM_MODEL_BUILD": str(MODEL_BUILD)}},
        )
    except Exception as error:  # Ray raises many kinds, and a plain one when a node starts too slowly
        raise UserError(
            f"the Ray cluster {address or 'of this machine'} cannot be reached: {first_line(error)}. It must be of "
            "this version, and have the token of this machine (docs/guides/cluster.md)"
        ) from error
    return ray


def _check_reachable(address: str) -> None:
    """Raise UserError when nothing listens at HOST:PORT: Ray itself would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UserError(f"ray_address is {address!r}; it must be HOST:PORT of a Ray cluster, or auto")
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise UserError(f"the Ray cluster {address} cannot be reached: {error}") from error
