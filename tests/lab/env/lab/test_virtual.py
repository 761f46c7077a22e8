"""The virtual lab: what it returns, what it isolates, and that no failure leaves a process or a file."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from pathlib import Path

import pytest

from env import schema
from env.checkout import ROOT
from env.lab import GuestDied, GuestFailed, GuestHung, Lab, LabError, LabMissing, Observation, Reply, VirtualLab
from env.network.path import Path as NetworkPath
from tests.conftest import CORES
from tests.support.commands import assert_group_gone, group_members, start

NOISY = NetworkPath(rate_mbps=20, rtt_ms=40, jitter_ms=5, loss_pct=1, duplicate_pct=0.5)


def learn(lab: Lab, decisions: int) -> str:
    """Run a learning flow with a fixed rule and return the hash of everything that was observed."""
    digest = hashlib.sha256()
    lab.begin_run(NOISY, [{"scheme": "ndm_gym", "start_s": 0, "duration_s": 60}], 60.0)
    seen = 0
    while isinstance(frame := lab.receive(), Observation):
        digest.update(repr(frame).encode())
        seen += 1
        lab.act(0.5 if frame.cwnd < 60 else -0.5, 0.0, stop=seen == decisions)
    assert seen == decisions
    return digest.hexdigest()


def test_boots_to_a_mininet_topology_quickly() -> None:
    began = time.monotonic()
    with VirtualLab(seed=1) as lab:
        lab.call("build", topology="router")
        ready_s = time.monotonic() - began
        assert "10.0.2.1" in lab.call("execute", node="h2", argv=["ip", "addr", "show"])
    # under 5 s on an idle machine; the suite's machine may be busy
    assert ready_s < 15


def test_same_seed_same_bytes_other_seed_other_bytes() -> None:
    hashes = []
    for seed in (7, 7, 8):
        with VirtualLab(seed=seed) as lab:
            hashes.append((learn(lab, 150), learn(lab, 50)))
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


def test_labs_side_by_side_are_independent() -> None:
    with VirtualLab(seed=7) as alone:
        expected = learn(alone, 100)
    with VirtualLab(seed=7) as first, VirtualLab(seed=7) as second:
        flows = [{"scheme": "cubic", "start_s": 0, "duration_s": 5}]
        second.begin_run(NOISY, flows, 5.0)
        assert learn(first, 100) == expected
        assert isinstance(second.receive(), Reply)


def test_each_lab_has_a_core_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("env.lab.core.NAME", f"ndm-tcp-test-{os.getpid()}")  # other labs may be at work
    one_core = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES)
    try:
        with VirtualLab(seed=1) as one, VirtualLab(seed=2) as two:
            for lab in (one, two):
                lab.call("shell", command="true")
            used = [
                {core for pid in group_members(lab.pid) for core in os.sched_getaffinity(pid)} for lab in (one, two)
            ]
    finally:
        os.sched_setaffinity(0, one_core)
    assert [len(of_one_lab) for of_one_lab in used] == [1, 1]
    if len(CORES) > 1:
        assert used[0] != used[1]


def test_run_returns_what_both_sides_saw() -> None:
    path = NetworkPath(rate_mbps=10, rtt_ms=20)
    flows = [{"scheme": "cubic", "start_s": 0, "duration_s": 4}, {"scheme": "reno", "start_s": 1, "duration_s": 2}]
    with VirtualLab(seed=1) as lab:
        result = lab.run(path, flows, 4.0, sample_ms=100, describe=True)
    first, second = result.flows
    assert 3.0e6 < first.received_bytes + second.received_bytes <= 10e6 / 8 * 4
    sender = first.sender
    assert len(sender["t_s"]) >= 39
    assert (sender["srtt_us"][5:] >= 20_000).all()
    assert second.sender["t_s"].min() >= 1.0
    received = first.receiver["bytes"]
    assert received[-1] == first.received_bytes
    assert (received[1:] >= received[:-1]).all()
    assert any("netem" in text and "delay 10ms" in text for text in result.environment["qdiscs"])


def test_the_guest_cannot_write_the_hosts_files(tmp_path: Path) -> None:
    victim = ROOT / "build" / "lab-cannot-write-here"
    victim.unlink(missing_ok=True)
    unchanged = ROOT / "build" / "lab-cannot-change-this"
    unchanged.write_text("text")
    try:
        with VirtualLab(seed=1) as lab:
            for attempt in (
                f"echo x > {victim}",
                f"mount -o remount,rw / ; echo x > {victim}",
                f"mount -o remount,rw / ; echo x > {unchanged}",
                f"mount -o remount,rw / ; rm {unchanged}",
                f"mount -o remount,rw / ; chmod 777 {unchanged}",
                f"mount -o remount,rw / ; mkdir {victim}",
            ):
                done = lab.call("shell", command=attempt)
                assert done["status"] != 0, attempt
                assert "Read-only file system" in done["stderr"], done
        assert not victim.exists()
        assert unchanged.read_text() == "text"
    finally:
        unchanged.unlink()


def test_guest_exception_does_not_end_the_lab() -> None:
    with VirtualLab(seed=1) as lab:
        with pytest.raises(GuestFailed, match="no network is built"):
            lab.call("execute", node="h1", argv=["true"])
        with pytest.raises(GuestFailed, match="nosuch"):
            lab.run(NetworkPath(topology="loopback", tc=("tc qdisc add dev lo root nosuch",)), [], 1.0)
        assert lab.call("shell", command="echo on")["stdout"] == "on\n"


def test_a_refused_congestion_control_is_an_error() -> None:
    flows = [{"scheme": "nosuch", "start_s": 0, "duration_s": 1}]
    with VirtualLab(seed=1) as lab:
        with pytest.raises(GuestFailed, match="no congestion control nosuch; it has reno, bbr"):
            lab.run(NOISY, flows, 1.0)
        with pytest.raises(GuestFailed, match="lacks start_s, duration_s; a flow needs scheme, start_s, duration_s"):
            lab.run(NOISY, [{"scheme": "reno"}], 1.0)


def test_a_reply_that_is_too_long_is_an_error() -> None:
    with VirtualLab(seed=1) as lab:
        with pytest.raises(GuestFailed, match=r"65 MiB of results, .* 64 at most: .*sample_ms"):
            lab.call("shell", command="head -c $((65 << 20)) /dev/zero | tr '\\0' x")
        assert lab.call("shell", command="echo here")["stdout"] == "here\n"


def test_guest_panic_shows_the_reason() -> None:
    lab = VirtualLab(seed=1, timeout_s=30)
    lab.start()
    pid = lab.pid
    broken = b"no JSON: the agent, which is the guest's init, ends"
    lab._send(schema.FRAME_HEADER.pack(len(broken), schema.FRAME_COMMAND, 0) + broken)
    with pytest.raises(GuestDied, match="JSONDecodeError") as error:
        lab.receive()
    assert "Kernel panic" in str(error.value)
    assert_group_gone(pid)


@pytest.mark.parametrize("command", ["halt -f", "reboot -f"])
def test_guest_that_ends_is_an_error(command: str) -> None:
    lab = VirtualLab(seed=1, timeout_s=30)
    lab.start()
    pid = lab.pid
    with pytest.raises(GuestDied, match="console"):
        lab.call("shell", command=command)
    assert pid not in group_members(pid)
    assert_group_gone(pid)


def test_guest_that_hangs_is_an_error() -> None:
    lab = VirtualLab(seed=1, timeout_s=3)
    lab.start()
    pid = lab.pid
    with pytest.raises(GuestHung, match="3 s"):
        # the guest spins for ever: virtual time stands still while the CPU is busy
        lab.call("shell", command="while :; do :; done")
    assert_group_gone(pid)


@pytest.mark.parametrize(
    ("wait", "number"),
    [('lab.call("shell", command="while :; do :; done")', signal.SIGINT), ("time.sleep(60)", signal.SIGKILL)],
    ids=["interrupted", "killed"],
)
def test_no_process_is_left_after_a_signal(wait: str, number: int) -> None:
    code = f"""
