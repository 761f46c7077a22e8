"""Makes a recording: every expert on the same episodes of a profile, with the same random numbers, in the lab."""

from __future__ import annotations

import hashlib
import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from env import schema
from env.expert import Expert
from env.lab import Lab, VirtualLab
from env.lab.lab import PROGRAM
from env.lab.virtual import KERNEL, MODULES
from env.network.schemes import Scheme, SchemeError, find_schemes
from env.profile import PathSampler, Profile
from env.reference import run_origin_us
from env.rollout import Task, play
from env.trajectory import Steps
from export.checkpoint import git_revision
from export.model_file import model_file
from export.selection import further_algorithms
from training.experts.equivalent import cut, equivalent_actions
from training.experts.recording import Drawn, Lesson, RecordingError, connections
from training.policy import initial_policy


def find_experts(names: Sequence[str]) -> list[Expert]:
    """Return the experts of these names, as compare.py has them: bbr, cubic, window@16, ndm, ...

    Raises RecordingError for an unknown name, with near matches, and for what cannot teach.
    """
    try:
        return [_expert(scheme) for scheme in find_schemes(names, further_algorithms())]
    except SchemeError as error:
        raise RecordingError(str(error)) from error


def _expert(scheme: Scheme) -> Expert:
    if scheme.is_oracle or scheme.model:
        raise RecordingError(f"scheme {scheme.name!r} cannot teach: it is none of the lab's kernel or its modules")
    return Expert(scheme.name, scheme.algorithm, scheme.module, scheme.packets)


def draw(profile: Profile, count: int, seed: int) -> tuple[Drawn, ...]:
    """Return the first episodes of a profile that are drawn from a seed."""
    rng, sampler = np.random.default_rng(seed), PathSampler(profile)
    return tuple(Drawn(sampler.draw(rng), int(rng.integers(2**63))) for _ in range(count))


def record(
    profile: Profile,
    experts: Sequence[Expert],
    episode_configs: Sequence[Drawn],
    workers: int,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[Lesson, ...]:
    """Record all experts on all episodes; the lessons are the same with any number of workers, the labs side by side.

    progress: called with how many lessons more there are. Raises LabError.
    """
    # the lab's player asks one for every step, and a expert does not listen
    unused, _ = model_file(initial_policy(1, 0).state_dict(), "none", "none")
    own = threading.local()
    labs: list[Lab] = []

    def lab() -> Lab:
        """The thread's own."""
        if not hasattr(own, "lab"):
            own.lab = VirtualLab(seed=1)  # each run brings its own seed
            labs.append(own.lab)
            own.lab.start()
        booted: Lab = own.lab
        return booted

    def teach(expert: Expert, number: int) -> Lesson:
        drawn = episode_configs[number]
        learners = len(drawn.episode_config.learners)
        silence = np.zeros((0, 0, len(schema.ACTIONS)), np.int16)
        decisions = profile.episode_decisions * learners
        task = Task(drawn.episode_config, drawn.seed, silence, decisions, profile.episode_s, expert)
        return Lesson(expert.name, number, _with_actions(play(lab(), unused, task), expert))

    lessons: dict[tuple[int, int], Lesson] = {}
    executor = ThreadPoolExecutor(workers)
    try:
        tasks = {
            executor.submit(teach, expert, number): (number, t)
            for number in range(len(episode_configs))
            for t, expert in enumerate(experts)
        }
        for task in as_completed(tasks):
            lessons[tasks[task]] = task.result()
            progress(1)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for booted in labs:
            booted.close()
        executor.shutdown()
    return tuple(lessons[key] for key in sorted(lessons))


def _modules(experts: Sequence[Expert], episode_configs: Sequence[Drawn]) -> tuple[str, ...]:
    """Return the modules of who teaches and of the flows beside them."""
    of_rivals = sorted({module for drawn in episode_configs for module in drawn.episode_config.modules})
    of_experts = (module for expert in experts for module in expert.modules)
    return tuple(dict.fromkeys([*of_experts, *of_rivals]))


def _with_actions(steps: Steps, expert: Expert) -> Steps:
    """Return the steps of each connection in turn, with the equivalent actions; the last one of each has none.

    Flows and time are counted from the run's beginning, as nothing but the run decides then.
    """
    parts = []
    for number, recorded in enumerate(connections(steps), 1):
        own = recorded.copy()
        cwnd, pacing_rate, srtt_us, mss = (
            own[name].astype(np.float64) for name in ("cwnd", "pacing_rate", "srtt_us", "mss")
        )
        actions = cut(equivalent_actions(cwnd, pacing_rate, srtt_us, mss, expert.sets_rate))
        own["actions"] = 0
        own["actions"][:-1] = np.rint(actions * 2**schema.ACTION_FRAC)
        own["flow"] = number
        own["now_us"] -= run_origin_us(steps["now_us"][0])
        parts.append(own)
    return np.concatenate([steps[:0], *parts])


def described(
    profile: Profile, experts: Sequence[Expert], episode_configs: Sequence[Drawn], seed: int
) -> dict[str, Any]:
    """Return what a recording is made of and with."""
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
