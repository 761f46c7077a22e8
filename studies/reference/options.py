"""docs/reference/options.md: every option of train.py and compare.py, from where each is declared."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from compare.experiment.config import CompareConfig
from env.markdown import markdown_table
from env.options import group_meanings
from env.profile import Profile
from env.reward import RewardWeights
from training.config import LEARNERS
from training.options import LabOptions, TrainConfig

GROUPS = ("profile", "algo", "lab", "debug")


def render() -> str:
    """Return the page."""
    learners = "\n\n".join(
        f"### Learner `{kind}`\n\n{_table(learner.OPTIONS, 'algo.')}" for kind, learner in sorted(LEARNERS.items())
    )
    return f"""# Options

Options are `KEY=VALUE` on the command line. A wrong key, group or type ends with the list of the right ones.

## train.py

Groups, files of `configs/`:

{_groups()}

{_table(TrainConfig)}

{_table(LabOptions, "lab.")}

{learners}

### Profile

{_table(Profile, "profile.")}

{_table(RewardWeights, "profile.reward.")}

`env/profile/mixture.py` documents the keys of a mixture component, `profile.paths.NAME.*`.

## compare.py

{_table(CompareConfig)}
"""


def _groups() -> str:
    rows = [[f"`{name}`", meaning] for group in GROUPS for name, meaning in group_meanings(group).items()]
    return markdown_table(["group", "meaning"], rows)


def _table(options: type[Any], prefix: str = "") -> str:
    """Return a table of the options that --help prints."""
    rows = []
    for entry in fields(options):
        if "help" in entry.metadata:
            default = entry.default_factory() if entry.default_factory is not MISSING else entry.default
            shown = "" if default is None else f"`{default}`"
            rows.append([f"`{prefix}{entry.name}`", shown, entry.metadata["help"]])
    return markdown_table(["option", "default", "meaning"], rows)
