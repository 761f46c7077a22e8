"""`make -C packaging reproducible`: what ships is the same bytes from two folders, and a difference is found."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from env.checkout import ROOT

SCRIPT = ROOT / "packaging" / "reproducible" / "check.py"


@pytest.fixture
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reproducible_check", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(1800)
def test_two_folders_give_the_same_bytes(check: ModuleType) -> None:
    assert check.main(["lab", "stock", "bpf", "model"]) == 0


@pytest.mark.parametrize("command", ["pwd >made", "date +%Z >made", 'echo "$LC_ALL" >made'])
def test_difference_is_found(check: ModuleType, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(check, "BUILDS", {"own": (command, "made")})
    assert check.main(["own"]) == 1


def test_missing_file_is_a_difference(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "BUILDS", {"own": ("true", "made")})
    assert check.main(["own"]) == 1


def test_unknown_build_is_refused(check: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["modules"]) == 2
    assert "unknown build modules; there are lab, stock" in capsys.readouterr().err
