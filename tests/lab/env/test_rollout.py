"""Episodes played in the lab's kernel: the network that ships, repeatable to the byte whoever plays them."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from env import schema
from env.expert import Expert
from env.gym.episode import boot_lab
from env.lab import GuestDied, Lab, Play, Record, Reply, VirtualLab
from env.network.path import Path
from env.pool import LabPool
from env.profile import LEARNER, SNAPSHOT, EpisodeConfig, EpisodeFlow
from env.reference import run_origin_us
from env.reward import RewardWeights
from env.rollout import Rollout, RolloutJob, RolloutTask, max_cwnd, run_episode
from env.trajectory import Trajectory, trajectories
from export.checkpoint import policy_sha256
from export.formats.blob import write_blob
from export.integer.model import Provenance
from export.integer.quantize import FloatPolicy, quantize
from export.integer.reference import rollout
from tests.support.labs import shared_lab
from training.policy import initial_policy

DECISIONS = 60
BOTTLENECK = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40))
ROUGH = EpisodeConfig(Path(rate_mbps=10, rtt_ms=30, loss_pct=1, jitter_ms=5))
BESIDE = EpisodeConfig(
    Path(rate_mbps=20, rtt_ms=40), (EpisodeFlow(SNAPSHOT), EpisodeFlow(LEARNER, 0.3), EpisodeFlow(SNAPSHOT, 0.6))
)
SHARED = EpisodeConfig(
    Path(rate_mbps=20, rtt_ms=40), (EpisodeFlow(LEARNER, 0.5), EpisodeFlow(LEARNER, 1.0), EpisodeFlow("cubic", 0.2))
)


def wild_policy() -> FloatPolicy:
    """Weights of an untrained network whose read-out is large enough to move the window."""
    state = initial_policy(16, 3).state_dict()
    state["readout.weight"] = state["readout.weight"] * 60
    return FloatPolicy.from_state_dict(state)


def other_policy() -> FloatPolicy:
    """Another one, which sends less."""
    state = initial_policy(16, 4).state_dict()
    state["readout.weight"] = state["readout.weight"] * 20
    state["readout.bias"] = state["readout.bias"] - 0.05
    return FloatPolicy.from_state_dict(state)


def blob(policy: FloatPolicy) -> bytes:
    sha256 = policy_sha256(initial_policy(16, 3).state_dict())
    return write_blob(quantize(policy), Provenance("test", "bottleneck", sha256, "none", 0))


def noise(seed: int = 0, learners: int = 1) -> npt.NDArray[np.int16]:
    drawn = np.random.default_rng(seed).integers(-3000, 6000, (learners, DECISIONS, 2)).astype(np.int16)
    drawn[:, 0] = 20_000  # with the mean above 1: to be cut
    return drawn


def task(episode_config: EpisodeConfig, seed: int = 1, learners: int = 1) -> RolloutTask:
    model = blob(wild_policy())
    return RolloutTask(model, episode_config, seed, noise(seed, learners), DECISIONS * learners, 30.0)


def rollouts(pool: LabPool, *tasks: RolloutTask) -> list[Rollout]:
    return [future.result() for future in pool.submit([RolloutJob(task, RewardWeights()) for task in tasks])]


lab = shared_lab()


def test_the_network_that_ships_plays(lab: Lab) -> None:
    policy = quantize(wild_policy())
    steps = run_episode(lab, task(SHARED, learners=3))
    flows = np.unique(steps["flow"])
    assert flows.size == 3
    assert steps.size == 3 * DECISIONS + 3
    every_noise = noise(1, 3)
    for i, flow in enumerate(flows.tolist()):
        own = steps[steps["flow"] == flow]
        assert own["decision"].tolist() == list(range(own.size))
        means = rollout(policy, own["features"])[0].astype(int)
        means[:DECISIONS] += every_noise[i, : own.size]
        assert own["actions"].tolist() == means.tolist()
    assert np.abs(steps["actions"]).max() > 1 << schema.ACTION_FRAC, "actions are recorded before the cut"


def test_a_flow_that_has_started_moves_its_window_as_the_policy_says(lab: Lab) -> None:
    """Of two that hold their windows one has its start behind it: it holds them from the first decision on."""
    still = np.zeros((2, DECISIONS, 2), np.int16)
    episode_config = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40), (EpisodeFlow(LEARNER, 0.5),))
    held = initial_policy(16, 3).state_dict()
    held = {name: weight * 0 for name, weight in held.items()}
    model = blob(FloatPolicy.from_state_dict(held))
    asked = RolloutTask(model, episode_config, 1, still, DECISIONS * 2, 30.0, skip_slow_start=(0,))
    steps = run_episode(lab, asked)
    first, second = (steps[steps["flow"] == flow] for flow in np.unique(steps["flow"]))
    assert first["cwnd"][:3].tolist() == [10, 11, 13], "the packet and the quarter of a root of each round trip"
    assert second["cwnd"][1] >= 20
    slow_start = [feature.name for feature in schema.FEATURES].index("slow_start")
    assert (first["features"][1:, slow_start] < 0).all()


def test_rivals_of_modules_are_there(lab: Lab) -> None:
    episode_config = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40), (EpisodeFlow("nv"), EpisodeFlow("ndm", 0.5)))
    steps = run_episode(lab, task(episode_config))
    assert steps.size == DECISIONS + 1
    available = lab.call("shell", command="cat /proc/modules")["stdout"]
    assert {"tcp_nv", "tcp_ndm"} <= {line.split()[0] for line in available.splitlines()}


def test_a_snapshot_is_a_rival_that_the_kernel_plays(lab: Lab) -> None:
    """It decides by its own model, without noise, unrecorded; the policy by the policy's, as if it were alone."""
    policy = quantize(wild_policy())
    steps = run_episode(lab, task(BESIDE, learners=2)._replace(snapshot=blob(other_policy())))
    assert steps.size == 2 * DECISIONS + 2
    for number, flow in enumerate(np.unique(steps["flow"]).tolist()):
        own = steps[steps["flow"] == flow]
        means = rollout(policy, own["features"])[0].astype(int)
        means[:DECISIONS] += noise(1, 2)[number, : own.size]
        assert own["actions"].tolist() == means.tolist()


