# SPDX-License-Identifier: GPL-2.0
"""Build the modules for kernels and architectures that this machine does not run, and report every warning at W=1.

    make ports        # arm64: 6.1, 6.12 (with sparse) and the newest 7.x; amd64: the newest 7.x

`make lint` builds for amd64 with 6.1 and 6.12. The built modules are deleted.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from env.command import command
from kernel.ports.trees import Tree, find_trees

BUILD_SCRIPT = Path(__file__).resolve().parents[1] / "build.sh"
COMPLAINT = re.compile(r"warning:|error:", re.IGNORECASE)
# concerns debug types, which are not built
HARMLESS = "warning: pahole version differs from the one used to build the kernel"


def build(tree: Tree) -> list[str]:
    """Build for one tree. Returns the problems: the lines of make's output if it fails or warns."""
    flags = "W=1 C=2" if tree.sparse else "W=1"
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(BUILD_SCRIPT), folder, str(tree.kdir)],
            env=os.environ | {"NDM_MODEL_BUILD": folder, "KBUILD_FLAGS": flags, "LC_ALL": "C"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines = [line for line in done.stdout.splitlines() if line != HARMLESS]
        if done.returncode or any(map(COMPLAINT.search, lines)):
            return lines or [f"make ended with status {done.returncode}"]
        modules = sorted(Path(folder).glob("*.ko"))
        magic = {_vermagic(module).split()[0] for module in modules}
        if magic != {tree.release}:
            return [f"the {len(modules)} modules are for {', '.join(magic) or 'no kernel'}, not {tree.release}"]
    print(f"{tree.release}: {len(modules)} modules, {flags}, no warning, {time.monotonic() - began:.0f} s", flush=True)
    return []


def _vermagic(module: Path) -> str:
    return subprocess.run(
        ["/sbin/modinfo", "-F", "vermagic", str(module)], capture_output=True, text=True, check=True
    ).stdout


@command("make ports")
def main() -> int:
    """Build for all trees; returns the exit status."""
    trees = find_trees()
    status = 0
    for tree in trees:
        if problems := build(tree):
            print(f"{tree.release} ({tree.kdir}):", *problems, sep="\n  ", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
