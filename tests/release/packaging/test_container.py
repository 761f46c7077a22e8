"""The image of `make -C packaging container`: an ordinary user runs quickstart without capability, device, network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.release.clones import outside, run
from tests.support.tools import find_tool, require

CHROOT = ROOT / "packaging" / "hosts" / "chroot.sh"
# A container inside of a virtual machine may not raise its limits. Debian 12's crun needs one version of cgroups.
CONTAINERS = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STATE = "id -u; grep -E '^(CapEff|Seccomp):' /proc/self/status; stat -f -c %b /dev/shm"
QUICKSTART = "make quickstart TRAIN_ARGS=algo.total_decisions=5000"


@pytest.fixture
def podman(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a podman whose images lie in the test's folder."""
    require(os.geteuid() == 0, "the base image is made by debootstrap, which needs root")
    find_tool("podman", "container")
    (tmp_path / "containers.conf").write_text(CONTAINERS)
    paths = f'graphroot = "{tmp_path}/graph"\nrunroot = "{tmp_path}/run"\n'
    (tmp_path / "storage.conf").write_text(f'[storage]\ndriver = "overlay"\n{paths}')
    environment = {
        "CONTAINERS_CONF": str(tmp_path / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(tmp_path / "storage.conf"),
    }
    yield environment
    run(tmp_path, "podman", "rmi", "--all", "--force", **environment)
    for mount in sorted(re.findall(rf" ({tmp_path}\S*) ", Path("/proc/mounts").read_text()), reverse=True):
        run(tmp_path, "umount", mount)
    shutil.rmtree(tmp_path / "graph", ignore_errors=True)


def pip_of_this_machine(folder: Path) -> list[str]:
    """Return the options of `podman build` that give it this machine's certificates and local packages of pip."""
    listed = run(ROOT, ".venv/bin/pip", "config", "list")
    settings = dict(re.findall(r"^\S+?\.([a-z-]+)='(.*)'$", listed, re.MULTILINE))
    kept = {name: settings[name] for name in ("cert", "find-links", "index-url") if name in settings}
    volumes = []
    if "cert" in kept:
        volumes.append(f"{kept['cert']}:/etc/host-certificates.crt:ro")
        kept["cert"] = "/etc/host-certificates.crt"
    if Path(kept.get("find-links", "")).is_absolute():
        volumes.append(f"{kept['find-links']}:{kept['find-links']}:ro")
    file = folder / "pip.conf"
    file.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in kept.items()))
    return [f"--volume={volume}" for volume in (f"{file}:/etc/pip.conf:ro", *volumes)]


@pytest.mark.timeout(3600)
def test_quickstart_runs_in_the_image_without_privileges(tmp_path: Path, podman: dict[str, str]) -> None:
    base = run(ROOT, CHROOT, "--base", "bookworm").splitlines()[-1]
    run(ROOT, "podman", "import", base, "ndm-base:bookworm", **podman)
    build = ["packaging/container/build.sh", "--build-arg", "BASE=localhost/ndm-base:bookworm", "--pull=never"]
    run(ROOT, *build, "--tag", "ndm-test", "--network=host", *pip_of_this_machine(tmp_path), **podman)
    # podman's default profile of seccomp, and neither network nor any option that gives a right
    command = ["podman", "run", "--rm", "--network=none", "localhost/ndm-test", "sh", "-euc", f"{STATE}; {QUICKSTART}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=outside() | podman)
    assert done.returncode == 0, done.stdout + done.stderr
    user, capabilities, seccomp, _ = done.stdout.splitlines()[:4]
    assert user != "0"
    assert capabilities.split()[1] == "0" * 16
    assert seccomp.split()[1] == "2"  # a filter is on
    assert "\n== 6/6" in done.stdout