import time
from env.lab import VirtualLab
with VirtualLab(seed=1) as lab:
    lab.call("shell", command="true")
    print(lab.pid, flush=True)
    {wait}
"""
    process = start("-c", code)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    time.sleep(0.5)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode != 0
    assert_group_gone(pid)


def test_nothing_is_left_in_memory_or_temporary_folders() -> None:
    def listing() -> set[str]:
        folders = ("/dev/shm", "/tmp", str(Path.home() / ".uml"))
        return {f"{folder}/{name}" for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)}

    before, descriptors = listing(), len(os.listdir("/proc/self/fd"))
    with VirtualLab(seed=1) as lab:
        lab.call("build", topology="loopback")
        pid = lab.pid
    assert not {name for name in listing() - before if "vm_file" in name or "uml" in name or "ndm" in name}
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert_group_gone(pid)


def test_missing_and_unusable_kernels_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LabMissing, match="make lab-kernel"):
        VirtualLab(seed=1, kernel=tmp_path / "linux").start()
    plain = tmp_path / "plain"
    plain.write_text("no kernel")
    plain.chmod(0o600)
    with pytest.raises(LabMissing, match=r"chmod \+x"):
        VirtualLab(seed=1, kernel=plain).start()
    with pytest.raises(LabMissing, match="make module"):
        VirtualLab(seed=1, modules=("nosuch",))
    with pytest.raises(LabError, match="seed is -1"):
        VirtualLab(seed=-1)
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no kernel at all\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(GuestDied, match="no kernel at all"), VirtualLab(seed=1, kernel=broken) as lab:
        lab.call("shell", command="true")
