"""The curriculum: its schedule, its choice, its file."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from env.network.path import Path as NetworkPath
from env.network.step import Step
from env.profile import EpisodeConfig, EpisodeFlow, profile_from_config
from env.rollout import Rollout
from training.curriculum import cases
from training.curriculum.cases import Case, hardest
from training.curriculum.curriculum import Curriculum, CurriculumOptions, mean_reward
from training.ppo import PpoOptions


def never() -> bool:
    return False


def case(gap: float, update: int = 10, part: str = "a") -> Case:
    path = NetworkPath(rate_mbps=12.5, rtt_ms=30, buffer_bdp=2, steps=(Step(1.25, loss_pct=1.0),))
    episode_config = EpisodeConfig(path, (EpisodeFlow("bbr", 0.25),), component=part)
    return Case(episode_config, 3, b"snapshot", update, "bbr", 0.5 + gap, 0.5)


# -- what is drawn from, when ------------------------------------------------------------------------------------------


def test_the_width_grows_to_the_whole() -> None:
    options = CurriculumOptions(start_width=0.2, whole_after=0.5)
    assert [options.width(done) for done in (0, 0.25, 0.5, 1)] == pytest.approx([0.2, 0.6, 1, 1])
    assert CurriculumOptions(start_width=0.2, whole_after=0).width(0) == 1
    assert CurriculumOptions().width(0) == 1
    assert not CurriculumOptions().changes_anything


def test_slow_start_is_skipped_until_its_update() -> None:
    some = profile_from_config({"name": "x", "paths": {"a": {}}, "skip_slow_start_prob": 0.5})
    every = profile_from_config({"name": "x", "paths": {"a": {}}})
    for profile, chances in ((some, [1.0, 1.0, 0.5, 0.5]), (every, [0.0] * 4)):
        curriculum = Curriculum(CurriculumOptions(skip_slow_start_until=0.5), profile, 1, 100, None)
        assert [curriculum.sampling_state(done, ()).skip_slow_start_prob for done in (0, 0.49, 0.5, 1)] == chances


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"skip_slow_start_until": 2}, "curriculum.skip_slow_start_until is 2; it must be at least 0 and at most 1"),
        ({"start_width": 0}, "curriculum.start_width is 0; it must be above 0 and at most 1"),
        ({"hard_share": 1.5}, "curriculum.hard_share is 1.5; it must be at least 0 and at most 1"),
        ({"every": 0}, "curriculum.every is 0; it must be at least 1"),
        ({"vary": 1}, "curriculum.vary is 1; it must be above 1"),
        (
            {"schemes": ["cubik"]},
            "curriculum.schemes: 'cubik' is unknown: did you mean cubic? The schemes are ndm, reno, cubic",
        ),
        ({"schemes": ["snapshot"]}, "curriculum.schemes: 'snapshot' is unknown. The schemes are ndm, reno"),
        ({"schemes": []}, "name one or more of ndm, reno"),
        ({"schemes": ["bbr", "bbr"]}, "each once"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        CurriculumOptions(**options)  # type: ignore[arg-type]


# -- what is chosen ----------------------------------------------------------------------------------------------------


def test_largest_positive_gaps_are_chosen() -> None:
    hard = hardest([case(0.1), case(-0.2), case(0.3), case(0.0), case(0.2)], 2)
    assert [one.gap for one in hard] == pytest.approx([0.3, 0.2])
    assert hardest([case(-0.1)], 5) == ()


def test_nothing_that_came_through_is_worth_nothing() -> None:
    assert mean_reward(Rollout([], 1.0)) == 0.0


@pytest.mark.parametrize("snapshot", [b"a model", b""])
def test_case_survives_a_checkpoint(snapshot: bytes) -> None:
    written, file = replace(case(0.1), snapshot=snapshot), io.BytesIO()
    torch.save(written.as_dict(), file)
    file.seek(0)
    assert Case.from_dict(torch.load(file, weights_only=True)) == written


def test_file_lists_choices_without_repeated_updates(tmp_path: Path) -> None:
    cases.delete_after(tmp_path, 0)
    for update in (11, 21, 31):
        cases.append(tmp_path, update, [case(0.1, update - 1), case(0.2, update - 1, "b")])
    file = tmp_path / cases.FILE_NAME
    whole = file.read_text()
    with file.open("a") as torn:
        torn.write('{"chosen": 1')
    cases.delete_after(tmp_path, 21)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["chosen"] for line in lines] == [11, 11, 21, 21]
    assert lines[1]["component"] == "b"
    assert lines[0]["gap"] == 0.1
    assert lines[0]["scheme"] == "bbr"
    assert lines[0]["path"]["rate_mbps"] == 12.5
    assert "loss_pct" not in lines[0]["path"], "what is not the default, alone"
    assert lines[0]["others"] == [{"scheme": "bbr", "start_s": 0.25, "client": 1}]
    cases.append(tmp_path, 31, [case(0.1, 30), case(0.2, 30, "b")])
    assert file.read_text() == whole
    assert cases.summary(lines[0]) == ("a, rate_mbps 12.5, rtt_ms 30, buffer_bdp 2, loss_pct 1 from 1.25 s, beside bbr")


def test_without_labs_there_are_no_contests() -> None:
    profile = profile_from_config({"name": "x", "paths": {"a": {}}})
    learner = Curriculum(CurriculumOptions(start_width=0.5), profile, 1, PpoOptions().rollout_decisions, None)
    assert learner.sampling_state(0.0, ()).width == 0.5
    assert learner.observe(10, {}, (), never) == {"curriculum/width": 0.5}
    assert learner.state() == {"hard": [], "contest": None}
