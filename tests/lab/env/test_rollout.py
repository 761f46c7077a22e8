"""Episodes that the guest runs with the kernel's network: they follow from the task, in any lab and in any order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from env import schema
from env.gym.episode import boot_lab
from env.lab import GuestDied, Lab, Record, Reply, RolloutPlan
from env.network.path import Path
from env.pool import LabPool
from env.profile import LEARNER, SNAPSHOT, EpisodeConfig, EpisodeFlow
from env.reference import run_origin_us
from env.reward import RewardWeights
from env.rollout import RolloutJob, RolloutTask, max_cwnd, run_episode
from env.trajectory import Trajectory, trajectories
from export.formats.blob import write_blob
from export.integer.model import Provenance
from export.integer.quantize import FloatPolicy, quantize
from export.integer.reference import rollout
from tests.support.labs import lab_pool, shared_lab
from training.policy import INITIAL_ACTION

DECISIONS = 60
HIDDEN = 16
BOTTLENECK = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40))
ROUGH = EpisodeConfig(Path(rate_mbps=10, rtt_ms=30, loss_pct=1, jitter_ms=5))
SILENT = np.zeros((0, 0, 2), np.int16)  # no noise


def beside(*flows: EpisodeFlow) -> EpisodeConfig:
    """Return the bottleneck with other flows."""
    return BOTTLENECK._replace(other_flows=flows)


WITH_SNAPSHOTS = beside(EpisodeFlow(SNAPSHOT), EpisodeFlow(LEARNER, 0.3), EpisodeFlow(SNAPSHOT, 0.6))
SHARED = beside(EpisodeFlow(LEARNER, 0.5), EpisodeFlow(LEARNER, 0.75), EpisodeFlow("cubic", 0.2))


def random_policy(seed: int, readout_std: float, growth: float) -> FloatPolicy:
    """Return a random policy that uses the first inputs, so that an appended input does not change it.

    growth: its action in state zero.
    """
    rng = np.random.default_rng(seed)
    w = np.zeros((HIDDEN, len(schema.FEATURES)))
    w[:, : schema.INPUTS_MIN] = rng.normal(0, 0.25, (HIDDEN, schema.INPUTS_MIN))
    u, v = rng.normal(0, 0.17, (HIDDEN, HIDDEN)), rng.normal(0, readout_std, (2, HIDDEN))
    return FloatPolicy(w, u, np.zeros(HIDDEN), v, np.array([growth, 0.0]))


WILD, MODEST = random_policy(3, 0.15, INITIAL_ACTION[0]), random_policy(4, 0.05, INITIAL_ACTION[0] - 0.05)


def blob(policy: FloatPolicy) -> bytes:
    return write_blob(quantize(policy), Provenance("test", "bottleneck", "0" * 64, "none", 0))


def noise(seed: int = 0, learners: int = 1) -> npt.NDArray[np.int16]:
    drawn = np.random.default_rng(seed).integers(-3000, 6000, (learners, DECISIONS, 2)).astype(np.int16)
    drawn[:, 0] = 20_000  # the action is above 1 and must be clamped
    return drawn


def task(episode_config: EpisodeConfig, seed: int = 1, learners: int = 1) -> RolloutTask:
    return RolloutTask(blob(WILD), episode_config, seed, noise(seed, learners), DECISIONS * learners, 30.0)


def rollouts(pool: LabPool, *tasks: RolloutTask) -> list[list[Trajectory]]:
    return [future.result() for future in pool.submit([RolloutJob(task, RewardWeights()) for task in tasks])]


lab = shared_lab()


def of_flows(steps: npt.NDArray[np.void]) -> list[npt.NDArray[np.void]]:
    """Return the steps of each flow."""
    return [steps[steps["flow"] == flow] for flow in np.unique(steps["flow"])]


@pytest.mark.parametrize(
    ("episode_config", "learners", "snapshot"), [(SHARED, 3, b""), (WITH_SNAPSHOTS, 2, blob(MODEST))]
)
def test_learners_follow_the_policy_with_noise(
    lab: Lab, episode_config: EpisodeConfig, learners: int, snapshot: bytes
) -> None:
    """A snapshot decides by its own model, without noise, and leaves no record."""
    steps = run_episode(lab, task(episode_config, learners=learners)._replace(snapshot=snapshot))
    assert steps.size == learners * (DECISIONS + 1)
    for flow_steps, flow_noise in zip(of_flows(steps), noise(1, learners), strict=True):
        assert flow_steps["decision"].tolist() == list(range(flow_steps.size))
        means = rollout(quantize(WILD), flow_steps["features"])[0].astype(int)
        means[:DECISIONS] += flow_noise[: flow_steps.size]
        assert flow_steps["actions"].tolist() == means.tolist()
    assert np.abs(steps["actions"]).max() > 1 << schema.ACTION_FRAC, "actions must be recorded before the clamp"


def test_skipped_slow_start_leaves_policy_the_window(lab: Lab) -> None:
    """Both policies have the action 0; the first flow skips slow start, so its policy decides from the start."""
    still = np.zeros((2, DECISIONS, 2), np.int16)
    # the second flow begins before the first one fills the link
    model, episode_config = blob(random_policy(3, 0.0, 0.0)), beside(EpisodeFlow(LEARNER, 0.1))
    steps = run_episode(lab, RolloutTask(model, episode_config, 1, still, DECISIONS * 2, 30.0, skip_slow_start=(0,)))
    first, second = of_flows(steps)
    # the ACK that ends the first interval adds a packet; then each round trip adds 12 sqrt(1/16) packets and cwnd / 32,
    # as on every path without a queue
    assert first["cwnd"][:3].tolist() == [11, 14, 17]
    assert second["cwnd"][1] >= 20


def test_rivals_of_modules_are_there(lab: Lab) -> None:
    steps = run_episode(lab, task(beside(EpisodeFlow("nv"), EpisodeFlow("ndm", 0.5))))
    assert steps.size == DECISIONS + 1
    available = lab.call("shell", command="cat /proc/modules")["stdout"]
    assert {"tcp_nv", "tcp_ndm"} <= {line.split()[0] for line in available.splitlines()}


def test_a_snapshots_decisions_follow_from_its_model(lab: Lab) -> None:
    """The model of an earlier run does not change a later one."""
    silent = task(beside(EpisodeFlow(SNAPSHOT)))._replace(noise=SILENT)
    wild, modest = (silent._replace(snapshot=blob(policy)) for policy in (WILD, MODEST))
    first, second, third, fourth = (run_episode(lab, one) for one in (wild, modest, wild, modest))
    assert same_steps(first, third)
    assert same_steps(second, fourth)
    assert not same_steps(first, second)
    with boot_lab(1) as fresh:
        assert same_steps(run_episode(fresh, modest), second)


def test_snapshot_and_learner_with_one_model_share_alike(lab: Lab) -> None:
    """The same control loop decides: the policy sees no difference between a snapshot of it and a second learner."""
    beside_snapshot, beside_learner = (
        run_episode(lab, task(beside(EpisodeFlow(scheme)))._replace(noise=SILENT, snapshot=blob(WILD)))
        for scheme in (SNAPSHOT, LEARNER)
    )
    first = of_flows(beside_learner)[0]
    assert first.size > DECISIONS / 3
    for name in ("cwnd", "delivered", "srtt_us", "features", "actions"):
        assert np.array_equal(first[name], beside_snapshot[name][: first.size]), name


def test_snapshot_needs_a_model(lab: Lab) -> None:
    with pytest.raises(ValueError, match="the task has no model"):
        run_episode(lab, task(WITH_SNAPSHOTS, learners=2))


def same_steps(one: npt.NDArray[np.void], other: npt.NDArray[np.void]) -> bool:
    """Compare two records, except for when the runs began and the number of the first flow."""
    if one.size != other.size:
        return False
    origins = [run_origin_us(steps["now_us"][0]) for steps in (one, other)]
    clocks = [steps["now_us"] - origin for steps, origin in zip((one, other), origins, strict=True)]
    flows = [steps["flow"] - steps["flow"][0] for steps in (one, other)]
    rest = [name for name in one.dtype.names or () if name not in ("now_us", "flow")]
    pairs = [clocks, flows, *([one[name], other[name]] for name in rest)]
    return all(np.array_equal(a, b) for a, b in pairs)


def test_actions_move_the_window(lab: Lab) -> None:
    """The window rests where action and queue hold each other: at about 68 and 76 packets, by the law's formula."""
    silent = task(BOTTLENECK)._replace(model=blob(random_policy(3, 0.0, 0.0)))
    growths = [np.zeros((1, DECISIONS, 2), np.int16) + np.array([growth, 0], np.int16) for growth in (-16_384, 16_384)]
    least, most = (run_episode(lab, silent._replace(noise=growth))["cwnd"][15:] for growth in growths)
    assert most.mean() > 1.05 * least.mean()


