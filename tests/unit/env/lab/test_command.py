"""What `python -m env.lab` refuses before it boots a lab: in one line, with the value and the right ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from env.lab.__main__ import REFUSED, main


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "nosuch.py"], r"nosuch\.py does not exist: name a \.py file"),
        (["run", "."], r"\. is a folder"),
        (["run", "notes.txt"], r"notes\.txt is neither .* nor executable: run `chmod \+x notes\.txt`"),
        (["run", "--seed", "many", "script.py"], "'many' is not a number from 0 to"),
        (["run", "--seed", "-1", "script.py"], "-1 is not a number from 0 to"),
        (["run", "--time-limit", "0", "script.py"], r"0 is not a number from 0\.1"),
        (["run", "--memory-mb", "1", "script.py"], "1 is not a number from 128 to"),
        (["run", "--sede", "script.py"], "option --sede is unknown: did you mean --seed"),
        (["run", "--real", "--kernel", "5.4", "script.py"], "make vm-kernel"),
        (["walk"], "invalid choice: 'walk' .*run.*shell"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "script.py").touch()
    (tmp_path / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    try:
        status = main(arguments)
    except SystemExit as refusal:
        status = refusal.code
    error = capsys.readouterr().err
    assert status == REFUSED
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert re.search(expected, error), error


def test_the_root_is_no_working_folder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir("/")
    assert main(["run", "true"]) == REFUSED
    assert "the working folder is /" in capsys.readouterr().err
