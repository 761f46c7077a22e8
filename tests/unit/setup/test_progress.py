"""setup/progress.sh shows a command's output in one line that moves."""

from __future__ import annotations

import os
import re
import subprocess
import termios

import pytest

from env.checkout import ROOT

PROGRESS = ROOT / "setup" / "progress.sh"
TALKS = "for line in one two three; do echo $line; sleep 0.7; done"


def show(script: str, columns: int = 40, makeflags: str = "") -> tuple[str, int]:
    """Return what a terminal shows of a script, and the exit status."""
    ours, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, columns))
    command = [PROGRESS, "setup", "sh", "-c", script]
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=os.environ | {"MAKEFLAGS": makeflags})
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # the end
        pass
    return shown.decode(), process.wait()


def test_terminal_has_one_line_that_moves() -> None:
    shown, status = show(TALKS)
    assert "\n" not in shown
    lines = [re.sub(r"\d+ s", "S s", line) for line in shown.split("\r\033[K")]
    assert list(dict.fromkeys(lines)) == ["", "setup: S s: one", "setup: S s: two", "setup: S s: three"]
    assert (lines[0], lines[-1], status) == ("", "", 0)


@pytest.mark.parametrize(("columns", "length"), [(20, 19), (0, 79)])
def test_line_is_cut_to_the_terminal(columns: int, length: int) -> None:
    shown, _ = show("seq -s , 100; sleep 1", columns=columns)
    assert {len(line) for line in shown.split("\r\033[K")} == {0, length}


def test_beside_another_line_nothing_moves() -> None:
    assert show(TALKS, makeflags=" -j2 --jobserver-auth=3,4") == ("", 0)


def test_without_a_terminal_success_prints_nothing() -> None:
    done = subprocess.run([PROGRESS, "setup", "sh", "-c", "echo DEPRECATION >&2"], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_failure_prints_the_end_of_the_output() -> None:
    done = subprocess.run([PROGRESS, "setup", "sh", "-c", "seq 100; exit 3"], capture_output=True, text=True)
    assert done.stderr.split() == [str(number) for number in range(61, 101)]
    assert done.returncode == 3


def test_service_that_stays_does_not_hold_it() -> None:
    done = subprocess.run(
        [PROGRESS, "setup", "sh", "-c", "sleep 60 & echo $! >&2; exit 1"], capture_output=True, timeout=30
    )
    os.kill(int(done.stderr), 9)
    assert done.returncode == 1
