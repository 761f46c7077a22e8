"""The congestion control of docs/guides/own-congestion-control.md: it keeps the kernel's style, builds and runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path as FilePath

from env.checkout import BUILD, DOCS, KERNEL
from env.network.path import Path
from tests.support.labs import checked_lab

TREE = BUILD / "lab-kernel" / "tree"
PATH = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=1)


def test_the_guides_module_is_a_congestion_control(tmp_path: FilePath) -> None:
    guide = (DOCS / "guides" / "own-congestion-control.md").read_text()
    [code] = re.findall(r"^```c\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    kernel = tmp_path / "kernel"
    shutil.copytree(KERNEL, kernel)
    source = kernel / "schemes" / "tcp_mycc.c"
    source.write_text(code)
    with (kernel / "Kbuild").open("a") as kbuild:
        kbuild.write("obj-m += schemes/tcp_mycc.o\n")
    checkpatch = ["perl", str(TREE / "scripts" / "checkpatch.pl"), "--no-tree", "--strict", "--terse", "--no-summary"]
    style = subprocess.run([*checkpatch, "--file", str(source)], capture_output=True, text=True, check=False)
    assert (style.stdout, style.returncode) == ("", 0)
    subprocess.run(
        [str(kernel / "build.sh"), str(tmp_path / "built"), str(TREE)],
        check=True,
        env=os.environ | {"NDM_MODEL_BUILD": str(tmp_path)},
    )
    flows = [{"scheme": scheme, "start_s": 0, "duration_s": 5.0} for scheme in ("mycc", "reno")]
    with checked_lab(tmp_path / "built" / "tcp_mycc.ko") as lab:
        one, two = (lab.run(PATH, [flow], 5.0, seed=1).flows[0] for flow in flows)
    assert one.received_bytes == two.received_bytes > 5_000_000
