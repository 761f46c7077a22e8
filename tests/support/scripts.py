"""Scripts of a user for the tests: the command that runs one in a lab, and a Mininet script of two hosts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from env.checkout import ROOT

PAIR = """
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(2), switch=LinuxBridge, controller=None, link=TCLink)
net.start()
h1, h2 = net["h1"], net["h2"]
for host in (h1, h2):
    host.defaultIntf().config(bw=10, delay="10ms", jitter="1ms")
"""


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start the command in a folder, and in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "env.lab", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(folder: Path, *words: str, stdin: str = "", status: int = 0) -> tuple[str, str]:
    """Run the command in a folder; it must end with the status. Returns its output and its errors."""
    done = subprocess.run(
        [sys.executable, "-m", "env.lab", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def write(folder: Path, text: str) -> str:
    (folder / "script.py").write_text(text)
    return "script.py"
