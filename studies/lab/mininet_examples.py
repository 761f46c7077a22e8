"""Mininet's own examples as they are, in the lab: which run, and how much faster than real time.

    python -m studies.lab.mininet_examples [NAME ...]

It prints a table. The distribution's package mininet brings the examples, `setup/packages.py scripts` the programs that
they call.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from env.checkout import ROOT
from env.markdown import markdown_table

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
    """What an example printed, stdout and stderr together, without the lab's own line; its status and its times."""

    output: str
    status: int
    virtual_s: float
    wall_s: float


def run(example: Example, *options: str) -> Outcome:
    """Run an example in a lab. options: of `python -m env.lab run`. Raises FileNotFoundError without the package."""
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
    if told is None:
        raise RuntimeError(f"{example.name}: {done.stdout}")
    return Outcome(TOLD.sub("", done.stdout), done.returncode, float(told[1]), float(told[2]))


def main(names: Sequence[str]) -> int:
    """Run the examples, all by default, and print a table; returns the exit status."""
    unknown = [name for name in names if name not in EXAMPLES]
    if unknown:
        print(f"error: {unknown[0]} is no example here; choose from {', '.join(EXAMPLES)}", file=sys.stderr)
        return 2
    rows = []
    for name in names or EXAMPLES:
        example = EXAMPLES[name]
        outcome = run(example)
        good = all(re.search(pattern, outcome.output) for pattern in example.expected)
        label = name if example.smaller is None else f"{name}, {example.smaller[1]}"
        if example.refused:
            rows.append([label, f"no: {example.refused}", "", "", ""])
            continue
        speed = f"{outcome.virtual_s / outcome.wall_s:.2g}"
        rows.append([label, "yes" if good else "failed", f"{outcome.virtual_s:.1f}", f"{outcome.wall_s:.1f}", speed])
    print(markdown_table(["example", "runs", "virtual s", "wall s", "times real time"], rows, left=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
