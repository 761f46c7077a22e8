"""Recordings of experts: the equivalent action, the file, the command line, and the lab that they are made in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from env.network.path import Path as NetworkPath
from env.reward import RewardWeights
from tests.support.experts import lesson, recording, same_lessons
from training.experts import recording as recordings
from training.experts.equivalent import clipped, equivalent_actions
from training.experts.options import read_options
from training.experts.recorder import find_experts
from training.experts.recording import Lesson, RecordingError, read, write
from training.experts.summary import best_of, table

# -- the equivalent action ---------------------------------------------------------------------------------------------


def test_reached_window_and_rate_give_the_action() -> None:
    cwnd = np.array([16.0, 34.0, 17 + 1 + np.sqrt(34) / 4, 0])
    cwnd[3] = cwnd[2] + 1 + np.sqrt(cwnd[2]) / 4
    srtt_us, mss = np.full(4, 40_000.0), np.full(4, 1448.0)
    neutral = 1.25 * cwnd * 1448 / 0.04
    actions = equivalent_actions(cwnd, neutral * [1, 1, 2, 0.5], srtt_us, mss)
    np.testing.assert_allclose(actions, [[1, 0], [-4 / 7, 1], [0, -1]], atol=1e-12)


def test_unknown_rtt_and_rate_have_defaults() -> None:
    cwnd, rate = np.array([16.0, 18.0]), np.full(2, 2.0**64)
    known = equivalent_actions(cwnd, np.full(2, 1.25 * 18 * 1448 / 1e-3), np.zeros(2), np.full(2, 1448.0))
    np.testing.assert_allclose(known, [[0, 0]], atol=1e-12)
    assert equivalent_actions(cwnd, rate, np.full(2, 1e3), np.full(2, 1448.0), sets_rate=False).tolist() == [[0, 0]]


def test_actions_are_cut_to_what_ndm_can_do() -> None:
    assert clipped(np.array([[3.0, -2.0], [0.5, 0.25]])).tolist() == [[1, -1], [0.5, 0.25]]


# -- the file ----------------------------------------------------------------------------------------------------------


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    whole = recording(lesson("bbr", 0, 5, flows=2), lesson("cubic", 0, 1), lesson("cubic", 3, 4), lesson("bbr", 3, 9))
    write(tmp_path / "new" / "experts.parquet", whole)
    loaded = read(tmp_path / "new" / "experts.parquet")
    assert same_lessons(loaded.lessons, whole.lessons)
    assert (loaded.episodes, loaded.provenance) == (whole.episodes, whole.provenance)
    assert [len(lessons) for lessons in loaded.by_episode()] == [2, 2]
    for one, other in zip(loaded.lessons, whole.lessons, strict=True):
        for a, b in zip(
            loaded.trajectories_of(one, RewardWeights()), whole.trajectories_of(other, RewardWeights()), strict=True
        ):
            np.testing.assert_array_equal(a.rewards, b.rewards)


def test_columns_have_units_last_row_no_action(tmp_path: Path) -> None:
    file = tmp_path / "experts.parquet"
    write(file, recording(lesson("bbr", 0, 2, flows=2), lesson("bbr", 1, 1)))
    table = pq.read_table(file)
    assert table.schema.field("srtt_us").metadata == {b"unit": b"us"}
    assert table.schema.field("rtt_ratio").metadata == {b"unit": b"1/4096"}
    assert table.schema.field("pacing").metadata == {b"unit": b"1/16384"}
    assert [value is None for value in table["cwnd_log2"].to_pylist()] == [0, 0, 1, 0, 0, 1, 0, 1]


def test_unreadable_file_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "experts.parquet"
    with pytest.raises(RecordingError, match=r"there is no recording .*python -m training.experts record"):
        read(file)
    file.write_bytes(b"PAR1 and nothing of it")
    with pytest.raises(RecordingError, match="is damaged or is not a recording"):
        read(file)
    monkeypatch.setattr(recordings, "FORMAT", 0)
    write(file, recording(lesson("bbr", 0, 2)))
    monkeypatch.undo()
    with pytest.raises(RecordingError, match="recorded by another version: it has format 0, not 2: record it again"):
        read(file)


def test_recording_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "experts.parquet"
    monkeypatch.setattr(NetworkPath, "as_dict", lambda _: {"rate_gbps": 1})
    write(file, recording(lesson("bbr", 0, 2)))
    with pytest.raises(
        RecordingError, match=r"an episode that this version does not support \(.*rate_gbps.*record it again"
    ):
        read(file)


def test_best_expert_of_each_episode_config_is_marked() -> None:
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
        (["episodes=many"], "episodes is 'many'; it must be a whole number"),
        (["episodes=0"], "episodes is 0; it must be at least 1"),
        (["jobs=-1"], "jobs is -1; it must be at least 1"),
        (["seed=-1"], "seed is -1; it must be at least 0"),
        (["runner=rai"], "did you mean ray"),
        (["ray_address=auto"], "add runner=ray"),
    ],
)
def test_wrong_option_names_the_right_ones(arguments: list[str], why: str) -> None:
    with pytest.raises(RecordingError, match=why):
        read_options(arguments)


def test_options_have_their_defaults() -> None:
    options = read_options(["schemes=[bbr,window@16]", "profile=bottleneck"])
    assert options.experts == ["bbr", "window@16"]
    assert str(options.file) == "build/experts/bottleneck.parquet"
    assert read_options([]).experts == ["bbr", "cubic", "illinois"]


def test_schemes_that_cannot_be_recorded_are_refused() -> None:
    with pytest.raises(RecordingError, match="scheme 'bbx' is unknown: did you mean bbr"):
        find_experts(["bbx"])
    with pytest.raises(RecordingError, match="scheme 'oracle' cannot be an expert"):
        find_experts(["bbr", "oracle"])
