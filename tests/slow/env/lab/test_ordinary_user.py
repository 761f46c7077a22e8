"""The virtual lab as a user without rights, started by root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile

from env.checkout import ROOT
from tests.support.tools import require


def test_runs_as_an_ordinary_user() -> None:
    require(os.geteuid() == 0, "it needs root, to become another user")
    reachable = all(os.stat(folder).st_mode & 0o001 for folder in (*ROOT.parents, ROOT))
    require(reachable, "an ordinary user cannot reach this checkout: a parent folder is private")
    code = (
        "import os, sys\n"
        "from pathlib import Path as File\n"
        "from env.lab import VirtualLab\n"
        "from env.network.path import Path\n"
        "assert os.getuid() != 0\n"
        "with VirtualLab(seed=1, kernel=File(sys.argv[1])) as lab:\n"
        "    r = lab.run(Path(rate_mbps=10, rtt_ms=20), [{'scheme': 'cubic', 'start_s': 0, 'duration_s': 2}], 2.0)\n"
        "    print(r.flows[0].received_bytes)\n"
    )
    user = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        kernel = shutil.copy(
            os.path.realpath(ROOT / "build" / "lab-kernel" / "linux"), folder
        )  # root's cache is private
        done = subprocess.run(
            [sys.executable, "-c", code, kernel],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": folder},
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1_000_000
