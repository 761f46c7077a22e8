"""The command line: a wrong word is answered with the right ones."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from env.checkout import CONFIGS
from env.errors import UserError
from env.profile import load_profile
from env.reward import RewardWeights
from train import help_text
from training import learner
from training.config import LEARNERS, check_command_line, read_config, resumed_config, with_own_profiles
from training.learner import kinds
from training.options import LabOptions, TrainConfig
from training.ppo import PpoOptions
from training.sweeps.population_sweeper import PopulationSweeper, named

GROUPS = ("algo", "debug", "lab", "profile")


def composed(*overrides: str) -> TrainConfig:
    """Compose with the shortest profile, unless the overrides name another."""
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return read_config(compose("train", ["profile=bottleneck", *overrides]))


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("algo.lerning_rate=1", ["algo.lerning_rate", "did you mean learning_rate?", "gae_lambda"]),
        ("seeed=3", ["seeed", "did you mean seed?", "resume"]),
        ("profile.reward.dely=2", ["did you mean delay?", "goodput, delay, loss"]),
        ("profile=foo", ["foo", "bottleneck", "mixed"]),
        ("lab=moon", ["moon", "virtual"]),
        ("lab.workers=many", ["lab.workers", "many", "a whole number"]),
        ("--profile=mixed", ["--profile=mixed", "write profile=mixed"]),
    ],
)
def test_wrong_word(override: str, words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        check_command_line([override])
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("override", "text"),
    [
        ("algo.gamma=2", "algo.gamma is 2"),
        ("algo.snapshots=0", "algo.snapshots is 0"),
        ("algo.skip_slow_start_until=2", "algo.skip_slow_start_until is 2.0; it must be at least 0 and at most 1"),
        ("lab.workers=0", "lab.workers is 0"),
        ("name=a/b", "name is 'a/b'"),
        ("seed=-1", "seed is -1"),
        ("profile.episode_decisions=0", "episode_decisions is 0"),
    ],
)
def test_value_out_of_range(override: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        composed(override)


@pytest.mark.parametrize("of_before", [{}, {"start_width": 0.3}, {"hard_share": 0.1}])
def test_run_from_before_options_went_goes_on(of_before: dict[str, float]) -> None:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        again = compose("train", ["profile=bottleneck"])
    saved: Any = OmegaConf.to_container(again)
    assert saved["algo"].pop("skip_slow_start_until") == 0.65
    saved["curriculum"] = {"start_width": 1.0, "hard_share": 0.0, "skip_slow_start_until": 0.5} | of_before
    if not of_before:
        assert read_config(resumed_config(saved, again, [])).algo.skip_slow_start_until == 0.5
        return
    with pytest.raises(UserError, match=r"the run began with curriculum\.\w+=0\.[13], which this version does not"):
        resumed_config(saved, again, [])


def test_a_checkpoint_chooses_no_cluster_and_trusts_nothing() -> None:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        plain = compose("train", ["profile=bottleneck"])
        on_ray = compose("train", ["profile=bottleneck", "runner=ray", "ray_address=mine:1"])
    saved: Any = OmegaConf.to_container(plain) | {"runner": "ray", "ray_address": "theirs:6379", "trust": True}
    resumed = read_config(resumed_config(saved, plain, []))
    assert (resumed.runner, resumed.ray_address, resumed.trust) == ("local", None, False)
    resumed = read_config(resumed_config(saved, on_ray, ["runner=ray", "ray_address=mine:1"]))
    assert (resumed.runner, resumed.ray_address) == ("ray", "mine:1")
    with pytest.raises(UserError, match=r"the checkpoint's configuration has .*HOME.* takes no variables"):
        resumed_config(saved | {"name": "${oc.env:HOME}"}, plain, [])


@pytest.mark.parametrize("file", sorted((CONFIGS).glob("*/*.yaml")), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_launch_command_of_every_file(file: Path) -> None:
    """The first comment of a configuration file is the command that uses it; those of train.py compose."""
    first = next(line for line in file.read_text().splitlines() if not line.startswith("# @package"))
    if not first.startswith("# python train.py "):
        assert file.parent.name not in GROUPS, f"{file} does not begin with its command"
        return
    overrides = first.removeprefix("# python train.py ").split()
    assert f"{file.parent.name}={file.stem}" in overrides
    composed(*overrides)


def test_debug_is_small() -> None:
    smoke = composed("debug=smoke")
    assert smoke.algo.total_decisions <= 2000
    assert smoke.lab.workers == 1


def test_resumed_run_keeps_its_configuration() -> None:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        saved = compose("train", ["profile=bottleneck", "seed=5", "algo.hidden=12"])
        overrides = ["resume=runs/x", "algo.total_decisions=900", "lab.workers=1"]
        again = compose("train", overrides)
    plain = OmegaConf.to_container(saved)
    assert isinstance(plain, dict)
    config = read_config(resumed_config(plain, again, overrides))
    assert (config.profile.name, config.seed, config.algo.hidden) == ("bottleneck", 5, 12)
    assert (config.algo.total_decisions, config.lab.workers) == (900, 1)
    for refused in ("seed=6", "profile=mixed", "name=other", "algo=ppo_long", "profile.reward.delay=0.2"):
        with pytest.raises(UserError, match="cannot be changed in a resumed run"):
            resumed_config(plain, again, [*overrides, refused])


def test_profile_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "name: office\npaths:\n  alone:\n    rate_mbps: {fixed: 50}\n"
    for name in ("office.yaml", "mixed.yaml", "a b.yml"):  # also one of a shipped profile's name
        (tmp_path / name).write_text(text)
        word = f"profile='{name}'" if " " in name else f"profile={name}"
        chosen = composed(with_own_profiles(word), "profile.reward.delay=0.7")
        assert chosen.profile == replace(load_profile(name), reward=RewardWeights(delay=0.7))
    swept = with_own_profiles("profile=office.yaml,bottleneck")
    overrides = OverridesParser.create().parse_overrides([swept])
    jobs = named(overrides, PopulationSweeper.split_arguments(overrides, None)[0])
    assert [job[-1] for job in jobs] == ["name=office", "name=bottleneck"]
    assert [composed(*job).profile.name for job in jobs] == ["office", "bottleneck"]
    (tmp_path / "bad.yaml").write_text(f"{text}rewards: 3\n")
    for name, reason in (("bad.yaml", r"bad\.yaml: rewards is unknown"), ("no.yaml", r"no\.yaml: No such file")):
        with pytest.raises(UserError, match=reason):
            with_own_profiles(f"profile={name}")


def test_help_explains_keys_and_lists_files() -> None:
    text = help_text()
    for key in ("seed=1", "lab.workers=2", "algo.gamma=0.98", "algo.hidden=8", "profile=mixed", "algo=ppo_long"):
        line = next(line for line in text.splitlines() if line.startswith(f"  {key} "))
        assert len(line.removeprefix(f"  {key} ").strip()) > 10, line
    learners = [kind.OPTIONS for kind in LEARNERS.values()]
    keys = [entry.name for options in (LabOptions, *learners) for entry in fields(options)]
    assert [key for key in keys if key != "kind" and f".{key}=" not in text] == []


@pytest.mark.parametrize("algo", sorted(file.stem for file in (CONFIGS / "algo").glob("*.yaml")))
def test_debug_knows_every_learner(algo: str) -> None:
    """Otherwise the run would silently be one of full length."""
    full = composed(f"algo={algo}")
    length = LEARNERS[full.algo.kind].build(full).progress.total
    for debug in (file.stem for file in (CONFIGS / "debug").glob("*.yaml")):
        small = composed(f"algo={algo}", f"debug={debug}")
        assert small.algo.kind == full.algo.kind
        assert small.algo != full.algo
        assert LEARNERS[full.algo.kind].build(small).progress.total < length


def test_each_learner_can_be_resumed_by_its_name() -> None:
    """train.py resume= chooses the options by algo=KIND."""
    assert {name: kind for name, kind in kinds().items() if name in LEARNERS} == {kind: kind for kind in LEARNERS}


def test_a_file_without_its_learner_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "CONFIGS", tmp_path)
    (tmp_path / "algo").mkdir()
    for text in ("hidden: 3\n", "defaults:\n  - ppo\n"):
        (tmp_path / "algo" / "mine.yaml").write_text(text)
        with pytest.raises(ValueError, match=r"mine\.yaml has the first default (None|ppo); it must be /learner/KIND"):
            kinds()


def test_options_are_those_of_the_learner() -> None:
    assert isinstance(composed().algo, PpoOptions)
    with pytest.raises(UserError, match=r"algo\.population is unknown.*algo are .*gae_lambda"):
        check_command_line(["algo.population=3"])
    with pytest.raises(UserError, match=r"algo\.kind is sac, .* choose the learner by algo="):
        composed("algo=ppo", "algo.kind=sac")
