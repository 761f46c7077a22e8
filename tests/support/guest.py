"""Commands and programs that a test runs in the lab's guest."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from env.checkout import ROOT

if TYPE_CHECKING:
    from env.lab import Lab

# The guest sees the checkout; its programs have all of in_guest.py.
HEAD = f"import json, sys\nsys.path.insert(0, '{ROOT}')\nfrom tests.support.kernel.in_guest import *\n"


def shell(lab: Lab, command: str) -> str:
    """Run a command in the guest, which must succeed, and return what it printed."""
    done = lab.call("shell", command=command)
    assert done["status"] == 0, done
    return str(done["stdout"]).strip()


def program(text: str) -> str:
    """Return a shell command that runs a Python program in the guest, with all of in_guest.py."""
    return f"/usr/bin/python3 - <<'END'\n{HEAD}{textwrap.dedent(text)}\nEND"


def run_program(lab: Lab, text: str) -> str:
    """Run a Python program in the guest, which must succeed, and return what it printed."""
    return shell(lab, program(text))


def kernel_version(lab: Lab) -> tuple[int, ...]:
    """Return the version of the guest's kernel, such as (6, 12)."""
    return tuple(int(number) for number in shell(lab, "uname -r").split(".")[:2])


def algorithms(lab: Lab) -> list[str]:
    """Return the congestion controls that the guest's kernel has."""
    return shell(lab, "cat /proc/sys/net/ipv4/tcp_available_congestion_control").split()


def pids(lab: Lab, program: str) -> list[str]:
    """Return the processes of a program in the guest."""
    processes = f'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" != {program} ] || echo ${{p#/proc/}}; done'
    return shell(lab, processes).split()


def kill(lab: Lab, program: str) -> None:
    """Kill the processes of a program in the guest."""
    shell(lab, f"kill -9 {' '.join(pids(lab, program))}")
