"""Makes a recording: every expert runs on the same episodes of a profile, with the same random numbers."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from env import schema
from env.checkout import git_revision
from env.expert import Expert
from env.lab import Lab, VirtualLab
from env.lab.lab import PROGRAM
from env.lab.virtual import KERNEL, MODULES
from env.network.schemes import Scheme, SchemeError, find_schemes
from env.pool import Pool, lab_files, make_pool
from env.profile import PathSampler, Profile
from env.reference import run_origin_us
from env.rollout import RolloutTask, run_episode
from env.trajectory import Steps
from export.formats.model_file import model_file
from export.selection import further_algorithms
from training.experts.equivalent import cut, equivalent_actions
from training.experts.options import RecordOptions
from training.experts.recording import Drawn, Lesson, RecordingError, connections
from training.policy import initial_policy


def find_experts(names: Sequence[str]) -> list[Expert]:
    """Return the experts with these names, written as for compare.py: bbr, cubic, window@16, ndm, ...

    Raises RecordingError for an unknown name, with near matches, and for a scheme that cannot be an expert.
    """
    try:
        return [_expert(scheme) for scheme in find_schemes(names, further_algorithms())]
    except SchemeError as error:
        raise RecordingError(str(error)) from error


def _expert(scheme: Scheme) -> Expert:
    if scheme.is_oracle or scheme.model:
        raise RecordingError(
            f"scheme {scheme.name!r} cannot be an expert: neither the lab's kernel nor one of its modules contains it"
        )
    return Expert(scheme.name, scheme.algorithm, scheme.module, scheme.packets)


def draw(profile: Profile, count: int, seed: int) -> tuple[Drawn, ...]:
    """Return the first `count` episodes that this seed draws from the profile."""
    rng, sampler = np.random.default_rng(seed), PathSampler(profile)
    return tuple(Drawn(sampler.draw(rng), int(rng.integers(2**63))) for _ in range(count))


@dataclass(frozen=True)
class RecordingJob:
    """A job (env/pool/job.py) that records the task's expert. number: of the episode in the recording."""

    task: RolloutTask
    number: int
    timeout_s: ClassVar[None] = None

    @property
    def cost(self) -> float:
        """See env.pool.Job."""
        return self.task.packets

    def __call__(self, lab: Lab) -> Lesson:
        """Raises env.lab.LabError."""
        assert self.task.expert is not None
        steps = _with_actions(run_episode(lab, self.task), self.task.expert)
        return Lesson(self.task.expert.name, self.number, steps)


def record(
    profile: Profile,
    experts: Sequence[Expert],
    episode_configs: Sequence[Drawn],
    pool: Pool,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[Lesson, ...]:
    """Record every expert on every episode. The result does not depend on the pool.

    progress: called with the number of newly finished lessons. Raises LabError.
    """
    # the lab needs a model file; the expert decides, and the model's output is ignored
    unused, _ = model_file(initial_policy(1, 0).state_dict(), "none", "none")
    silence = np.zeros((0, 0, len(schema.ACTIONS)), np.int16)
    jobs = [
        RecordingJob(
            RolloutTask(
                unused,
                drawn.episode_config,
                drawn.seed,
                silence,
                profile.episode_decisions * len(drawn.episode_config.learners),
                profile.episode_s,
                expert,
            ),
            number,
        )
        for number, drawn in enumerate(episode_configs)
        for expert in experts
    ]
    futures = pool.submit(jobs)
    for future in as_completed(futures):
        future.result()
        progress(1)
    return tuple(future.result() for future in futures)


def make_labs(options: RecordOptions, experts: Sequence[Expert], episode_configs: Sequence[Drawn]) -> Pool:
    """Return the labs of a recording. Raises env.pool.ClusterError."""
    boot = partial(VirtualLab, seed=1)  # each run brings its own seed
    files = lab_files(_modules(experts, episode_configs))
    return make_pool(options.runner, options.ray_address, options.workers, boot, files)


def _modules(experts: Sequence[Expert], episode_configs: Sequence[Drawn]) -> tuple[str, ...]:
    """Return the kernel modules of the experts and of the competing flows."""
    of_rivals = sorted({module for drawn in episode_configs for module in drawn.episode_config.modules})
    of_experts = (module for expert in experts for module in expert.modules)
    return tuple(dict.fromkeys([*of_experts, *of_rivals]))


def _with_actions(steps: Steps, expert: Expert) -> Steps:
    """Return the steps of all connections, one connection after the other, with the equivalent actions.

    The last step of a connection has no action. Flow numbers and times count from the beginning of the run, so that
    they do not depend on earlier runs of the lab.
    """
    parts = []
    for number, recorded in enumerate(connections(steps), 1):
        lesson = recorded.copy()
        cwnd, pacing_rate, srtt_us, mss = (
            lesson[name].astype(np.float64) for name in ("cwnd", "pacing_rate", "srtt_us", "mss")
        )
        actions = cut(equivalent_actions(cwnd, pacing_rate, srtt_us, mss, expert.sets_rate))
        lesson["actions"] = 0
        lesson["actions"][:-1] = np.rint(actions * 2**schema.ACTION_FRAC)
        lesson["flow"] = number
        lesson["now_us"] -= run_origin_us(steps["now_us"][0])
        parts.append(lesson)
    return np.concatenate([steps[:0], *parts])


def described(
    profile: Profile, experts: Sequence[Expert], episode_configs: Sequence[Drawn], seed: int
) -> dict[str, Any]:
    """Return the provenance of a recording: command, profile, seed, git revision and the SHA-256 of the lab's files."""
    files: dict[str, Path] = {"lab kernel": KERNEL, "traffic program": PROGRAM}
    for module in ("lab_gate", "tcp_ndm_gym", *_modules(experts, episode_configs)):
        files[module] = MODULES / f"{module}.ko"
    return {
        "command": shlex.join(sys.orig_argv),
        "profile": profile.name,
        "seed": seed,
        "git_revision": git_revision(),
        "sha256": {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()},
    }
