"""What a script finds in a lab: the caller's variables, a date, the programs of a machine, and every folder."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.scripts import run, write
from tests.support.tools import find_tool


def test_variables_of_the_caller_reach_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, modules, work = tmp_path / "home", tmp_path / "modules", tmp_path / "work"
    for folder in (home, modules, work):
        folder.mkdir()
    (home / "note").touch()
    (modules / "mytool.py").write_text("answer = 42\n")
    variables = {"HOME": str(home), "PYTHONPATH": f"{ROOT}:{modules}", "RATE": "10", "layer": "x", "https_proxy": "y"}
    script = write(
        work,
        "import mytool, os\n"
        "print(mytool.answer, os.path.exists(os.path.expanduser('~/note')))\n"
        f"print({{name: os.environ.get(name) for name in {list(variables)!r}}})\n",
    )
    done = subprocess.run(
        [sys.executable, "-m", "env.lab", "run", "--quiet", script],
        cwd=work,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = variables | {"PYTHONPATH": str(modules), "https_proxy": None}
    assert done.stdout == f"42 True\n{expected}\n"


def test_a_new_certificate_is_valid(tmp_path: Path) -> None:
    find_tool("openssl", "tests")
    request = "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=lab.example -keyout key.pem -out cert.pem"
    subprocess.run(
        ["openssl", *request.split()],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    output, _ = run(tmp_path, "run", "--quiet", write(tmp_path, "import time\nprint(time.time())\n"))
    certificate = ssl._ssl._test_decode_cert(str(tmp_path / "cert.pem"))  # type: ignore[attr-defined]
    made, ends = (ssl.cert_time_to_seconds(certificate[name]) for name in ("notBefore", "notAfter"))
    assert made <= float(output) < ends


def test_the_date_follows_the_newest_file(tmp_path: Path) -> None:
    script = write(
        tmp_path, "import datetime\nprint(datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds'))\n"
    )
    for name, date in ((script, datetime(2025, 3, 1, 12, tzinfo=UTC)), ("old", datetime(2024, 1, 1, tzinfo=UTC))):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (date.timestamp(), date.timestamp()))
    assert run(tmp_path, "run", "--quiet", script)[0] == "2025-03-02T00:00:00+00:00\n"
    assert run(tmp_path, "run", "--quiet", "--date", "2031-05-17T12:30", script)[0] == "2031-05-17T12:30:00+00:00\n"


def test_make_does_not_build_again_what_a_script_has_built(tmp_path: Path) -> None:
    find_tool("make", "tests")
    (tmp_path / "Makefile").write_text("all: b\nz: source\n\tcp source z\nb: z\n\tcp z b\n")
    (tmp_path / "source").touch()
    first, _ = run(tmp_path, "run", "--quiet", "make")
    again, _ = run(tmp_path, "run", "--quiet", "make")
    assert first == "cp source z\ncp z b\n"
    assert "Nothing to be done" in again
    assert "Nothing to be done" in subprocess.check_output(["make"], cwd=tmp_path, text=True)


WRAPPER = """#!/bin/bash
set -e
hostname
sudo -E modprobe tcp_bbr
sudo -u nobody RATE=5 sh -c 'id -un; echo $RATE; ping -c 1 127.0.0.1 | grep received'
sudo sh -c 'ovs-vsctl --version | head -n 1'
ulimit -Sn
getent hosts lab
test -d /run/openvswitch
/sbin/modprobe nosuch || echo no such module
"""


def test_a_wrapper_script_runs_as_on_a_machine(tmp_path: Path) -> None:
    for program in ("ping", "ovs-vsctl"):
        find_tool(program, "scripts")
    (tmp_path / "wrapper.sh").write_text(WRAPPER)
    (tmp_path / "wrapper.sh").chmod(0o755)
    output, _ = run(tmp_path, "run", "--quiet", "wrapper.sh")
    expected = r"lab\nnobody\n5\n1 packets .*1 received.*\novs-vsctl .*\n1024\n127\.0\.1\.1 +lab\nno such module\n"
    assert re.fullmatch(expected, output), output


def test_a_link_without_a_rate_is_named(tmp_path: Path) -> None:
    find_tool("iperf", "scripts")
    pair = (
        "import os\n"
        "os.system('ip netns add a; ip link add near type veth peer name far netns a; ip link set near up;'\n"
        "          'ip addr add 10.0.0.1/24 dev near; ip -n a addr add 10.0.0.2/24 dev far; ip -n a link set far up;'\n"
        "          'ip netns exec a iperf -s >/dev/null & sleep 1; iperf -t 0.3 -c 10.0.0.2')\n"
    )
    _, errors = run(tmp_path, "run", "--quiet", write(tmp_path, pair))
    assert errors.count("carries more than 20 Gbit/s") == 1
    assert errors.startswith("lab: near ")


def test_a_checkout_in_any_folder(tmp_path: Path) -> None:
    """The guest's /tmp hides the checkout's folder, and that of what it builds."""
    checkout = tmp_path / "a folder, größer" / "checkout"
    checkout.mkdir(parents=True)
    for name in ("env", "kernel"):
        subprocess.run(["cp", "-r", ROOT / name, checkout], check=True)
    built = tmp_path / "built"
    subprocess.run(["cp", "-r", ROOT / "build" / "modules" / "lab", tmp_path / "lab"], check=True)
    (built / "modules").mkdir(parents=True)
    (built / "modules" / "lab").symlink_to(tmp_path / "lab")
    (built / "lab-kernel").symlink_to((ROOT / "build" / "lab-kernel").resolve())
    for name in ("flow", "init"):
        subprocess.run(["cp", ROOT / "build" / name, built], check=True)
    (checkout / "build").symlink_to(built)
    link = tmp_path / "link"
    link.symlink_to(checkout)
    code = (
        "from env.lab import VirtualLab\n"
        "from env.network.path import Path\n"
        "with VirtualLab(seed=1) as lab:\n"
        "    r = lab.run(Path(rate_mbps=10, rtt_ms=20), [{'scheme': 'cubic', 'start_s': 0, 'duration_s': 2}], 2.0)\n"
        "print(r.flows[0].received_bytes > 1_000_000)\n"
    )
    output = subprocess.check_output([sys.executable, "-c", code], cwd=link, env=os.environ | {"PYTHONPATH": "."})
    assert output == b"True\n"
