"""Runs the matrix in the lab: one boot per run, several labs side by side, nothing lost when it is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare.errors import CompareError
from compare.experiment import Experiment, Run
from compare.models import module_key
from compare.store import Store
from env.lab import LabError, VirtualLab

# A run that gives no answer for so long hangs. Two servers at 10 Gbit/s each take 3 s of wall time for a virtual second
# on an idle core, and a machine may be busy with much else.
MIN_TIMEOUT_S = 120.0
WALL_PER_VIRTUAL = 30.0


@dataclass
class Progress:
    """How far the matrix is. seconds_run: virtual seconds simulated by this process."""

    total: int
    done: int = 0
    failed: int = 0
    seconds_run: float = 0.0
    errors: list[str] = field(default_factory=list)


def run_matrix(
    experiment: Experiment,
    store: Store,
    modules: Mapping[str, Path],
    jobs: int,
    report: Callable[[Progress], None],
) -> Progress:
    """Make every run of the experiment that the store has not got yet; one that failed before is tried again.

    modules: scheme name to the .ko that has it, for schemes that need one. report is called after every run.

    A lab is a process of its own, so the workers here are threads that wait for theirs. On KeyboardInterrupt, or any
    error that is not a lab's, all labs are ended, what is done stays, and the exception goes on.
    """
    pending = [run for run in experiment.runs() if not store.is_done(run)]
    progress = Progress(total=len(experiment.runs()), done=len(experiment.runs()) - len(pending))
    report(progress)
    labs = _Labs()
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="lab") as pool:
        try:
            waiting: dict[Future[str | None], Run] = {
                pool.submit(_make_run, run, experiment, store, modules.get(run.scheme.name), labs): run
                for run in pending
            }
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    run = waiting.pop(future)
                    error = future.result()
                    progress.done += 1
                    if error is None:
                        progress.seconds_run += run.scenario.duration_s
                    else:
                        progress.failed += 1
                        progress.errors.append(f"{run.scenario.name}, {run.scheme.name}, seed {run.seed}: {error}")
                    report(progress)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            labs.end()
            raise
    return progress


class _Labs:
    """The labs at work, so that they can be ended from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._labs: set[VirtualLab] = set()
        self.ended = False

    def enter(self, lab: VirtualLab) -> None:
        with self._lock:
            if self.ended:
                raise LabError("the comparison was interrupted")
            self._labs.add(lab)
            lab.start()

    def leave(self, lab: VirtualLab) -> None:
        with self._lock:
            self._labs.discard(lab)
            lab.close()

    def end(self) -> None:
        with self._lock:
            self.ended = True
            for lab in self._labs:
                lab.close()


def _check_unchanged(run: Run, result: dict[str, Any], wanted: tuple[str, str]) -> None:
    """Raise CompareError when the module loaded is not the one that the comparison began with."""
    if result["environment"]["modules"].get(wanted[0]) != wanted[1]:
        raise CompareError(
            f"the module of {run.scheme.name} was rebuilt while the comparison ran, so its runs would not be of one "
            f"module; compare again, into another output_dir"
        )


def _parameters(lab: VirtualLab, module: str) -> dict[str, str]:
    """Return the loaded module's parameters: those of ndm describe its model, those of others are settings."""
    lines = lab.call("shell", command=f"cd /sys/module/{module}/parameters && grep . *")["stdout"].splitlines()
    return dict(line.split(":", 1) for line in lines)


def _make_run(run: Run, experiment: Experiment, store: Store, module: Path | None, labs: _Labs) -> str | None:
    """Boot a lab, make the run, keep its result. Returns the error of a lab that failed."""
    scenario = run.scenario
    wanted = None if module is None else (module.stem, experiment.binaries[module_key(run.scheme.name)])
    timeout_s = max(MIN_TIMEOUT_S, WALL_PER_VIRTUAL * scenario.duration_s)
    lab = VirtualLab(seed=run.seed, modules=() if module is None else (module,), timeout_s=timeout_s)
    try:
        labs.enter(lab)
        result = lab.run(
            scenario.network(),
            scenario.flows_with(run.scheme.algorithm),
            scenario.duration_s,
            sample_ms=experiment.sample_ms,
            describe=True,
        )
        if wanted is not None:
            _check_unchanged(run, result, wanted)
            kind = "model" if run.scheme.algorithm == "ndm" else "parameters"
            result["environment"][kind] = _parameters(lab, wanted[0])
        store.save(run, result)
    except (LabError, OSError) as error:
        if labs.ended:
            return "interrupted"
        if not isinstance(error, LabError):
            raise
        store.save_error(run, str(error))
        return str(error)
    finally:
        labs.leave(lab)
    return None
