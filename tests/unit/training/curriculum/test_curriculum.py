"""The curriculum: its schedule, its choice, its file, and contests in the lab that are what they say."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from env.checkout import ROOT
from env.episode import boot_lab
from env.expert import Expert
from env.network.path import Path as NetworkPath
from env.network.step import Step
from env.profile import EpisodeConfig, EpisodeFlow, Profile, profile_from_config
from env.reward import RewardWeights
from env.rollout import Played, Player, Task
from export.model_file import model_file
from training.curriculum import cases
from training.curriculum.cases import Case, hardest
from training.curriculum.curriculum import Curriculum, CurriculumOptions, mean_reward
from training.policy import initial_policy
from training.ppo import PpoOptions

DOCS = ROOT / "docs" / "reference" / "metrics.md"


def never() -> bool:
    return False


def case(gap: float, update: int = 10, part: str = "a") -> Case:
    path = NetworkPath(rate_mbps=12.5, rtt_ms=30, buffer_bdp=2, steps=(Step(1.25, loss_pct=1.0),))
    episode_config = EpisodeConfig(path, (EpisodeFlow("bbr", 0.25),), part=part)
    return Case(episode_config, 3, b"snapshot", update, "bbr", 0.5 + gap, 0.5)


# -- what is drawn from, when ------------------------------------------------------------------------------------------


def test_the_width_grows_to_the_whole() -> None:
    options = CurriculumOptions(start_width=0.2, whole_after=0.5)
    assert [options.width(done) for done in (0, 0.25, 0.5, 1)] == pytest.approx([0.2, 0.6, 1, 1])
    assert CurriculumOptions(start_width=0.2, whole_after=0).width(0) == 1
    assert CurriculumOptions().width(0) == 1
    assert not CurriculumOptions().changes_anything


def test_at_first_no_connection_has_a_start_where_some_never_have() -> None:
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
        ({"schemes": ["cubik"]}, "curriculum.schemes has 'cubik': did you mean cubic? They are reno, cubic, bbr"),
        ({"schemes": ["snapshot"]}, "curriculum.schemes has 'snapshot': They are reno"),
        ({"schemes": []}, "it has one or more of reno"),
        ({"schemes": ["bbr", "bbr"]}, "each once"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        CurriculumOptions(**options)  # type: ignore[arg-type]


# -- what is chosen ----------------------------------------------------------------------------------------------------


def test_the_largest_gaps_are_chosen_and_none_where_the_policy_is_better() -> None:
    found = hardest([case(0.1), case(-0.2), case(0.3), case(0.0), case(0.2)], 2)
    assert [one.gap for one in found] == pytest.approx([0.3, 0.2])
    assert hardest([case(-0.1)], 5) == ()


def test_nothing_that_came_through_is_worth_nothing() -> None:
    assert mean_reward(Played([], 1.0)) == 0.0


@pytest.mark.parametrize("snapshot", [b"a model", b""])
def test_a_case_is_read_from_a_checkpoint_as_it_was_written(snapshot: bytes) -> None:
    written, file = replace(case(0.1), snapshot=snapshot), io.BytesIO()
    torch.save(written.as_dict(), file)
    file.seek(0)
    assert Case.from_dict(torch.load(file, weights_only=True)) == written


def test_the_file_says_what_was_chosen_and_forgets_what_is_done_again(tmp_path: Path) -> None:
    cases.keep_until(tmp_path, 0)
    for update in (11, 21, 31):
        cases.append(tmp_path, update, [case(0.1, update - 1), case(0.2, update - 1, "b")])
    file = tmp_path / cases.FILE_NAME
    whole = file.read_text()
    with file.open("a") as torn:
        torn.write('{"chosen": 1')
    cases.keep_until(tmp_path, 21)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["chosen"] for line in lines] == [11, 11, 21, 21]
    assert lines[1]["part"] == "b"
    assert lines[0]["gap"] == 0.1
    assert lines[0]["scheme"] == "bbr"
    assert lines[0]["path"]["rate_mbps"] == 12.5
    assert "loss_pct" not in lines[0]["path"], "what is not the default, alone"
    assert lines[0]["others"] == [{"scheme": "bbr", "start_s": 0.25, "client": 1}]
    cases.append(tmp_path, 31, [case(0.1, 30), case(0.2, 30, "b")])
    assert file.read_text() == whole
    assert cases.describe_case(lines[0]) == (
        "a, rate_mbps 12.5, rtt_ms 30, buffer_bdp 2, loss_pct 1 from 1.25 s, beside bbr"
    )


# -- contests in the lab -----------------------------------------------------------------------------------------------

PROFILE = profile_from_config(
    {
        "name": "x",
        "episode_decisions": 40,
        "episode_s": 10.0,
        "paths": {
            "wide": {"rate_mbps": {"log_uniform": [5, 40]}, "rtt_ms": {"log_uniform": [20, 60]}},
            "beside": {"rate_mbps": {"fixed": 20}, "rivals": ["snapshot"], "start_spread_s": 0.5},
        },
    }
)
OPTIONS = CurriculumOptions(hard_share=0.5, schemes=["bbr", "cubic"], every=2, cost=1.0, most_hard=3)
DECISIONS = 360  # of a batch: a contest has six episodes of the policy and as many of each scheme


@pytest.fixture(scope="module")
def labs() -> Iterator[Player]:
    with Player(1, boot_lab, RewardWeights()) as player:
        yield player


def curriculum(labs: Player, profile: Profile = PROFILE) -> Curriculum:
    return Curriculum(OPTIONS, profile, 5, DECISIONS, labs)


@pytest.mark.lab
def test_a_contest_finds_where_an_algorithm_is_better(labs: Player) -> None:
    """An untrained policy holds ten packets: every algorithm is better; what is said of it is what they were given."""
    learner, policy = curriculum(labs), initial_policy(8, 1).state_dict()
    old, _ = model_file(initial_policy(8, 2).state_dict(), "old", "x")
    assert learner.follow(1, policy, (old,), never) == {"curriculum/hard": 0, "curriculum/share": 0}
    learner.follow(2, policy, (old,), never)
    assert learner.hard == (), "it counts from the update after"
    metrics = learner.follow(3, policy, (old,), never)
    assert metrics is not None
    assert 0 < metrics["curriculum/share"] <= 1
    assert len(learner.hard) == 3
    assert learner.promoted == learner.hard
    gaps = [chosen.gap for chosen in learner.hard]
    assert gaps == sorted(gaps, reverse=True)
    assert metrics["curriculum/gap_worst"] == gaps[0] > 0.1
    assert metrics["curriculum/gap_median"] <= gaps[0]
    won = {name: metrics[f"curriculum/won_{name}"] for name in ("policy", "bbr", "cubic")}
    assert sum(won.values()) == pytest.approx(1)
    documented = DOCS.read_text()
    for name in metrics:
        assert re.sub(r"won_\w+", "won_*", name) in documented, name

    model, _ = model_file(policy, "again", "x")
    for chosen in learner.hard:
        task = Task(chosen.episode_config, chosen.seed, np.zeros((0, 0, 2), np.int16), 40, 10.0, None, chosen.snapshot)
        tasks = [task, *(task._replace(expert=Expert(name, name)) for name in ("bbr", "cubic"))]
        ours, bbr, cubic = (mean_reward(future.result()) for future in labs.submit(model, tasks))
        assert chosen.ours == ours
        assert chosen.theirs == max(bbr, cubic)
        assert chosen.scheme == ("bbr" if bbr >= cubic else "cubic")
        assert bool(chosen.snapshot) == chosen.episode_config.has_snapshot
    assert learner.follow(3, policy, (old,), never) == {
        "curriculum/hard": 3,
        "curriculum/share": pytest.approx(metrics["curriculum/share"], rel=0.9),
    }
    assert learner.promoted == ()
    sampling_state = learner.sampling_state(0.0, (old,))
    assert sampling_state.hard == tuple(chosen.episode_config for chosen in learner.hard)
    assert sampling_state.hard_share == 0.5


@pytest.mark.lab
def test_a_course_on_which_the_policy_has_caught_up_is_hard_no_more(labs: Player) -> None:
    """All that was hard is judged again; the algorithms' part of it has not changed."""
    learner, policy = curriculum(labs), initial_policy(8, 1).state_dict()
    learner.follow(2, policy, (), never)
    learner.follow(3, policy, (), never)
    first = learner.hard
    assert first
    beaten, nearly, far = (replace(first[0], theirs=theirs) for theirs in (-1.0, first[0].ours + 0.01, 9.0))
    learner.hard = (far, nearly, beaten)
    learner.follow(4, policy, (), never)
    learner.follow(5, policy, (), never)
    assert learner.hard[0] == far
    assert beaten not in learner.hard
    assert all(chosen.update in (2, 4) for chosen in learner.hard)
    assert {chosen.update for chosen in learner.promoted} <= {4}


