"""Populations: where their runs are, which of them go on, and the report of all seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from env.errors import UserError
from tests.support.runs import made_up, rows
from training.run_folder import curves
from training.run_folder.curves import Curve
from training.sweeps import population
from training.sweeps.population import Population
from training.sweeps.population_sweeper import PopulationSweeper, named


def curve(*values: float) -> Curve:
    return Curve(np.arange(1, len(values) + 1) * 100.0, np.array(values))


def test_parts_of_a_curve() -> None:
    rewards = curve(*range(20))
    assert rewards.part(0.0, 0.1) == 0.5
    assert rewards.part(0.0, 1.0) == 9.5
    assert rewards.part(0.9, 1.0) == 18.5
    assert curve(3.0, 5.0).part(0.0, 0.1) == 3.0, "an update that is longer than the part"
    assert rewards.reached(4.5) == 600
    assert rewards.reached(99) == np.inf


def test_median_and_band_cover_all_curves() -> None:
    decisions, middle, low, high = curves.median_and_band([curve(0, 1, 2), curve(0, 2, 4, 6), curve(0, 3, 6)])
    assert (decisions[0], decisions[-1]) == (100, 300)
    assert (middle[-1], low[-1], high[-1]) == (4, 2, 6)


def test_table_has_every_seed_and_failures(tmp_path: Path) -> None:
    one = Population(
        "plain",
        (
            made_up(tmp_path / "plain-1", 1, [0.0] * 5 + [1.0] * 5),
            made_up(tmp_path / "plain-2", 2, [0.0] * 10),
            made_up(tmp_path / "plain-3", 3, [0.0] * 9 + [1.0]),
            made_up(tmp_path / "plain-4", 4, [], "failed: the guest died"),
        ),
    )
    other = Population("warm", (made_up(tmp_path / "warm-1", 1, [1.0] * 10),))
    head, _, *body = rows(population.table([one, other]))
    assert [row[:3] for row in body] == [
        ["plain-1", "1", "finished"],
        ["plain-2", "2", "finished"],
        ["plain-3", "3", "finished"],
        ["plain-4", "4", "failed: the guest died"],
        ["warm-1", "1", "finished"],
        *(["**plain: " + name + "**", "", "of 3"] for name in ("median", "lowest", "highest")),
        *(["**warm: " + name + "**", "", "of 1"] for name in ("median", "lowest", "highest")),
    ]
    last, first = head.index("reward, last tenth"), head.index("reward, first tenth")
    reached = head.index("decisions to a reward of 0.950")
    assert [row[last] for row in body[:8]] == ["1.000", "0.000", "1.000", "", "1.000", "1.000", "0.000", "1.000"]
    assert [row[first] for row in body[:5]] == ["0.000", "0.000", "0.000", "", "1.000"]
    assert [row[reached] for row in body[:8]] == ["600", "never", "1,000", "", "100", "1,000", "600", "never"]
    assert [row[4] for row in body[:2]] == ["1.5", "1.5"]


def test_command_writes_the_report_and_names_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [made_up(tmp_path / "p" / f"p-{seed}", seed, [0.1 * seed] * 4) for seed in (1, 2, 10)]
    assert population.main([str(tmp_path / "p")]) == 0
    printed, _, files = capsys.readouterr().out.partition("\n\n")
    assert [row[0] for row in rows(printed)[2:5]] == ["p-1", "p-2", "p-10"]
    assert (tmp_path / "p" / "population.md").read_text() == f"{printed}\n"
    assert files.split(", ") == [str(tmp_path / "p" / "population.md"), f"{tmp_path / 'p' / 'population.png'}\n"]
    assert (tmp_path / "p" / "population.png").read_bytes().startswith(b"\x89PNG")
    assert population.main([*map(str, runs), "--picture", str(tmp_path / "three.png")]) == 0
    assert capsys.readouterr().out == f"{printed}\n\n{tmp_path / 'three.png'}\n"
    assert population.main([str(tmp_path / "nix")]) == 1
    assert f"there is no run or population {tmp_path / 'nix'}" in capsys.readouterr().err
    assert population.main([str(tmp_path / "p"), str(runs[0])]) == 1
    assert f"{runs[0]}: not a population" in capsys.readouterr().err
    untrained = Population("u", (made_up(tmp_path / "untrained", 1, []),))
    files_of_it = population.write_report([untrained], tmp_path / "u.md", tmp_path / "u.png")
    assert files_of_it == [tmp_path / "u.md"], "nothing to draw"
    with pytest.raises(UserError, match="no metric charts/goodput_share"):
        curves.draw({"p": [made_up(tmp_path / "failed", 1, [])]}, tmp_path / "failed.png")


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["mixed"]),
        (["profile=fair", "lab.workers=1", "runs=x", "hydra/launcher=ray"], ["fair"]),
        (["algo=ppo", "debug=smoke", "profile=bottleneck", "algo.hidden=8"], ["bottleneck-ppo-smoke-hidden_8"]),
        (["name=mine", "algo.hidden=8"], ["mine"]),
        (["name=mine", "algo.hidden=8,16"], ["mine-hidden_8", "mine-hidden_16"]),
        (
            ["profile=fair,delay", "algo.start=build/a"],
            [f"{p}-start_build_a" for p in ("fair", "delay")],
        ),
        (["algo.blind=[rtt_variation,rtt_gradient]"], ["mixed-blind_rtt_variation_rtt_gradient"]),
    ],
)
def test_a_population_has_one_name_whatever_its_seeds(arguments: list[str], names: list[str]) -> None:
    overrides = OverridesParser.create().parse_overrides(["seed=1,2,3", *arguments])
    jobs = named(overrides, PopulationSweeper.split_arguments(overrides, None)[0])
    assert list(dict.fromkeys(job[-1] for job in jobs)) == [f"name={name}" for name in names]
    assert [job[0] for job in jobs[: len(jobs) : len(jobs) // 3]] == ["seed=1", "seed=2", "seed=3"]
