"""Recordings of teachers: the equivalent action, the file, the command line, and the lab that they are made in."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from datasets.teachers import recording as recordings
from datasets.teachers.equivalent import cut, equivalent_actions
from datasets.teachers.options import read_options
from datasets.teachers.recorder import find_teachers, record
from datasets.teachers.recording import Recording, RecordingError, read, write
from datasets.teachers.summary import best_of, table
from env import schema
from env.lab import LabError, Reply, VirtualLab
from env.network.path import Path as NetworkPath
from env.profile import load_profile
from tests.datasets.made_recording import MADE, demonstration, recording

TRACED = re.compile(r"decision=(\d+) x=[-\d,]+ action=(-?\d+),(-?\d+)")


def same(a: Recording, b: Recording) -> bool:
    if a.made != b.made or len(a.demonstrations) != len(b.demonstrations):
        return False
    for x, y in zip(a.demonstrations, b.demonstrations, strict=True):
        arrays = [(x.features, y.features), (x.actions, y.actions)]
        arrays += [(x.observed[name], y.observed[name]) for name in schema.OBSERVATION_FIELDS]
        arrays += [(x.rewards[name], y.rewards[name]) for name in x.rewards]
        if (x.scheme, x.course) != (y.scheme, y.course) or list(x.rewards) != list(y.rewards):
            return False
        if not all(np.array_equal(left, right) for left, right in arrays):
            return False
    return True


# -- the equivalent action ---------------------------------------------------------------------------------------------


def test_window_and_rate_that_are_reached_are_the_action() -> None:
    cwnd = np.array([10.0, 20.0, 10.0, 10.0])
    srtt_us, mss = np.full(4, 40_000.0), np.full(4, 1448.0)
    neutral = 1.25 * cwnd * 1448 / 0.04
    actions = equivalent_actions(cwnd, neutral * [1, 1, 2, 0.5], srtt_us, mss)
    np.testing.assert_allclose(actions, [[1, 0], [-1, 1], [0, -1]], atol=1e-12)


def test_an_unknown_rtt_is_the_kernels_and_no_rate_is_neutral() -> None:
    cwnd, rate = np.array([10.0, 10.0]), np.full(2, 2.0**64)
    known = equivalent_actions(cwnd, np.full(2, 1.25 * 10 * 1448 / 1e-3), np.zeros(2), np.full(2, 1448.0))
    np.testing.assert_allclose(known, [[0, 0]], atol=1e-12)
    assert equivalent_actions(cwnd, rate, np.full(2, 1e3), np.full(2, 1448.0), sets_rate=False).tolist() == [[0, 0]]


def test_actions_are_cut_to_what_ndm_can_do() -> None:
    assert cut(np.array([[3.0, -2.0], [0.5, 0.25]])).tolist() == [[1, -1], [0.5, 0.25]]


@pytest.mark.lab
def test_the_equivalent_action_of_ndm_is_what_it_did() -> None:
    path = NetworkPath(rate_mbps=50, rtt_ms=40, buffer_bdp=1, loss_pct=0.2)
    with VirtualLab(seed=1, modules=("tcp_ndm", "tcp_teach")) as lab:
        lab.call("shell", command="echo ndm >/sys/module/tcp_teach/parameters/scheme")
        lab.begin_run(path, [{"scheme": "teach_ndm", "start_s": 0.0, "duration_s": 15.0}], 15.0, trace=True)
        seen = []
        while not isinstance(frame := lab.receive(), Reply):
            seen.append(frame)
            lab.act(0.0, 0.0)
    matches = [TRACED.search(line) for line in frame.result["trace"]]
    did = np.array([[int(match[2]), int(match[3])] for match in matches if match])[:-1] / 2**schema.ACTION_FRAC
    cwnd, rate, srtt_us, mss = (
        np.array([getattr(o, name) for o in seen], np.float64) for name in ("cwnd", "pacing_rate", "srtt_us", "mss")
    )
    found = cut(equivalent_actions(cwnd, rate, srtt_us, mss))
    assert len(found) == len(did) > 200
    # the window of an observation is a whole number of packets, NDM's own has fractions; time-outs are the kernel's
    usual = np.array([after.ca_state < 4 and before.ca_state < 4 for before, after in pairwise(seen)])
    rounding = np.log2(1 + 1 / np.minimum(cwnd[:-1], cwnd[1:]))
    held_back = (found[:, 0] < did[:, 0] - rounding) & (did[:, 0] > 0)  # growth needs a window that is used up
    close = np.abs(found[:, 0] - did[:, 0]) <= rounding + 1e-3
    assert (close | held_back)[usual].all()
    assert close[usual].mean() > 0.9
    assert np.abs(found[:, 1] - did[:, 1])[usual].max() < 0.01
    assert np.ptp(did[:, 0]) > 0.3, "a policy that always says the same shows nothing"


# -- the file ----------------------------------------------------------------------------------------------------------


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    whole = recording(demonstration("bbr", 0, 5), demonstration("cubic", 0, 1), demonstration("bbr", 3, 9))
    write(tmp_path / "new" / "teachers.parquet", whole)
    assert same(read(tmp_path / "new" / "teachers.parquet"), whole)
    assert [len(group) for group in whole.by_course()] == [2, 1]


def test_columns_carry_their_units_and_the_last_row_has_no_action(tmp_path: Path) -> None:
    file = tmp_path / "teachers.parquet"
    write(file, recording(demonstration("bbr", 0, 2), demonstration("bbr", 1, 1)))
    table = pq.read_table(file)
    assert table.schema.field("srtt_us").metadata == {b"unit": b"us"}
    assert table.schema.field("rtt_ratio").metadata == {b"unit": b"1/4096"}
    assert [value is None for value in table["cwnd_log2"].to_pylist()] == [False, False, True, False, True]
    assert [value is None for value in table["reward_delay"].to_pylist()] == [False, False, True, False, True]


def test_a_file_that_is_none_is_refused_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "teachers.parquet"
    with pytest.raises(RecordingError, match=r"there is no recording .*python -m datasets.teachers record"):
        read(file)
    file.write_bytes(b"PAR1 and nothing of it")
    with pytest.raises(RecordingError, match="is damaged or no recording"):
        read(file)
    monkeypatch.setattr(recordings, "FORMAT", 0)
    write(file, recording(demonstration("bbr", 0, 2)))
    monkeypatch.undo()
    with pytest.raises(RecordingError, match="recorded by another version: it has format 0, not 1: record it again"):
        read(file)


def test_the_best_teacher_is_told_for_each_course() -> None:
    good, bad = demonstration("bbr", 0, 5, reward=0.9), demonstration("cubic", 0, 50, reward=0.1)
    alone = demonstration("cubic", 1, 3)
    assert best_of([bad, good]) is good
    lines = table(recording(good, bad, alone)).splitlines()
    assert lines[2].startswith("| bbr | 1 | 5 | 0.900 | 1 |")
    assert lines[3].startswith("| cubic | 2 | 53 | 0.300 | 1 |")


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
    assert options.teachers == ["bbr", "window@16"]
    assert str(options.file) == "build/teachers/bottleneck.parquet"
    assert read_options([]).teachers == ["bbr", "cubic", "illinois"]


def test_who_cannot_teach_is_refused_by_name() -> None:
    with pytest.raises(RecordingError, match="scheme 'bbx' is unknown: did you mean bbr"):
        find_teachers(["bbx"])
    with pytest.raises(RecordingError, match="scheme 'oracle' cannot teach"):
        find_teachers(["bbr", "oracle"])


# -- the lab -----------------------------------------------------------------------------------------------------------


@pytest.mark.lab
def test_a_recording_is_the_same_with_any_number_of_labs() -> None:
    profile = load_profile("mixed")
    profile.episode_decisions = 30
    teachers = find_teachers(["bbr", "cubic", "window@16"])
    done: list[int] = []
    one, two = (record(profile, teachers, 2, 5, workers, done.append) for workers in (1, 2))
    assert same(Recording(one.demonstrations, MADE), Recording(two.demonstrations, MADE))
    assert sum(done) == 2 * 6
    for group in one.by_course():
        assert [taught.scheme for taught in group] == ["bbr", "cubic", "window@16"]
        assert len({str(taught.course) for taught in group}) == 1, "all teachers had the same course"
        for taught in group:
            assert taught.observed["decision"].tolist() == list(range(len(taught.features)))
            assert 0 < len(taught.actions) <= 30
    window = [taught for taught in one.demonstrations if taught.scheme == "window@16"]
    assert all((taught.observed["cwnd"] == 16).all() and (taught.actions == 0).all() for taught in window)
    assert {str(d.course.path) for d in one.demonstrations if d.course.number == 0} != {
        str(d.course.path) for d in one.demonstrations if d.course.number == 1
    }
    assert set(one.made["sha256"]) >= {"lab kernel", "tcp_teach", "tcp_window"}


@pytest.mark.lab
def test_what_the_kernel_cannot_watch_is_told() -> None:
    with pytest.raises(LabError, match=r"dctcp cannot teach: .*it needs ECN"):
        record(load_profile("bottleneck"), find_teachers(["dctcp"]), 1, 1, 1)
