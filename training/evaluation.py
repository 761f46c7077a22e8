"""Candidates tried in labs: the int16 model goes into tcp_ndm by its hot swap, and flows run with it in the kernel.

No decision crosses to the host, so a run costs little more than its packets. A lab runs on a core of its own, as a
process of its own; the threads here wait for theirs. A trial depends on the model, the path and the run's seed alone
(docs/explanation/lab.md), not on the lab or on what it did before: any number of labs gives the same results.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from env.flows import learner_flows, rival_flows
from env.lab import FlowResult, GuestHung, Lab, LabError, Table
from env.profile import EpisodeConfig, PathSampler
from env.reward import Outcome, RewardWeights
from training.fitness import flow_reward

SCHEME = "ndm"  # the congestion control of tcp_ndm
MODULE = "tcp_ndm"
SAMPLE_MS = 100  # a sample costs a tenth of a millisecond of wall time; the smoothed RTT hardly moves faster
ATTEMPTS = 3  # of a trial whose lab failed, each in another one
HANGS = 2
HOPELESS_RTT_US = 10e6
POLL_S = 0.2  # wall; how often it is looked whether to stop

# In the guest, whose shell does without other programs here: each would take longer than a second of a run.
_FOLDER = "/run/ndm-models"
_SYSFS = f"/sys/module/{MODULE}/{SCHEME}"
_PREPARE = f"mkdir -p {_FOLDER} && printf {_FOLDER} >/sys/module/firmware_class/parameters/path"
_GUARD = "counters/guard_interventions"
_TOLD = ("sha256", _GUARD, "counters/decisions")


@dataclass(frozen=True)
class Trial:
    """One run: an episode, the seed of the run's randomness, how long it is. The same for all candidates."""

    episode_config: EpisodeConfig
    seed: int
    duration_s: float  # virtual


@dataclass(frozen=True)
class TrialResult:
    """What came of one run: of each flow under test, and how many of them the guard has taken from the policy."""

    outcomes: tuple[Outcome, ...]  # as flow_reward gives them
    guarded: int
    decisions: int  # in the kernel
    hung: bool = False  # it was given up


@dataclass(frozen=True)
class Evaluation:
    """A candidate's results, one for each trial."""

    results: tuple[TrialResult, ...]
    lab_s: float  # wall seconds that a lab was busy with them, without boots


def draw_trials(
    sampler: PathSampler, seed: int, generation: int, count: int, least_s: float, least_rtts: float
) -> list[Trial]:
    """Return the trials of a generation: a function of the run's seed and the generation.

    A run lasts `least_s` seconds and `least_rtts` base round trips, whichever is longer, and half as long again after
    the last flow has begun and the path has changed; but not above the profile's episode_s.
    """
    rng = np.random.default_rng([seed, generation])
    trials = []
    for _ in range(count):
        episode_config = sampler.draw(rng)
        lasting_s = max(least_s, least_rtts * episode_config.path.reference_rtt_ms / 1e3)
        events_s = [step.at_s for step in episode_config.path.steps] + [
            other.start_s for other in episode_config.other_flows
        ]
        wanted_s = max(lasting_s, max(events_s, default=0.0) + lasting_s / 2)
        trials.append(Trial(episode_config, int(rng.integers(2**31)), min(wanted_s, sampler.profile.episode_s)))
    return trials


def flows_of(trial: Trial) -> list[dict[str, Any]]:
    """Return the flows of a run: those under test in the order of the episode's learners, then its rivals."""
    episode_config, end_s = trial.episode_config, trial.duration_s
    return [*learner_flows(episode_config, SCHEME, end_s), *rival_flows(episode_config, end_s)]