def test_what_a_snapshot_does_follows_from_its_model(lab: Lab) -> None:
    """The policy for its own snapshot is another policy's rival; nothing of the last run's model is left."""
    episode_config = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40), (EpisodeFlow(SNAPSHOT),))
    wild, other = blob(wild_policy()), blob(other_policy())
    asked = task(episode_config)._replace(noise=np.zeros((0, 0, 2), np.int16))
    told = [asked._replace(snapshot=snapshot) for snapshot in (wild, other, wild, other)]
    first, second, third, fourth = (run_episode(lab, one) for one in told)
    assert same_steps(first, third)
    assert same_steps(second, fourth)
    assert not same_steps(first, second)
    with boot_lab(1) as fresh:
        assert same_steps(run_episode(fresh, told[1]), second)


def test_a_snapshot_shares_the_link_as_the_policy_does(lab: Lab) -> None:
    """A rival with the policy's own model has the share that a second learner has: the same control loop decides."""
    wild = blob(wild_policy())
    silent = task(BOTTLENECK)._replace(noise=np.zeros((0, 0, 2), np.int16))
    beside = {
        scheme: run_episode(
            lab, silent._replace(episode_config=BOTTLENECK._replace(other_flows=(EpisodeFlow(scheme),)), snapshot=wild)
        )
        for scheme in (SNAPSHOT, LEARNER)
    }
    learner = beside[LEARNER]
    first = learner[learner["flow"] == learner["flow"][0]]
    alone = beside[SNAPSHOT][: first.size]
    assert first.size > DECISIONS / 3
    for name in ("cwnd", "delivered", "srtt_us", "features", "actions"):
        assert np.array_equal(first[name], alone[name]), name


def test_a_snapshot_needs_a_model(lab: Lab) -> None:
    with pytest.raises(ValueError, match="the task has no model"):
        run_episode(lab, task(BESIDE, learners=2))


def test_a_teacher_in_the_policys_place_leaves_nothing_behind(lab: Lab) -> None:
    """The lab may go on with the policy: each flow is told from those of earlier runs, whoever measured it."""
    with boot_lab(1) as fresh:
        taught = run_episode(fresh, task(SHARED, learners=3)._replace(expert=Expert("nv", "nv", "tcp_nv")))
    assert np.unique(taught["flow"]).size == 3
    for _ in range(2):
        before = run_episode(lab, task(ROUGH))
        again = run_episode(lab, task(SHARED, learners=3)._replace(expert=Expert("nv", "nv", "tcp_nv")))
        assert same_steps(again, taught)
        assert same_steps(run_episode(lab, task(ROUGH)), before)


