"""The KEY=VALUE of the commands: what no option reads is refused, wherever it is given."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Callable

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

import train
from env.checkout import ROOT
from env.options import argument

_spec = importlib.util.spec_from_file_location("compare_command", ROOT / "compare.py")  # compare is the package
assert _spec is not None
assert _spec.loader is not None
compare = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compare)

TRAIN = ("profile=bottleneck", "algo=ppo", "runs=none")


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Calls a command in this process; returns its status and its errors."""

    def call(command: Callable[[], int], *words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [str(ROOT / "train.py"), *words])
        monkeypatch.setenv("HYDRA_FULL_ERROR", "")  # which the command sets
        try:
            status = command()
        except SystemExit as ended:
            return 1, str(ended.code)
        return status, capsys.readouterr().err

    return call


@pytest.mark.parametrize("plus", ["", "+", "++"])
@pytest.mark.parametrize(
    ("command", "words", "key"),
    [
        (train.main, TRAIN, "nonsense"),
        (train.main, TRAIN, "algo.lr"),
        (train.main, TRAIN, "lab.worker"),
        (train.main, TRAIN, "profile.foo"),
        (train.main, TRAIN, "profile.paths.bottleneck.foo"),
        (train.main, ("--cfg", "job", *TRAIN), "algo.lr"),
        (train.main, ("--config-dir", "docs", *TRAIN), "algo.lr"),
        (train.main, ("-m", *TRAIN, "seed=1"), "algo.lr"),
        (train.main, ("-m", *TRAIN), "nonsense"),
        (compare.main, ("seeds=1",), "sceeds"),
        (compare.main, ("--cfg", "job"), "sceeds"),
    ],
)
def test_a_key_that_nothing_reads_is_unknown(
    called: Callable[..., tuple[int, str]], command: Callable[[], int], words: tuple[str, ...], key: str, plus: str
) -> None:
    status, errors = called(command, *words, f"{plus}{key}=5")
    assert status == 1
    assert f"{key} is unknown" in errors or f"'{key}=5' is no option" in errors
    assert len(errors.splitlines()) == 1
    assert "+" not in errors


def test_a_range_without_single_values_is_explained(called: Callable[..., tuple[int, str]]) -> None:
    word = "algo.learning_rate=interval(0.001,0.01)"
    assert called(train.main, "-m", *TRAIN, word) == (
        1,
        f"train.py: {word} has no single values; list them, as algo.learning_rate=1,10,100\n",
    )


@pytest.mark.parametrize("text", ["runs/mixed-20260101-120000-s1", "runs/a b", "lr=0.01,a b", "50%", "x'\"y", "实验"])
def test_a_printed_option_is_read_as_it_was(text: str) -> None:
    (word,) = shlex.split(argument("resume", text))
    assert OverridesParser.create().parse_override(word).value() == text