class ModelLab:
    """One lab with tcp_ndm. A lab that failed is thrown away; the next trial boots another one."""

    def __init__(self, boot: Callable[[], Lab], weights: RewardWeights) -> None:
        """boot: makes a lab with the module, not yet begun. weights: of the reward."""
        self._boot = boot
        self._weights = weights
        self._lab: Lab | None = None
        self._model = ""  # SHA-256 of the one in the lab
        self._told = (0, 0)  # the module's counters after the last trial
        self._lock = threading.Lock()
        self._ended = False

    def evaluate(self, blob: bytes, sha256: str, trials: Sequence[Trial]) -> Evaluation:
        """Try a model. Raises LabError when a trial fails in ATTEMPTS labs, or after close().

        A trial that takes longer than the lab's timeout_s in HANGS labs, one after the other, is the candidate's fault:
        it sends so much that the kernel drowns in it. It counts as nothing but loss and delay.
        """
        began = time.perf_counter()
        results = tuple(self._insist(blob, sha256, trial) for trial in trials)
        return Evaluation(results, time.perf_counter() - began)

    def close(self) -> None:
        """End the lab, for good: from another thread too, whose candidate then fails."""
        with self._lock:
            self._ended = True
        self._drop()

    def _insist(self, blob: bytes, sha256: str, trial: Trial) -> TrialResult:
        hangs = 0
        for attempt in range(ATTEMPTS):
            try:
                return self._try(blob, sha256, trial)
            except LabError as error:
                self._drop()
                if self._ended or attempt == ATTEMPTS - 1:
                    raise
                hangs += isinstance(error, GuestHung)
                if hangs == HANGS:
                    return self._hopeless(trial)
            except BaseException:
                self._drop()
                raise
        raise AssertionError  # the last attempt returns or raises

    def _try(self, blob: bytes, sha256: str, trial: Trial) -> TrialResult:
        lab = self._ready()
        if self._model != sha256:
            octal = "".join(f"\\{byte:03o}" for byte in blob)
            swap = f"printf '{octal}' >{_FOLDER}/candidate && echo candidate >{_SYSFS}/model"
            self._told = _counters(lab, sha256, swap)
            self._model = sha256
        episode_config, duration_s = trial.episode_config, trial.duration_s
        for module in episode_config.modules:
            lab.load(module)
        run = lab.run(
            episode_config.path,
            flows_of(trial),
            duration_s,
            sample_ms=SAMPLE_MS,
            seed=trial.seed,
            until=f"{_SYSFS}/{_GUARD}",
        )
        outcomes = tuple(
            flow_reward(flow, episode_config, learner, duration_s, self._weights)
            for flow, learner in zip(run.flows, episode_config.learners, strict=False)
        )
        before, self._told = self._told, _counters(lab, sha256)
        return TrialResult(outcomes, self._told[0] - before[0], self._told[1] - before[1])

    def _hopeless(self, trial: Trial) -> TrialResult:
        row = {"t_s": trial.duration_s, "srtt_us": HOPELESS_RTT_US, "retransmits": 1e6, "segments_sent": 1e6}
        flow = FlowResult(
            scheme=SCHEME,
            start_s=0.0,
            duration_s=trial.duration_s,
            received_bytes=0,
            sender=Table(tuple(row), np.array([[*row.values()]])),
            receiver=Table(("t_s", "bytes"), np.array([[trial.duration_s, 0.0]])),
        )
        learners = trial.episode_config.learners
        outcomes = tuple(
            flow_reward(flow, trial.episode_config, learner, trial.duration_s, self._weights) for learner in learners
        )
        return TrialResult(outcomes, len(learners), 0, hung=True)

    def _ready(self) -> Lab:
        with self._lock:
            if self._ended:
                raise LabError("the training was stopped")
            if self._lab is not None:
                return self._lab
            lab = self._lab = self._boot()
            self._model = ""
            lab.start()
        done = lab.call("shell", command=_PREPARE)
        if done["status"]:
            raise LabError(f"the guest has no place for models: {done['stderr'].strip()}")
        return lab

    def _drop(self) -> None:
        with self._lock:
            if self._lab is not None:
                self._lab.close()
                self._lab = None


def _counters(lab: Lab, sha256: str, first: str = ":") -> tuple[int, int]:
    """Return the guard's interventions and the decisions since the boot; first: a command to run before.

    Raises LabError when it fails, or the model in use is not the one that it should be.
    """
    files = " ".join(f"{_SYSFS}/{name}" for name in _TOLD)
    done = lab.call("shell", command=f"{first} && for f in {files}; do read x <$f && echo $x; done")
    if done["status"]:
        log = lab.call("shell", command="dmesg | tail -3")["stdout"].strip()
        raise LabError(f"the module did not take a candidate's model: {done['stderr'].strip()}; {log}")
    in_use, interventions, decisions = done["stdout"].split()
    if in_use != sha256:
        raise LabError(f"the module has the model {in_use}, not the candidate's, {sha256}")
    return int(interventions), int(decisions)


class TrialLabs:
    """Labs side by side, to which candidates are handed out as each becomes free. A context manager."""

    def __init__(self, workers: int, boot: Callable[[], Lab], weights: RewardWeights) -> None:
        self.workers = workers
        self._labs: list[ModelLab] = []
        self._mine = threading.local()

        def begin() -> None:
            self._mine.lab = ModelLab(boot, weights)
            self._labs.append(self._mine.lab)

        self._pool = ThreadPoolExecutor(workers, "lab", initializer=begin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def evaluate(
        self,
        models: Iterable[tuple[bytes, str]],
        trials: Sequence[Trial],
        should_stop: Callable[[], bool] = lambda: False,
        done: Callable[[], None] = lambda: None,
    ) -> list[Evaluation] | None:
        """Try every model (of model_file) on all trials; return what came of each, in the order of the models.

        The first ones are tried while the others are still being made.

        should_stop: asked again and again; when true all is abandoned, and None is returned. done: called for each
        candidate that is finished. Raises LabError.
        """

        def evaluate(model: tuple[bytes, str]) -> Evaluation:
            lab: ModelLab = self._mine.lab
            return lab.evaluate(*model, trials)

        futures = [self._pool.submit(evaluate, model) for model in models]
        waiting: set[Future[Evaluation]] = set(futures)
        try:
            while waiting:
                if should_stop():
                    return None
                finished, waiting = wait(waiting, POLL_S, FIRST_COMPLETED)
                for future in finished:
                    future.result()  # raises what went wrong
                    done()
        finally:
            for future in waiting:
                future.cancel()
        return [future.result() for future in futures]

    def close(self) -> None:
        """End all labs; what they are busy with fails."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for lab in self._labs:
            lab.close()
        self._pool.shutdown()
