"""What a script of a user cannot do: reach the host by the lab's channel, modules or files, or outlive its owner."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from env.checkout import MODEL_BUILD
from tests.support.commands import assert_gone, descendants
from tests.support.scripts import begin, run, write

# as an attacker does: answer in the agent's place, by the device or by the agent's own descriptor
GATE = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
PIDFD_OPEN, PIDFD_GETFD, PTRACE_ATTACH = 434, 438, 16

def call(name, function):
    try:
        result = function()
        print(name, "failed" if result == -1 else "worked", errno.errorcode.get(ctypes.get_errno(), ""))
    except OSError as error:
        print(name, "failed", errno.errorcode[error.errno])

call("open", lambda: os.open("/dev/lab_gate", os.O_RDWR))
call("open by name", lambda: os.open(f"/proc/1/fd/{max(os.listdir('/proc/1/fd'))}", os.O_RDWR))
call("pidfd", lambda: libc.syscall(PIDFD_GETFD, libc.syscall(PIDFD_OPEN, 1, 0), 3, 0))
call("ptrace", lambda: libc.ptrace(PTRACE_ATTACH, 1, 0, 0))
call("memory", lambda: os.open("/proc/1/mem", os.O_RDWR))
"""


def test_only_the_agent_speaks_to_the_host(tmp_path: Path) -> None:
    output, _ = run(tmp_path, "run", "--quiet", write(tmp_path, GATE))
    names = ["open", "open by name", "pidfd", "ptrace", "memory"]
    assert [line.split(" failed")[0] for line in output.splitlines()] == names
    assert output.startswith("open failed EBUSY\n")


@pytest.mark.parametrize("way", ["insmod", "by the kernel"])
def test_a_script_loads_no_module(way: str, tmp_path: Path) -> None:
    module = MODEL_BUILD / "modules" / "lab" / "tcp_nv.ko"
    loader = tmp_path / "loader"
    loader.write_text(f"#!/bin/sh\ncp /proc/self/status /run/loader\n/sbin/insmod {module}\n")
    loader.chmod(0o755)
    begins = {
        "insmod": f"/sbin/insmod {module}",
        "by the kernel": f"echo {loader} >/proc/sys/kernel/modprobe; ip link add x type nosuch; sleep 1",
    }
    output, _ = run(
        tmp_path,
        "run",
        "--quiet",
        write(tmp_path, f"import os\nos.system('{begins[way]}; ls -d /sys/module/tcp_nv')\n"),
    )
    assert "tcp_nv" not in output


def test_a_link_out_does_not_come_back(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    work = tmp_path / "work"
    outside.mkdir()
    work.mkdir()
    script = write(
        work,
        "import os\n"
        f"os.symlink('{outside}', 'absolute')\n"
        "os.symlink('../outside', 'relative')\n"
        "os.symlink('script.py', 'inside')\n"
        "open('z', 'w').close()\n",
    )
    _, errors = run(work, "run", "--quiet", script, status=1)
    assert "2 changed files could not be written" in errors
    assert sorted(os.listdir(work)) == ["inside", "script.py", "z"]


def test_a_sparse_file_is_refused_and_others_come_back(tmp_path: Path) -> None:
    script = write(tmp_path, "open('a', 'wb').truncate(10**14)\nopen('b', 'wb').truncate(10**6)\n")
    began_s = time.monotonic()
    _, errors = run(tmp_path, "run", "--quiet", script, status=1)
    assert "a: " in errors
    assert "--memory-mb" in errors
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").stat().st_size == 10**6
    assert time.monotonic() - began_s < 60


def test_a_guest_that_computes_dies_with_its_owner(tmp_path: Path) -> None:
    process = begin(tmp_path, "run", write(tmp_path, "print('begun')\nwhile True:\n    pass\n"))
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    processes = descendants(process)
    assert processes
    time.sleep(1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert_gone(processes)


def test_an_interrupt_of_the_agent_and_a_deep_folder_lose_no_files(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "open('kept', 'w').close()\n"
        "os.kill(1, signal.SIGINT)\n"
        "os.system('pkill -INT python3')\n"
        "for _ in range(600):\n"
        "    os.mkdir('abcdefghij')\n"
        "    os.chdir('abcdefghij')\n",
    )
    run(tmp_path, "run", "--quiet", script)
    assert (tmp_path / "kept").is_file()
    assert (tmp_path / "abcdefghij" / "abcdefghij").is_dir()
