"""The tiers of the tests: what runs where follows from the folders."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from env.checkout import BUILD, ROOT
from tests.conftest import LONGEST, TIERS

TESTS = ROOT / "tests"
FILES = sorted(set(TESTS.rglob("test_*.py")) - {Path(__file__)})
MARKED = re.compile(rf"pytest\.mark\.({'|'.join(TIERS)})\b")
IMPORTED = re.compile(r"^(from|import) tests\.(?!support\.|conftest )", re.MULTILINE)
SKIPPED = re.compile(r"pytest\.skip|skipif\(|importorskip|require\(")


def test_every_test_has_its_folders_marker(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        tier = item.path.relative_to(TESTS).parts[0]
        assert {mark.name for mark in item.iter_markers() if mark.name in TIERS} == {tier}, item.nodeid


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(TESTS)))
def test_file_keeps_its_tiers_rules(file: Path) -> None:
    tier, text = file.relative_to(TESTS).parts[0], file.read_text()
    assert tier in TIERS
    assert not MARKED.search(text), "its folder says which tier it is in"
    assert not IMPORTED.search(text), "share through tests/support"
    assert tier in ("slow", "release") or not SKIPPED.search(text), "only tests/slow and tests/release may skip"


def test_longest_files_exist() -> None:
    assert [name for name in LONGEST if TESTS / name not in FILES] == []


def test_unit_tests_cannot_start_what_is_built() -> None:
    with pytest.raises(AssertionError, match="a unit test starts cc"):
        subprocess.run(["cc", "--version"], check=False)
    with pytest.raises(AssertionError, match="a unit test starts"):
        subprocess.run([BUILD / "flow"], check=False)
