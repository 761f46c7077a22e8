"""What `make install` refuses before it does anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from env.checkout import ROOT

INSTALL = ROOT / "kernel" / "install.sh"


@pytest.mark.parametrize("release", ["6.1.0-56-amd64", "6.12.117+deb12-amd64", "6.6.30", "7.0.0-rc1", "7.3.4-arch1"])
def test_dkms_takes_the_kernels_of_the_range(release: str) -> None:
    conf = (ROOT / "kernel" / "dkms.conf").read_text()
    (pattern,) = re.findall(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"$', conf, re.MULTILINE)
    assert re.search(pattern, release)


def test_only_root_may() -> None:
    # where everybody may look, which a checkout in a home folder need not be
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for name in ("install.sh", "VERSION", "dkms.conf"):
            shutil.copy(INSTALL.with_name(name), folder)
        command = [f"{folder}/install.sh", "uninstall"]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "make uninstall: it needs root: sudo make uninstall\n"
