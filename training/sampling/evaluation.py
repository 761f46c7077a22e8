"""Evaluates candidates in labs: tcp_ndm loads the int16 model by its hot swap, and flows run with it in the kernel.

No decision crosses to the host, so a run costs little more than its packets. An evaluation depends only on the model,
the episode and the run's seed (docs/explanation/lab.md), so any number of labs, here or on a cluster, gives the same
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from env.flows import learner_flows, load_rivals, rival_flows
from env.lab import FlowResult, GuestFailed, GuestHung, Lab, Table
from env.pool import Pool, wait_all
from env.profile import EpisodeConfig, PathSampler
from env.reward import Outcome, RewardWeights
from training.sampling.fitness import flow_reward

SCHEME = "ndm"  # the congestion control of tcp_ndm
MODULE = "tcp_ndm"
SAMPLE_MS = 100  # a sample costs a tenth of a millisecond of wall time; the smoothed RTT hardly moves faster
FAILED_RTT_US = 10e6  # RTT of a failed evaluation

# In the guest. Only built-in commands of its shell: starting a program would take longer than a second of a run.
_FOLDER = "/run/ndm-models"
_SYSFS = f"/sys/module/{MODULE}/{SCHEME}"
_PREPARE = f"{{ [ -d {_FOLDER} ] || mkdir {_FOLDER}; }} && printf {_FOLDER} >/sys/module/firmware_class/parameters/path"
_GUARD = "counters/guard_starving"
_READ = ("sha256", _GUARD, "counters/decisions")


@dataclass(frozen=True)
class EvaluationRun:
    """A run, which is the same for all candidates: episode, seed of its randomness, length in virtual seconds."""

    episode_config: EpisodeConfig
    seed: int
    duration_s: float


@dataclass(frozen=True)
class Evaluation:
    """The result of a candidate in one run.

    outcomes: of each flow under test, as flow_reward returns them. guarded: number of these flows that the guard took
    from the policy. decisions: number of decisions in the kernel. hung: whether the evaluation failed because the lab
    hung with this candidate.
    """

    outcomes: tuple[Outcome, ...]
    guarded: int
    decisions: int
    hung: bool = False


def draw_runs(
    sampler: PathSampler, seed: int, generation: int, count: int, least_s: float, least_rtts: float
) -> list[EvaluationRun]:
    """Return the runs of a generation: a function of the training's seed and the generation.

    A run lasts `least_s` seconds or `least_rtts` base round trips, whichever is longer, and half as long again after
    the last flow has begun and the path has changed; but no longer than the profile's episode_s.
    """
    rng = np.random.default_rng([seed, generation])
    runs = []
    for _ in range(count):
        episode_config = sampler.draw(rng)
        path = episode_config.path
        lasting_s = max(least_s, least_rtts * path.reference_rtt_ms / 1e3)
        events_s = [step.at_s for step in path.steps] + [other.start_s for other in episode_config.other_flows]
        wanted_s = max(lasting_s, max(events_s, default=0.0) + lasting_s / 2)
        runs.append(EvaluationRun(episode_config, int(rng.integers(2**31)), min(wanted_s, sampler.profile.episode_s)))
    return runs


def flows_of(run: EvaluationRun) -> list[dict[str, Any]]:
    """Return the flows of a run: those under test in the order of the episode's learners, then its rivals."""
    episode_config, end_s = run.episode_config, run.duration_s
    return [*learner_flows(episode_config, SCHEME, end_s), *rival_flows(episode_config, end_s)]


