"""Competing flows of a profile that the user brings, in episodes of rollouts, of the Gymnasium environment and of
trainings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from env.errors import UserError
from env.gym.episode import Episode
from env.lab import VirtualLab
from env.lab.kernels import lab_kernel
from env.profile import PathSampler, Profile, profile_from_config
from env.rollout import RolloutTask, run_episode
from export import checkpoint
from export.formats.model_file import model_file
from tests.support.commands import ROOT, SMALL, ended, run_python, start, train, wait_for
from training.policy import initial_policy

SOURCES = ROOT / "tests" / "support" / "own"
AIMD, FAULTY = SOURCES / "tcp_aimd.c", SOURCES / "tcp_faulty.c"
APART = ("own", "near_and_far")  # components of the profile `fair` without rivals
NO_NOISE = np.zeros((0, 0, 2), np.int16)


def profile(*rivals: str) -> Profile:
    path = {"rate_mbps": {"fixed": 20}, "rtt_ms": {"fixed": 40}, "rivals": list(rivals)}
    return profile_from_config({"name": "own", "paths": {"beside": path}})


def task(of: Profile, decisions: int = 60) -> RolloutTask:
    model, _ = model_file(initial_policy(8, 1).state_dict(), "x", "x")
    return RolloutTask(model, PathSampler(of).draw(np.random.default_rng(0)), 3, NO_NOISE, decisions, 10.0)


def test_rollout_has_the_rival_with_its_parameters() -> None:
    beside_small, beside_large, alone = (
        task(profile(*rivals)) for rivals in ([f"mine@{AIMD}+begin:2"], [f"mine@{AIMD}+begin:90+beta:1000"], [])
    )
    with VirtualLab(seed=1) as lab:
        small = run_episode(lab, beside_small)
        assert lab.call("shell", command="cat /sys/module/tcp_aimd/parameters/begin")["stdout"] == "2\n"
        without = run_episode(lab, alone)
    with VirtualLab(seed=9) as lab:
        large = run_episode(lab, beside_large)
    with VirtualLab(seed=5) as lab:
        assert run_episode(lab, beside_small).tobytes() == small.tobytes(), "an episode is the same in any lab"
    srtt_us = {name: steps["srtt_us"][-20:].mean() for name, steps in
               (("alone", without), ("small", small), ("large", large))}  # fmt: skip
    assert srtt_us["alone"] < srtt_us["large"]
    assert len({steps["delivered"][-1] for steps in (small, large, without)}) == 3


def test_environment_has_the_rival() -> None:
    episode = Episode(profile(f"mine@{AIMD}"), decisions=5)
    try:
        episode.begin(np.random.default_rng(1), seed=1)
        episode.receive_first()
        assert episode.lab is not None
        episode.stop()
        assert "tcp_aimd" in [module.stem for module in episode.lab.modules]
    finally:
        episode.close()


@pytest.mark.parametrize(
    ("rivals", "problem"),
    [
        (["mine@no/such.c"], "paths.beside.rivals: .*no/such.c does not exist"),
        (["mine@+x:1"], "paths.beside.rivals: .*has no path"),
        (["window@16"], "'window@16' cannot be a rival: it is one of ndm"),
        ([f"mine@{AIMD}%bbr3"], "names a kernel, but all flows of an episode have the same one"),
        ([f"mine@{AIMD}+bta:5"], "rivals: mine@.*tcp_aimd has no parameter 'bta': did you mean beta"),
        ([f"mine@{FAULTY}"], "registers several: name the scheme after one of them: faulty, second"),
        ([f"a@{AIMD}", f"b@{AIMD}+beta:700"], "a@.* and b@.* are both the congestion control aimd of tcp_aimd.ko"),
        ([f"copy@{ROOT / 'build/modules/lab/tcp_nv.ko'}"], "nv and copy@.* are both the congestion control nv"),
    ],
)
def test_unusable_rival_is_refused_before_the_first_episode(rivals: list[str], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        PathSampler(profile(*rivals))


def test_source_that_does_not_build_ends_the_training_at_once(tmp_path: Path) -> None:
    source = tmp_path / "tcp_old.c"
    source.write_text(FAULTY.read_text().replace("CODE >= KERNEL", "CODE < KERNEL"))
    options = ["profile=fair", f"profile.paths.beside.rivals=[old@{source}]", "debug=smoke", f"runs={tmp_path}"]
    _, errors = run_python("train.py", *options, "name=x", status=1)
    message = f"{source} does not build for Linux {lab_kernel().release}:"
    assert errors.startswith(f"train.py: profile fair: rivals: old@{source}: {message}")
    assert "since Linux 6.10, cong_control takes four arguments" in errors
    assert not (tmp_path / "x").exists()


def test_training_beside_own_rivals_resumes_with_them(tmp_path: Path) -> None:
    source = shutil.copy(AIMD, tmp_path)
    rivals = f"profile.paths.beside.rivals=[mine@{source}+beta:900]"
    options = [*SMALL, "profile=fair", rivals, "profile.paths.beside.weight=5", f"runs={tmp_path}"]
    whole = start("train.py", *options, "name=whole")
    run = tmp_path / "parts"
    first = start("train.py", *options, "name=parts")
    wait_for(first, run)
    first.kill()
    first.communicate()
    _, errors = train(f"resume={run}", status=1)
    assert f"a file names the congestion control mine@{source}+beta:900, whose code may do whatever you may" in errors
    train(f"resume={run}", "trust=true")
    ended(whole)
    one, two = (checkpoint.load(tmp_path / name) for name in ("whole", "parts"))
    assert one["decisions"] == two["decisions"]
    assert one["sha256"] == two["sha256"]
    card = json.loads((run / "card.json").read_text())
    assert "tcp_aimd" in card["lab"]["modules"]