@pytest.mark.lab
def test_no_more_is_hard_than_half_a_contest_judges_again(labs: Player) -> None:
    small = replace(OPTIONS, cost=1 / 8, most_hard=8)  # 90 decisions of a contest: one of the policy's 40 fits
    learner, policy = Curriculum(small, PROFILE, 5, DECISIONS, labs), initial_policy(8, 1).state_dict()
    for update in range(2, 8):
        metrics = learner.follow(update, policy, (), never)
        assert metrics is not None
    assert len(learner.hard) == 1
    large = Curriculum(replace(OPTIONS, most_hard=8), PROFILE, 5, DECISIONS, labs)
    for update in range(2, 8):
        large.follow(update, policy, (), never)
    assert len(large.hard) > 1


@pytest.mark.lab
def test_a_contest_under_way_is_played_again(labs: Player) -> None:
    policy, other = initial_policy(8, 1).state_dict(), initial_policy(8, 9).state_dict()
    old, _ = model_file(initial_policy(8, 2).state_dict(), "old", "x")
    one, two = curriculum(labs), curriculum(labs)
    one.follow(2, policy, (old,), never)
    two.restore(one.state())
    metrics = [learner.follow(3, other, (old, old), never) for learner in (one, two)]
    assert one.hard == two.hard != ()
    assert metrics[0] is not None
    assert metrics[1] is not None
    assert metrics[0]["curriculum/gap_median"] == metrics[1]["curriculum/gap_median"]


@pytest.mark.lab
def test_who_stops_does_not_wait_for_a_contest(labs: Player) -> None:
    learner = curriculum(labs)
    learner.follow(2, initial_policy(8, 1).state_dict(), (), never)
    assert learner.follow(3, initial_policy(8, 1).state_dict(), (), lambda: True) is None
    assert learner.follow(3, initial_policy(8, 1).state_dict(), (), never) is not None


def test_without_labs_there_are_no_contests() -> None:
    learner = Curriculum(CurriculumOptions(start_width=0.5), PROFILE, 1, PpoOptions().rollout_decisions, None)
    assert learner.sampling_state(0.0, ()).width == 0.5
    assert learner.follow(10, {}, (), never) == {"curriculum/width": 0.5}
    assert "`curriculum/width`" in DOCS.read_text()
    assert learner.state() == {"hard": [], "contest": None}