@dataclass(frozen=True)
class EvaluationJob:
    """A job (env/pool/job.py) that evaluates one candidate in one run.

    model: a model file with the SHA-256 of its weights, as export.formats.model_file.model_file() returns them.
    weights: of the reward, for an episode that has none of its own.
    """

    model: tuple[bytes, str]
    run: EvaluationRun
    weights: RewardWeights
    timeout_s: ClassVar[None] = None

    @property
    def cost(self) -> float:
        """See env.pool.Job."""
        return self.run.duration_s * self.run.episode_config.path.rate_mbps

    def __call__(self, lab: Lab) -> Evaluation:
        """Return the evaluation. Raises env.lab.LabError."""
        blob, sha256 = self.model
        episode_config, duration_s = self.run.episode_config, self.run.duration_s
        lab.load(MODULE)
        load_rivals(lab, episode_config)
        octal = "".join(f"\\{byte:03o}" for byte in blob)
        swap = f"printf '{octal}' >{_FOLDER}/candidate && echo candidate >{_SYSFS}/model"
        guarded, decisions = _counters(lab, sha256, f"{_PREPARE} && {swap}")
        result = lab.run(
            episode_config.path,
            flows_of(self.run),
            duration_s,
            sample_ms=SAMPLE_MS,
            seed=self.run.seed,
            until=f"{_SYSFS}/{_GUARD}",
        )
        outcomes = tuple(
            flow_reward(flow, episode_config, learner, duration_s, self.weights)
            for flow, learner in zip(result.flows, episode_config.learners, strict=False)
        )
        guarded_after, decisions_after = _counters(lab, sha256)
        return Evaluation(outcomes, guarded_after - guarded, decisions_after - decisions)


def _counters(lab: Lab, sha256: str, first: str = ":") -> tuple[int, int]:
    """Run the command `first`; return the guard's interventions and the decisions since the module was loaded.

    Raises GuestFailed when a command fails, or the module does not have the model of this SHA-256.
    """
    files = " ".join(f"{_SYSFS}/{name}" for name in _READ)
    reply = lab.call("shell", command=f"{first} && for f in {files}; do read x <$f && echo $x; done")
    if reply["status"]:
        log = lab.call("shell", command="dmesg | tail -3")["stdout"].strip()
        raise GuestFailed(f"the module did not take a candidate's model: {reply['stderr'].strip()}; {log}")
    in_use, interventions, decisions = reply["stdout"].split()
    if in_use != sha256:
        raise GuestFailed(f"the module has the model {in_use}, not the candidate's, {sha256}")
    return int(interventions), int(decisions)


def evaluate(
    pool: Pool,
    models: Iterable[tuple[bytes, str]],
    runs: Sequence[EvaluationRun],
    weights: RewardWeights,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[tuple[Evaluation, ...]] | None:
    """Evaluate every model in all runs; return each model's evaluations, in the order of the models and runs.

    models: as for EvaluationJob; the first are evaluated while the iterable makes the others. A candidate with which a
    lab hangs twice sends so much that the kernel cannot keep up. It gets a failed evaluation, whose reward is lower
    than any other.

    Returns None as soon as `should_stop` returns true. Raises env.lab.LabError.
    """
    futures = [pool.submit([EvaluationJob(model, run, weights) for run in runs]) for model in models]
    if not wait_all([future for row in futures for future in row], should_stop, tolerated=(GuestHung,)):
        return None
    return [tuple(_evaluation(future, run, weights) for future, run in zip(row, runs, strict=True)) for row in futures]


def _evaluation(future: Future[Evaluation], run: EvaluationRun, weights: RewardWeights) -> Evaluation:
    try:
        return future.result()
    except GuestHung:
        return failed_evaluation(run, weights)


def failed_evaluation(run: EvaluationRun, weights: RewardWeights) -> Evaluation:
    """Return the evaluation of a candidate that makes the lab hang: nothing is delivered, all packets are lost and
    late."""
    row = {"t_s": run.duration_s, "srtt_us": FAILED_RTT_US, "retransmits": 1e6, "segments_sent": 1e6}
    flow = FlowResult(
        scheme=SCHEME,
        start_s=0.0,
        duration_s=run.duration_s,
        received_bytes=0,
        sender=Table(tuple(row), np.array([[*row.values()]])),
        receiver=Table(("t_s", "bytes"), np.array([[run.duration_s, 0.0]])),
    )
    learners = run.episode_config.learners
    outcomes = tuple(flow_reward(flow, run.episode_config, learner, run.duration_s, weights) for learner in learners)
    return Evaluation(outcomes, guarded=len(learners), decisions=0, hung=True)