def test_an_episode_is_a_function_of_its_task(lab: Lab) -> None:
    tasks = [task(episode_config, seed) for episode_config in (BOTTLENECK, ROUGH, SHARED) for seed in (1, 2)]
    alone = [run_episode(lab, one) for one in tasks]
    with lab_pool(2) as pool:
        together = rollouts(pool, *reversed(tasks), *tasks)
    for i, steps in enumerate(alone):
        expected = trajectories(steps, tasks[i].episode_config, RewardWeights())
        for actual in (together[len(tasks) - 1 - i], together[len(tasks) + i]):
            assert len(actual) == len(expected) == len(tasks[i].episode_config.learners)
            for one, other in zip(actual, expected, strict=True):
                assert same(one, other)
    assert not same(together[8][0], together[9][0]), "another seed is another episode"


def same(one: Trajectory, other: Trajectory) -> bool:
    names = ("observations", "actions", "rewards", "privileged")
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
    return arrays and all(np.array_equal(one.infos[name], other.infos[name]) for name in one.infos)


def test_episode_ends_after_its_seconds(lab: Lab) -> None:
    steps = run_episode(lab, task(BOTTLENECK)._replace(duration_s=1.0))
    assert 5 < steps.size < DECISIONS
    assert 1e6 <= steps["now_us"][-1] - steps["now_us"][0] < 1.3e6