def same_steps(one: npt.NDArray[np.void], other: npt.NDArray[np.void]) -> bool:
    """Whether two records say the same, but for when the runs began and how many flows there had been."""
    if one.size != other.size:
        return False
    origins = [run_origin_us(steps["now_us"][0]) for steps in (one, other)]
    clocks = [steps["now_us"] - origin for steps, origin in zip((one, other), origins, strict=True)]
    flows = [steps["flow"] - steps["flow"][0] for steps in (one, other)]
    rest = [name for name in one.dtype.names or () if name not in ("now_us", "flow")]
    pairs = [clocks, flows, *([one[name], other[name]] for name in rest)]
    return all(np.array_equal(a, b) for a, b in pairs)


def test_actions_move_the_window(lab: Lab) -> None:
    steps = run_episode(lab, task(BOTTLENECK))
    growing = np.flatnonzero((steps["actions"][:-1, 0] > 4000) & (steps["ca_state"][1:] == 0))[:10]
    assert growing.size
    assert (steps["cwnd"][growing + 1] > steps["cwnd"][growing]).mean() > 0.8


def test_an_episode_is_a_function_of_its_task(lab: Lab) -> None:
    tasks = [task(episode_config, seed) for episode_config in (BOTTLENECK, ROUGH, SHARED) for seed in (1, 2)]
    alone = [run_episode(lab, one) for one in tasks]
    with LabPool(2, partial(VirtualLab, seed=1)) as pool:
        together = [rollout.trajectories for rollout in rollouts(pool, *reversed(tasks), *tasks)]
    for i, steps in enumerate(alone):
        expected = trajectories(steps, tasks[i].episode_config, RewardWeights())
        for found in (together[len(tasks) - 1 - i], together[len(tasks) + i]):
            assert len(found) == len(expected) == len(tasks[i].episode_config.learners)
            for one, other in zip(found, expected, strict=True):
                assert same(one, other)
    assert not same(together[8][0], together[9][0]), "another seed is another episode"


def same(one: Trajectory, other: Trajectory) -> bool:
    arrays = [
        (getattr(one, name), getattr(other, name)) for name in ("observations", "actions", "rewards", "privileged")
    ]
    arrays += [(one.infos[name], other.infos[name]) for name in one.infos]
    return all(np.array_equal(a, b) for a, b in arrays)


def test_it_ends_after_its_seconds(lab: Lab) -> None:
    steps = run_episode(lab, task(BOTTLENECK)._replace(duration_s=1.0))
    assert 5 < steps.size < DECISIONS
    assert 1e6 <= steps["now_us"][-1] - steps["now_us"][0] < 1.3e6


def test_it_ends_with_a_window_of_which_all_is_lost(lab: Lab) -> None:
    episode_config = EpisodeConfig(Path(rate_mbps=2, rtt_ms=20, buffer_bdp=0.5))
    doubling = task(episode_config)._replace(noise=np.full((1, DECISIONS, 2), 16_384, np.int16))
    steps = run_episode(lab, doubling)
    assert steps.size < DECISIONS
    assert (steps["cwnd"][:-1] <= max_cwnd(episode_config.path)).all()
    assert steps["cwnd"][-1] > max_cwnd(episode_config.path)


def test_a_path_that_carries_nothing_gives_what_there_was(lab: Lab) -> None:
    episode_config = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40, steps=()))
    dead = episode_config._replace(path=Path(rate_mbps=20, rtt_ms=40, loss_pct=100))
    assert run_episode(lab, task(dead)._replace(duration_s=2.0)).size == 0
    assert run_episode(lab, task(BOTTLENECK)).size == DECISIONS + 1, "the lab is none the worse"


def test_without_a_play_the_host_is_asked(lab: Lab) -> None:
    run_episode(lab, task(BOTTLENECK))
    lab.begin_run(BOTTLENECK.path, [{"scheme": "ndm_gym", "start_s": 0.0, "duration_s": 5.0}], 5.0)
    frame = lab.receive()
    assert not isinstance(frame, Record | Reply)
    lab.act(0.0, 0.0, stop=True)
    assert isinstance(lab.receive(), Reply)


@pytest.mark.parametrize(("model", "snapshot"), [(b"", b""), (b"x" * 600, b""), (blob(wild_policy()), b"x" * 600)])
def test_what_is_no_model_ends_the_lab(model: bytes, snapshot: bytes) -> None:
    flow = {"scheme": "ndm_gym", "start_s": 0.0, "duration_s": 5.0}
    with boot_lab(1) as lab:
        lab.begin_run(BOTTLENECK.path, [flow], 5.0, play=Play(model, noise(), 10, 5.0, snapshot=snapshot))
        with pytest.raises(GuestDied, match="the host is gone"):
            lab.receive()
