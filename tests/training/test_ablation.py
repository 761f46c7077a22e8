"""Variants of a training side by side: the table, the command line, and runs that are made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datasets.teachers.recorder import described, draw, find_teachers, record
from datasets.teachers.recording import Recording, write
from env.profile import load_profile
from training import checkpoint
from training.ablation import AblationError, Curve, Variant, main, parse, table


def curve(*rewards: float) -> Curve:
    return Curve(np.arange(1, len(rewards) + 1) * 100.0, np.array(rewards))


def test_parts_of_a_curve() -> None:
    found = curve(*range(20))
    assert found.part(0.0, 0.1) == 0.5
    assert found.part(0.0, 1.0) == 9.5
    assert found.part(0.9, 1.0) == 18.5
    assert curve(3.0, 5.0).part(0.0, 0.1) == 3.0, "an update that is longer than the part"
    assert found.reached(4.5) == 600
    assert found.reached(99) == np.inf


def test_the_table_has_every_seed_and_the_medians() -> None:
    plain = {1: curve(*[0.0] * 5, *[1.0] * 5), 2: curve(*[0.0] * 10), 3: curve(*[0.0] * 9, 1.0)}
    lines = table({"plain": plain, "warm": {1: curve(*[1.0] * 10)}}).splitlines()
    assert lines[0] == (
        "| variant | seed | reward, first tenth | reward, first third | reward, all | reward, last tenth "
        "| decisions to 0.950 |"
    )
    assert lines[2:] == [
        "| plain | 1 | 0.000 | 0.000 | 0.500 | 1.000 | 600 |",
        "| plain | 2 | 0.000 | 0.000 | 0.000 | 0.000 | never |",
        "| plain | 3 | 0.000 | 0.000 | 0.100 | 1.000 | 1,000 |",
        "| warm | 1 | 1.000 | 1.000 | 1.000 | 1.000 | 100 |",
        "| plain | median | 0.000 | 0.000 | 0.100 | 1.000 | 1,000 |",
        "| warm | median | 1.000 | 1.000 | 1.000 | 1.000 | 100 |",
    ]


def test_the_command_line_is_read() -> None:
    words = [
        "runs/x",
        "--seeds",
        "1",
        "4",
        "--common",
        "profile=fiber",
        "--variant",
        "a",
        "--variant",
        "b",
        "x=1",
        "y=2",
    ]
    assert parse(words) == (
        Path("runs/x"),
        [1, 4],
        ["profile=fiber"],
        [Variant("a", ()), Variant("b", ("x=1", "y=2"))],
    )


@pytest.mark.parametrize("variants", [["--variant", "a", "--variant", "a"], ["--variant", "algo.hidden=4"]])
def test_variants_need_names(variants: list[str]) -> None:
    with pytest.raises(AblationError, match="each needs a name of its own, without ="):
        parse(["runs/x", *variants])


@pytest.mark.lab
def test_variants_are_trained_once_and_a_warm_start_shows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    profile = load_profile("bottleneck")
    profile.episode_decisions = 100
    teachers = find_teachers(["bbr"])
    courses = draw(profile, 2, 1)
    made = described(profile, teachers, courses, 1)
    file = tmp_path / "teachers.parquet"
    write(file, Recording(courses, record(profile, teachers, courses, 2), made))
    words = [str(tmp_path / "runs"), "--seeds", "1", "--common", "profile=bottleneck", "debug=smoke"]
    # next to no exploration: what is played is the policy
    words += ["algo.initial_std=0.05", "algo.final_std=0.05", "algo.hidden=16", "algo.total_decisions=500"]
    words += ["lab.timeout_s=250"]
    words += ["--variant", "plain", "--variant", "warm", f"algo.imitate={file}", "algo.imitate_steps=800"]
    assert main(words) == 0
    first = capfd.readouterr()
    assert "imitation: bbr on 2 courses" in first.err
    rows = [line.split(" | ") for line in first.out.splitlines() if line.startswith(("| plain | 1", "| warm | 1"))]
    plain, warm = (float(row[4]) for row in rows)
    assert warm > plain + 0.1, "the first decisions of a warm training are those of its teacher"
    assert (tmp_path / "runs" / "ablation.png").stat().st_size > 10_000
    assert checkpoint.load(tmp_path / "runs" / "warm-1")["config"]["algo"]["imitate"] == str(file)
    assert main(words) == 0
    again = capfd.readouterr()
    assert first.out.endswith(again.out), "the same table"
    assert "train.py" not in again.err, "runs that are done are not made again"