def test_bound_holds_a_policy_that_wants_most(lab: Lab) -> None:
    episode_config = EpisodeConfig(Path(rate_mbps=2, rtt_ms=20, buffer_bdp=0.5))
    greedy = task(episode_config)._replace(noise=np.full((1, DECISIONS, 2), 16_384, np.int16))
    steps = run_episode(lab, greedy)
    assert steps.size == DECISIONS + 1, "a window beyond the largest useful one would have ended the run"
    assert (steps["cwnd"] <= max_cwnd(episode_config.path)).all()


def test_dead_path_gives_an_empty_record(lab: Lab) -> None:
    dead = EpisodeConfig(Path(rate_mbps=20, rtt_ms=40, loss_pct=100))
    assert run_episode(lab, task(dead)._replace(duration_s=2.0)).size == 0
    assert run_episode(lab, task(BOTTLENECK)).size == DECISIONS + 1, "the lab does not work any more"


def test_host_decides_without_a_model(lab: Lab) -> None:
    run_episode(lab, task(BOTTLENECK))
    lab.begin_run(BOTTLENECK.path, [{"scheme": "ndm_gym", "start_s": 0.0, "duration_s": 5.0}], 5.0)
    frame = lab.receive()
    assert not isinstance(frame, Record | Reply)
    lab.act(0.0, 0.0, stop=True)
    assert isinstance(lab.receive(), Reply)


@pytest.mark.parametrize(("model", "snapshot"), [(b"", b""), (b"x" * 600, b""), (blob(WILD), b"x" * 600)])
def test_invalid_model_ends_the_lab(model: bytes, snapshot: bytes) -> None:
    flow = {"scheme": "ndm_gym", "start_s": 0.0, "duration_s": 5.0}
    with boot_lab(1) as lab:
        lab.begin_run(BOTTLENECK.path, [flow], 5.0, plan=RolloutPlan(model, noise(), 10, 5.0, snapshot=snapshot))
        with pytest.raises(GuestDied, match="the channel failed"):
            lab.receive()
