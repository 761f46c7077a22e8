"""Recordings of experts: the equivalent action, the file, the command line, and the lab that they are made in."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from env import schema
from env.lab import LabError, Observation, Reply, VirtualLab
from env.network.path import Path as NetworkPath
from env.profile import LEARNER, EpisodeConfig, EpisodeFlow, load_profile
from env.reward import RewardWeights
from export.native import Native
from tests.support.recording import lesson, recording
from training.experts import recording as recordings
from training.experts.equivalent import cut, equivalent_actions
from training.experts.options import read_options
from training.experts.recorder import described, draw, find_experts, record
from training.experts.recording import Drawn, Lesson, RecordingError, connections, read, write
from training.experts.summary import best_of, table

TRACED = re.compile(r"decision=(\d+) x=[-\d,]+ action=(-?\d+),(-?\d+)")


def same(one: Sequence[Lesson], other: Sequence[Lesson]) -> bool:
    named = [[(lesson.scheme, lesson.episode_config) for lesson in lessons] for lessons in (one, other)]
    return named[0] == named[1] and all(np.array_equal(a.steps, b.steps) for a, b in zip(one, other, strict=True))


# -- the equivalent action ---------------------------------------------------------------------------------------------


def test_window_and_rate_that_are_reached_are_the_action() -> None:
    cwnd = np.array([16.0, 34.0, 17 + 1 + np.sqrt(34) / 4, 0])
    cwnd[3] = cwnd[2] + 1 + np.sqrt(cwnd[2]) / 4
    srtt_us, mss = np.full(4, 40_000.0), np.full(4, 1448.0)
    neutral = 1.25 * cwnd * 1448 / 0.04
    actions = equivalent_actions(cwnd, neutral * [1, 1, 2, 0.5], srtt_us, mss)
    np.testing.assert_allclose(actions, [[1, 0], [-1, 1], [0, -1]], atol=1e-12)


def test_the_equivalent_action_undoes_what_the_module_computes() -> None:
    native, rng = Native(), np.random.default_rng(1)
    cwnd_fp = rng.integers(4 << 8, 1 << 24, 2000).astype(np.uint32)
    did = rng.integers(-(1 << 14), 1 << 14, cwnd_fp.size).astype(np.int16)
    after = native.next_cwnd(cwnd_fp, did) / 256
    for before, action, reached in zip(cwnd_fp / 256, did / 2**schema.ACTION_FRAC, after, strict=True):
        window = np.array([before, reached])
        found = equivalent_actions(window, window, np.full(2, 1e3), np.full(2, 1448.0), sets_rate=False)[0, 0]
        assert found == pytest.approx(action, abs=4e-3)  # the root is cut to a whole number, windows to 1/256 packet


def test_an_unknown_rtt_is_the_kernels_and_no_rate_is_neutral() -> None:
    cwnd, rate = np.array([16.0, 18.0]), np.full(2, 2.0**64)
    known = equivalent_actions(cwnd, np.full(2, 1.25 * 18 * 1448 / 1e-3), np.zeros(2), np.full(2, 1448.0))
    np.testing.assert_allclose(known, [[0, 0]], atol=1e-12)
    assert equivalent_actions(cwnd, rate, np.full(2, 1e3), np.full(2, 1448.0), sets_rate=False).tolist() == [[0, 0]]


def test_actions_are_cut_to_what_ndm_can_do() -> None:
    assert cut(np.array([[3.0, -2.0], [0.5, 0.25]])).tolist() == [[1, -1], [0.5, 0.25]]


@pytest.mark.lab
def test_the_equivalent_action_of_ndm_is_what_it_did() -> None:
    path = NetworkPath(rate_mbps=50, rtt_ms=40, buffer_bdp=1, loss_pct=0.2)
    with VirtualLab(seed=1, modules=("tcp_ndm", "tcp_expert")) as lab:
        lab.call("shell", command="echo ndm >/sys/module/tcp_expert/parameters/scheme")
        lab.begin_run(path, [{"scheme": "expert_ndm", "start_s": 0.0, "duration_s": 15.0}], 15.0, trace=True)
        seen = []
        while isinstance(frame := lab.receive(), Observation):
            seen.append(frame)
            lab.act(0.0, 0.0)
    assert isinstance(frame, Reply)
    matches = [TRACED.search(line) for line in frame.result["trace"]]
    did = np.array([[int(match[2]), int(match[3])] for match in matches if match])[:-1] / 2**schema.ACTION_FRAC
    cwnd, rate, srtt_us, mss = (
        np.array([getattr(o, name) for o in seen], np.float64) for name in ("cwnd", "pacing_rate", "srtt_us", "mss")
    )
    found = cut(equivalent_actions(cwnd, rate, srtt_us, mss))
    assert len(found) == len(did) > 200
    # the window of an observation is a whole number of packets, NDM's own has fractions; time-outs are the kernel's
    usual = np.array([after.ca_state < 4 and before.ca_state < 4 for before, after in pairwise(seen)])
    # until the first sign of a queue or a loss the window doubles, whatever NDM says (kernel/ndm/ndm_start.h)
    rtt_ratio, loss_rate, rtt_gradient = np.array([o.features for o in seen])[:-1, [0, 5, 7]].T / 2**schema.FEATURE_FRAC
    signs = (rtt_ratio >= 1 / 8) | (rtt_gradient >= 1 / 8) | (loss_rate > 0)
    assert 1 <= signs.argmax() < 20
    usual[: signs.argmax()] = False
    rounding = np.log2(1 + 1 / np.minimum(cwnd[:-1], cwnd[1:]))
    held_back = (found[:, 0] < did[:, 0] - rounding) & (did[:, 0] > 0)  # growth needs a window that is used up
    close = np.abs(found[:, 0] - did[:, 0]) <= rounding + 1e-3
    drained = np.isin(np.arange(len(found)) % 64, [0, 1, 2, 16, 17, 18, 32, 33, 34])  # its window was half, for a while
    assert (close | held_back)[usual & ~drained].all()
    assert close[usual].mean() > 0.9
    assert np.abs(found[:, 1] - did[:, 1])[usual].max() < 0.01
    assert np.ptp(did[:, 0]) > 0.3, "a policy that always says the same shows nothing"


# -- the file ----------------------------------------------------------------------------------------------------------


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    whole = recording(lesson("bbr", 0, 5, flows=2), lesson("cubic", 0, 1), lesson("cubic", 3, 4), lesson("bbr", 3, 9))
    write(tmp_path / "new" / "experts.parquet", whole)
    found = read(tmp_path / "new" / "experts.parquet")
    assert same(found.lessons, whole.lessons)
    assert (found.episode_configs, found.made) == (whole.episode_configs, whole.made)
    assert [len(lessons) for lessons in found.by_course()] == [2, 2]
    for one, other in zip(found.lessons, whole.lessons, strict=True):
        for a, b in zip(found.judged(one, RewardWeights()), whole.judged(other, RewardWeights()), strict=True):
            np.testing.assert_array_equal(a.rewards, b.rewards)


def test_columns_carry_their_units_and_the_last_row_has_no_action(tmp_path: Path) -> None:
    file = tmp_path / "experts.parquet"
    write(file, recording(lesson("bbr", 0, 2, flows=2), lesson("bbr", 1, 1)))
    table = pq.read_table(file)
    assert table.schema.field("srtt_us").metadata == {b"unit": b"us"}
    assert table.schema.field("rtt_ratio").metadata == {b"unit": b"1/4096"}
    assert table.schema.field("pacing").metadata == {b"unit": b"1/16384"}
    assert [value is None for value in table["cwnd_log2"].to_pylist()] == [0, 0, 1, 0, 0, 1, 0, 1]


def test_a_file_that_is_none_is_refused_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "experts.parquet"
    with pytest.raises(RecordingError, match=r"there is no recording .*python -m training.experts record"):
        read(file)
    file.write_bytes(b"PAR1 and nothing of it")
    with pytest.raises(RecordingError, match="is damaged or no recording"):
        read(file)
    monkeypatch.setattr(recordings, "FORMAT", 0)
    write(file, recording(lesson("bbr", 0, 2)))
    monkeypatch.undo()
    with pytest.raises(RecordingError, match="recorded by another version: it has format 0, not 1: record it again"):
        read(file)


def test_a_course_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "experts.parquet"
    monkeypatch.setattr(NetworkPath, "as_dict", lambda _: {"rate_gbps": 1})
    write(file, recording(lesson("bbr", 0, 2)))
    with pytest.raises(
        RecordingError, match=r"a episode_config that this version does not know \(.*rate_gbps.*record it again"
    ):
        read(file)


def test_the_best_teacher_is_told_for_each_course() -> None:
    weights = RewardWeights()
    good, bad, alone = lesson("bbr", 0, 5, share=0.9), lesson("cubic", 0, 50, share=0.1), lesson("cubic", 1, 3)
    whole = recording(good, bad, alone)
    assert best_of(whole, [bad, good], weights) is good
    lines = table(whole, weights).splitlines()
    assert lines[2].startswith("| bbr | 1 | 5 | 0.9")
    assert [cell.strip() for cell in lines[2].split("|")][5] == "1"
    assert lines[3].startswith("| cubic | 2 | 53 | ")
    nothing = Lesson("vegas", 0, good.steps[:1])
    assert best_of(recording(good, nothing), [nothing, good], weights) is good


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["episode=2"], "'episode=2' is no option: did you mean episodes?"),
        (["episodes"], "'episodes' is no option: .*The options are KEY=VALUE with profile, schemes"),
        (["episodes=many"], "Value 'many' of type 'str' could not be converted to Integer"),
        (["episodes=0"], "episodes is 0; it must be at least 1"),
        (["jobs=-1"], "jobs is -1; it must be at least 1"),
        (["seed=-1"], "seed is -1; it must not be negative"),
    ],
)
def test_a_wrong_option_is_named_with_the_right_ones(arguments: list[str], why: str) -> None:
    with pytest.raises(RecordingError, match=why):
        read_options(arguments)


def test_options_have_their_defaults() -> None:
    options = read_options(["schemes=[bbr,window@16]", "profile=bottleneck"])
    assert options.experts == ["bbr", "window@16"]
    assert str(options.file) == "build/experts/bottleneck.parquet"
    assert read_options([]).experts == ["bbr", "cubic", "illinois"]


def test_who_cannot_teach_is_refused_by_name() -> None:
    with pytest.raises(RecordingError, match="scheme 'bbx' is unknown: did you mean bbr"):
        find_experts(["bbx"])
    with pytest.raises(RecordingError, match="scheme 'oracle' cannot teach"):
        find_experts(["bbr", "oracle"])


# -- the lab -----------------------------------------------------------------------------------------------------------


@pytest.mark.lab
def test_lessons_are_the_same_with_any_number_of_labs() -> None:
    profile = load_profile("mixed")
    profile.episode_decisions = 30
    experts = find_experts(["bbr", "cubic", "window@16"])
    shared = Drawn(
        EpisodeConfig(NetworkPath(rate_mbps=20, rtt_ms=40), (EpisodeFlow(LEARNER, 0.5), EpisodeFlow("nv", 0.2))), 3
    )
    episode_configs = (*draw(profile, 2, 5), shared)
    assert draw(profile, 3, 5)[:2] == episode_configs[:2]
    done: list[int] = []
    one, two = (record(profile, experts, episode_configs, workers, done.append) for workers in (1, 2))
    assert same(one, two)
    assert sum(done) == 2 * 9
    assert [(taught.episode_config, taught.scheme) for taught in one] == [
        (number, scheme) for number in range(3) for scheme in ("bbr", "cubic", "window@16")
    ]
    for taught in one:
        own = connections(taught.steps)
        assert len(own) == len(episode_configs[taught.episode_config].episode_config.learners)
        for steps in own:
            assert steps["decision"].tolist() == list(range(steps.size))
            assert steps["actions"][-1].tolist() == [0, 0]
        assert sum(steps.size - 1 for steps in own) == 30 * len(own)
        if taught.scheme == "window@16":
            assert (taught.steps["cwnd"] == 16).all()
            stays = round(math.log2((16 - 1 - 4 / 4) / 16) * 2**schema.ACTION_FRAC)  # less what the law adds
            assert all((steps["actions"][:-1] == (stays, 0)).all() for steps in own)
        else:
            assert (taught.steps["actions"] != 0).any()
    made = described(profile, experts, episode_configs, 5)
    assert set(made["sha256"]) >= {"lab kernel", "tcp_expert", "tcp_window", "tcp_nv"}


@pytest.mark.lab
def test_what_the_kernel_cannot_watch_is_told() -> None:
    profile = load_profile("bottleneck")
    with pytest.raises(LabError, match=r"dctcp cannot teach: .*it needs ECN"):
        record(profile, find_experts(["dctcp"]), draw(profile, 1, 1), 1)
