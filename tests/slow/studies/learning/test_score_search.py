"""A small search in the lab: its files, and that it continues where it was interrupted."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compare.command.progress import terminal
from env.errors import UserError
from export.integer.quantize import FloatPolicy
from export.rule import read_rule
from studies.learning.score_search import Search, parse, search, vector
from tests.support.small_target import SMALL


def settings(folder: Path) -> Search:
    given = parse([str(folder), "rules/one_neuron.yaml", "--weights", "named"])
    return replace(given, target=SMALL, generations=2, candidates=4)


def test_an_interrupted_search_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    once, twice = settings(tmp_path / "once"), settings(tmp_path / "twice")
    for one in (once, replace(twice, generations=1), twice):
        one.folder.mkdir(exist_ok=True)
        search(one, terminal())
    rows = [list(csv.reader((one.folder / "generations.csv").read_text().splitlines())) for one in (once, twice)]
    assert rows[0] == rows[1]
    assert [row[0] for row in rows[0]] == ["generation", "1", "2"]
    start = vector(once.start)
    for name in ("mean.yaml", "best.yaml"):
        found, again = (vector(FloatPolicy.from_state_dict(read_rule(one.folder / name))) for one in (once, twice))
        assert np.array_equal(found, again)
        assert not np.array_equal(found, start)
        # the rule keeps its form
        assert np.array_equal(found != 0, start != 0)
    with pytest.raises(UserError, match=r"holds a search with other settings \(candidates, sigma\)"):
        search(replace(once, candidates=5, sigma=0.2), terminal())
