# SPDX-License-Identifier: GPL-2.0
"""Prepare the newest kernel of Debian's next release's backports for the VM lab: image, modules, the project's modules.

    python -m kernel.ports.newest        # `make vm-newest` runs it

As for the stock kernels (env/lab/stock/kernel.py) nothing is installed. The headers are those of `make ports`.
"""

from __future__ import annotations

import sys

from env.command import command
from env.lab.stock.kernel import NEWEST, build_modules, store
from kernel.ports.trees import Apt, Package, newest_trees

PARTS = ("base", "binary", "modules")  # lists of what is built in, the image, the modules


@command("error")
def main() -> int:
    """Fetch the kernel, build the modules for it, and print the folders; returns the exit status."""
    apt = Apt()
    tree = next(tree for tree in newest_trees(apt) if tree.release.endswith("-amd64"))
    versions = apt.versions([f"linux-{part}-{tree.release}" for part in PARTS])
    packages = [Package(name, version) for name, version in versions.items()]
    folder = store(NEWEST, tree.release, versions, lambda empty: apt.download(packages, empty))
    print(f"newest kernel {tree.release}: {folder}", flush=True)
    print(f"its modules: {build_modules(tree.release, tree.kdir)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
