"""Makes a recording: every expert runs on the same episodes of a profile, with the same random numbers."""

from __future__ import annotations

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
from env.lab import Lab, LabError, VirtualLab
from env.network.schemes import Scheme, SchemeError, find_schemes
from env.own_module import OwnModuleError, prepare, virtual_tree
from env.pool import Pool, lab_files, make_pool
from env.profile import PathSampler, Profile
from env.reference import run_origin_us
from env.rollout import RolloutTask, run_episode
from env.trajectory import Steps
from export.formats.model_file import model_file
from training.experts.equivalent import clipped, equivalent_actions
from training.experts.options import RecordOptions
from training.experts.recording import DrawnEpisode, Lesson, RecordingError, connections
from training.policy import initial_policy


def find_experts(names: Sequence[str]) -> list[Expert]:
    """Return the experts with these names, which are those of compare.py: bbr, cubic, window@16, ndm, ...

    Raises RecordingError for an unknown name, with near matches, and for a scheme that cannot be an expert.
    """
    try:
        experts = [_expert(scheme) for scheme in find_schemes(names)]
    except (SchemeError, OwnModuleError, LabError) as error:
        raise RecordingError(str(error)) from error
    algorithms = [expert.algorithm for expert in experts]
    for expert in experts:
        if algorithms.count(expert.algorithm) > 1:
            raise RecordingError(f"two schemes are the congestion control {expert.algorithm}: record one of them")
    return experts


def _expert(scheme: Scheme) -> Expert:
    if scheme.is_oracle or scheme.model:
        raise RecordingError(
            f"scheme {scheme.name!r} cannot be an expert: neither the lab's kernel nor one of its modules contains it"
        )
    if scheme.source:
        own = prepare(scheme.name, virtual_tree(), partial(VirtualLab, seed=1))
        return Expert(scheme.name, own.algorithm, str(own.file), parameters=own.parameters)
    return Expert(scheme.name, scheme.algorithm, scheme.module, scheme.packets)


def draw(profile: Profile, count: int, seed: int) -> tuple[DrawnEpisode, ...]:
    """Return the first `count` episodes that this seed draws from the profile."""
    rng, sampler = np.random.default_rng(seed), PathSampler(profile)
    return tuple(DrawnEpisode(sampler.draw(rng), int(rng.integers(2**63))) for _ in range(count))


@dataclass(frozen=True)
class RecordingJob:
    """A job (env/pool/job.py) that records the task's expert. episode: its index in the recording."""

    task: RolloutTask
    episode: int
    timeout_s: ClassVar[None] = None

    @property
    def cost(self) -> float:
        """See env.pool.Job."""
        return self.task.packets

    def __call__(self, lab: Lab) -> Lesson:
        """Raises env.lab.LabError."""
        assert self.task.expert is not None
        steps = _with_actions(run_episode(lab, self.task), self.task.expert)
        return Lesson(self.task.expert.name, self.episode, steps)


def record(
    profile: Profile,
    experts: Sequence[Expert],
    episodes: Sequence[DrawnEpisode],
    pool: Pool,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[Lesson, ...]:
    """Record every expert on every episode. The result does not depend on the pool.

    progress: called with the number of newly finished lessons. Raises LabError.
    """
    # a rollout needs a model file, although the expert decides and the model's output is ignored
    unused_model, _ = model_file(initial_policy(1, 0).state_dict(), "none", "none")
    no_noise = np.zeros((0, 0, len(schema.ACTIONS)), np.int16)
    jobs = [
        RecordingJob(
            RolloutTask(
                unused_model,
                drawn.episode_config,
                drawn.seed,
                no_noise,
                profile.episode_decisions * len(drawn.episode_config.learners),
                profile.episode_s,
                expert,
            ),
            number,
        )
        for number, drawn in enumerate(episodes)
        for expert in experts
    ]
    futures = pool.submit(jobs)
    for future in as_completed(futures):
        future.result()
        progress(1)
    return tuple(future.result() for future in futures)


def make_labs(options: RecordOptions, experts: Sequence[Expert], episodes: Sequence[DrawnEpisode]) -> Pool:
    """Return the labs of a recording. Raises env.pool.ClusterError, and RecordingError for modules that exclude each
    other."""
    _check_together(experts, episodes)
    boot = partial(VirtualLab, seed=1)  # each run brings its own seed
    modules = _modules(experts, episodes)
    own = [Path(module) for module in modules if "/" in module]
    files = lab_files(module for module in modules if "/" not in module)
    return make_pool(options.runner, options.ray_address, options.workers, boot, files, own)


def _modules(experts: Sequence[Expert], episodes: Sequence[DrawnEpisode]) -> tuple[str, ...]:
    """Return the kernel modules of the experts and of the competing flows."""
    expert_modules = (module for expert in experts for module in expert.modules)
    rival_modules = sorted({module for drawn in episodes for module in drawn.episode_config.modules})
    return tuple(dict.fromkeys([*expert_modules, *rival_modules]))


def _check_together(experts: Sequence[Expert], episodes: Sequence[DrawnEpisode]) -> None:
    """Raise RecordingError when an expert and a competing flow need two modules of one name in a lab."""
    rivals = {module: parameters for drawn in episodes for module, parameters in drawn.episode_config.modules.items()}
    for expert in experts:
        for module, parameters in rivals.items():
            is_same = (module, parameters) == (expert.module, expert.parameters)
            if expert.module and Path(module).stem == Path(expert.module).stem and not (is_same or expert.packets):
                raise RecordingError(
                    f"scheme {expert.name!r} and a rival of the profile are both in {Path(module).stem}.ko, which a "
                    "kernel has once, with one set of parameters: record another scheme, or another profile"
                )


def _with_actions(steps: Steps, expert: Expert) -> Steps:
    """Return the steps of all connections, one connection after the other, with the equivalent actions.

    The last step of a connection has the action 0. Flow numbers and times count from the beginning of the run, so that
    they do not depend on earlier runs of the lab.
    """
    parts = []
    for number, recorded in enumerate(connections(steps), 1):
        connection = recorded.copy()
        cwnd, pacing_rate, srtt_us, mss = (
            connection[name].astype(np.float64) for name in ("cwnd", "pacing_rate", "srtt_us", "mss")
        )
        actions = clipped(equivalent_actions(cwnd, pacing_rate, srtt_us, mss, expert.sets_rate))
        connection["actions"] = 0
        connection["actions"][:-1] = np.rint(actions * 2**schema.ACTION_FRAC)
        connection["flow"] = number
        connection["now_us"] -= run_origin_us(steps["now_us"][0])
        parts.append(connection)
    return np.concatenate([steps[:0], *parts])


def provenance_of(
    profile: Profile, experts: Sequence[Expert], episodes: Sequence[DrawnEpisode], seed: int
) -> dict[str, Any]:
    """Return the provenance of a recording: command, profile, seed, git revision, hashes of the lab's files."""
    files = lab_files(_modules(experts, episodes))
    return {
        "command": shlex.join(sys.orig_argv),
        "profile": profile.name,
        "seed": seed,
        "git_revision": git_revision(),
        "sha256": {file.name: sha256 for file, sha256 in files.items()},
    }
