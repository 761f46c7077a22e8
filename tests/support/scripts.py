"""Scripts of a user for the tests: the command that runs one in a lab, and a Mininet script of two hosts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from env.checkout import ROOT
from tests.support.commands import assert_gone, descendants

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}

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
        env=ENVIRONMENT,
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
        env=ENVIRONMENT,
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


def assert_ctrl_c_reaches_the_script(folder: Path, *options: str, ends_within_s: float) -> None:
    """Interrupt a script, which sees it and writes a file that comes back; nothing is left. options: of `run`."""
    script = write(
        folder,
        "import time\n"
        "try:\n"
        "    print('begun')\n"
        "    while True:\n"
        "        time.sleep(1)\n"
        "except KeyboardInterrupt:\n"
        "    open('cleaned', 'w').close()\n",
    )
    process = begin(folder, "run", *options, script)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    processes = descendants(process)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=ends_within_s)
    assert process.returncode == 130, errors
    assert (folder / "cleaned").exists()
    assert_gone(processes)
