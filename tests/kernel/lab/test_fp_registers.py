"""The lab kernel writes a process's floating point registers only when they may have changed (patch 0010)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from env.checkout import ROOT
from tests.support.guest import shell
from tests.support.labs import shared_lab
from tests.support.tools import compile_c

if TYPE_CHECKING:
    from pathlib import Path

    from env.lab import Lab

lab = shared_lab()


def test_processes_and_threads_keep_their_registers(lab: Lab, tmp_path: Path) -> None:
    """Over system calls, failed ones, switches, page faults and signals; fp_registers.c."""
    program = compile_c(tmp_path / "fp_registers", ROOT / "tests" / "kernel" / "lab" / "fp_registers.c")
    content = base64.b64encode(program.read_bytes()).decode()
    shell(lab, f"echo {content} | base64 -d > /run/fp_registers && chmod +x /run/fp_registers")
    assert shell(lab, "/run/fp_registers") == "1200 rounds, 200 signals"
