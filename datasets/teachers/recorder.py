"""Makes a recording: every teacher on the same courses of a profile, with the same random numbers, in the lab."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compare.errors import CompareError
from compare.schemes import Scheme, find_schemes
from datasets.teachers.equivalent import cut, equivalent_actions
from datasets.teachers.recording import Course, Demonstration, Recording, RecordingError
from env import schema
from env.episode import INFO, Episode, Interval
from env.lab import LabError, Observation, VirtualLab
from env.lab.virtual import KERNEL, MODULES, PROGRAM
from env.profile import Profile
from training.checkpoint import git_revision

BLOCK = 8  # courses that one lab runs, one after the other
PARAMETERS = Path("/sys/module/tcp_teach/parameters")  # in the guest
REWARD = "reward/"  # how the components of the reward begin in env.episode.INFO


@dataclass(frozen=True)
class Teacher:
    """A congestion control of the lab's kernel: what it is called there, its module ("" for none), its window."""

    name: str
    algorithm: str
    module: str
    packets: int

    @property
    def sets_rate(self) -> bool:
        """False for a constant window, whose pacing rate nobody sets."""
        return not self.packets

    def boot(self, seed: int) -> VirtualLab:
        """Return a lab where this teacher is registered, watched. Raises LabError."""
        lab = VirtualLab(seed=seed, modules=("tcp_teach", self.module) if self.module else ("tcp_teach",))
        lab.start()
        commands = [f"echo {self.algorithm} >{PARAMETERS}/scheme"]
        if self.packets:
            commands.insert(0, f"echo {self.packets} >/sys/module/{self.module}/parameters/packets")
        done = lab.call("shell", command=" && ".join(commands))
        if done["status"]:
            raise LabError(
                f"{self.name} cannot teach: {lab.call('shell', command='dmesg | tail -n 1')['stdout'].strip()}"
            )
        return lab


def find_teachers(names: Sequence[str]) -> list[Teacher]:
    """Return the teachers of these names, as compare.py has them: bbr, cubic, window@16, ndm, ...

    Raises RecordingError for an unknown name, with near matches, and for what cannot teach.
    """
    try:
        return [_teacher(scheme) for scheme in find_schemes(names)]
    except CompareError as error:
        raise RecordingError(str(error)) from error


def _teacher(scheme: Scheme) -> Teacher:
    if scheme.is_oracle or scheme.model:
        raise RecordingError(f"scheme {scheme.name!r} cannot teach: it is none of the lab's kernel or its modules")
    return Teacher(scheme.name, scheme.algorithm, scheme.module, scheme.packets)


def record(
    profile: Profile,
    teachers: Sequence[Teacher],
    courses: int,
    seed: int,
    workers: int,
    progress: Callable[[int], object] = lambda _: None,
) -> Recording:
    """Record all teachers on the first `courses` courses of a profile, drawn from a seed.

    The result does not depend on `workers`, the labs side by side. progress: called with how many connections more are
    done. Raises LabError.
    """
    blocks = [range(first, min(first + BLOCK, courses)) for first in range(0, courses, BLOCK)]
    done: dict[tuple[int, int], list[Demonstration]] = {}
    with ThreadPoolExecutor(workers) as executor:
        tasks = {
            executor.submit(_record_block, profile, teacher, seed, block): (b, t)
            for b, block in enumerate(blocks)
            for t, teacher in enumerate(teachers)
        }
        try:
            for task in as_completed(tasks):
                done[tasks[task]] = task.result()
                progress(len(done[tasks[task]]))
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    demonstrations = [demonstration for key in sorted(done) for demonstration in done[key]]
    return Recording(tuple(demonstrations), described(profile, teachers, courses, seed))


def _record_block(profile: Profile, teacher: Teacher, seed: int, numbers: range) -> list[Demonstration]:
    """Record one teacher on the courses of one lab; all draw the same for every teacher."""
    rng = np.random.default_rng((seed, numbers.start))
    lab_seed = int(rng.integers(2**31))
    episode = Episode(profile, boot=teacher.boot, scheme=f"teach_{teacher.algorithm}")
    demonstrations = []
    try:
        for run, number in enumerate(numbers, 1):
            episode.begin(rng, lab_seed if run == 1 else None)
            course = Course(
                number,
                json.loads(json.dumps(episode.course.path.as_dict())),  # as a file gives it back
                tuple(episode.course.rivals),
                lab_seed,
                run,
                tuple(map(float, episode.path_features)),
            )
            demonstrations.append(_watch(episode, teacher, course))
    finally:
        episode.close()
    return demonstrations


def _watch(episode: Episode, teacher: Teacher, course: Course) -> Demonstration:
    """Follow one connection to the end of its episode."""
    seen: list[Observation] = [episode.receive_first()]
    intervals: list[Interval] = []
    while not intervals or not intervals[-1].over:
        episode.act(0.0, 0.0)  # the lab goes on; what is answered changes nothing
        intervals.append(episode.receive())
        seen.append(intervals[-1].after)
    episode.stop()
    observed = {name: np.array([getattr(o, name) for o in seen], np.uint64) for name in schema.OBSERVATION_FIELDS}
    plain = {name: values.astype(np.float64) for name, values in observed.items()}
    actions = equivalent_actions(plain["cwnd"], plain["pacing_rate"], plain["srtt_us"], plain["mss"], teacher.sets_rate)
    numbers = np.array([interval.numbers() for interval in intervals], np.float32)  # [K, M]
    return Demonstration(
        teacher.name,
        course,
        {name: np.minimum(values, np.iinfo(np.int64).max).astype(np.int64) for name, values in observed.items()},
        np.array([o.features for o in seen], np.int16),
        cut(actions),
        {name.removeprefix(REWARD): numbers[:, i] for i, name in enumerate(INFO) if name.startswith(REWARD)},
    )


def described(profile: Profile, teachers: Sequence[Teacher], courses: int, seed: int) -> dict[str, Any]:
    """Return what a recording was made of and with."""
    modules = {"tcp_teach", "tcp_ndm_gym", "lab_gate", *(teacher.module for teacher in teachers if teacher.module)}
    files = {
        "lab kernel": KERNEL,
        "traffic program": PROGRAM,
        **{name: MODULES / f"{name}.ko" for name in sorted(modules)},
    }
    return {
        "command": shlex.join(sys.orig_argv),
        "profile": profile.name,
        "reward": asdict(profile.reward),
        "schemes": [teacher.name for teacher in teachers],
        "courses": courses,
        "seed": seed,
        "git_revision": git_revision(),
        "sha256": {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()},
    }
