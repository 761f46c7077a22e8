"""The command line of the ablation study."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.errors import UserError
from studies.learning.ablation import Variant, parse


def test_the_command_line_is_read() -> None:
    words = [
        "runs/x",
        "--seeds",
        "1",
        "4",
        "--common",
        "profile=fair",
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
        ["profile=fair"],
        [Variant("a", ()), Variant("b", ("x=1", "y=2"))],
    )


@pytest.mark.parametrize("variants", [["--variant", "a", "--variant", "a"], ["--variant", "algo.hidden=4"]])
def test_variants_need_names(variants: list[str]) -> None:
    with pytest.raises(UserError, match="names must be unique and must not contain ="):
        parse(["runs/x", *variants])
