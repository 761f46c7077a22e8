"""Mininet's own examples, as the package installs them: each runs in the lab, or says why it cannot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.tools import find_tool

FOLDER = Path("/usr/share/doc/mininet/examples")
TIME_LIMIT_S = 240
TOLD = re.compile(r"^lab: ([\d.]+) s of virtual time in ([\d.]+) s, .*$", re.MULTILINE)
NO_LIMITS = "it limits CPU time, and in virtual time computing takes none; `--real --kernel 6.1` has the cgroups for it"


@dataclass(frozen=True)
class Example:
    """An example, and what shows that it did its work.

    stdin: commands for Mininet's CLI. expected: regular expressions in its output. refused: why it cannot run; expected
    is then in its error. smaller: a piece of its text, and what replaces it.
    """

    name: str
    expected: tuple[str, ...]
    stdin: str = ""
    refused: str = ""
    smaller: tuple[str, str] | None = None


EXAMPLES = {
    example.name: example
    for example in (
        Example("linearbandwidth", (r"\n1 \t\t8\d\.\d Mbits/sec", r"\n4 \t\t[5-7]\d\.\d Mbits/sec")),
        Example(
            "tree1024",
            (r"Results: 0% dropped \(2/2 received\)",),
            stdin="pingpair\n",
            smaller=("fanout=32", "fanout=4"),
        ),
        Example("popenpoll", (r"<h3>: 10 packets transmitted, 10 received, 0% packet loss",)),
        Example("multiping", (r"h1: 10\.0\.0\.1 -> 10\.0\.0\.2 1 packets transmitted, 1 received",)),
        Example(
            "natnet",
            (r"1 packets transmitted, 1 received", r"1 +84 MASQUERADE .* 192\.168\.1\.0/24 +!192\.168\.1\.0/24"),
            stdin="h1 ping -c 1 h0\nnat1 iptables -t nat -L POSTROUTING -v -n\n",
        ),
        Example("linuxrouter", (r"192\.168\.1\.0 .* r0-eth1", r"Results: 0% dropped \(12/12"), stdin="pingall\n"),
        Example("cpu", (r"Skipping scheduler rt", r"Skipping scheduler cfs"), refused=NO_LIMITS),
        Example("simpleperf", (r"cgroups not mounted",), refused=NO_LIMITS),
        Example("vlanhost", (r"h1-100 -> X X X h2-100 X", r"80% dropped \(6/30 received\)"), stdin="pingall\n"),
        Example(
            "bind",
            (r"mininet> of 10\.0\.0\.1\n", r"mininet> of 10\.0\.0\.2\n"),  # the CLI replaces names by addresses
            stdin="".join(f"h{i} echo of h{i} > /var/log/file\nh{i} cat /var/log/file\n" for i in (1, 2)),
        ),
    )
}


@dataclass(frozen=True)
class Outcome:
    """What an example printed, stdout and stderr together, without the lab's own line; its status and its time."""

    output: str
    status: int
    virtual_s: float


def run(example: Example, *options: str) -> Outcome:
    script = FOLDER / f"{example.name}.py"
    with tempfile.TemporaryDirectory(prefix="mininet-example-") as folder:
        if example.smaller is not None:
            before, after = example.smaller
            smaller = Path(folder, script.name)
            smaller.write_text(script.read_text().replace(before, after))
            script = smaller
        done = subprocess.run(
            [sys.executable, "-m", "env.lab", "run", "--time-limit", str(TIME_LIMIT_S), *options, str(script)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            input=example.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    told = TOLD.search(done.stdout)
    assert told is not None, f"{example.name}: {done.stdout}"
    return Outcome(TOLD.sub("", done.stdout), done.returncode, float(told[1]))


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_runs_or_says_why_not(example: Example) -> None:
    assert (FOLDER / f"{example.name}.py").is_file(), "Mininet's examples are missing: run `setup/packages.py`"
    for program in ("ovs-vsctl", "ovs-testcontroller", "ping", "iperf", "vconfig", "iptables"):
        find_tool(program, "scripts")
    outcome = run(example)
    for pattern in example.expected:
        assert re.search(pattern, outcome.output), outcome.output
    if not example.refused:
        assert outcome.status == 0, outcome.output


def test_a_seed_gives_the_same_output() -> None:
    first, second = (run(EXAMPLES["popenpoll"], "--seed", "1") for _ in range(2))
    assert (first.output, first.virtual_s) == (second.output, second.virtual_s)
