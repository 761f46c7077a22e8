"""The virtual lab's repeatability: a seed gives the same bytes under load, after other work, in another checkout."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from env.checkout import ROOT
from env.lab import Lab, RunResult, VirtualLab
from env.lab.lab import PROGRAM
from env.lab.virtual import INIT, MODULES
from env.network.path import Path as NetworkPath
from env.network.rack import Rack

pytestmark = pytest.mark.timeout(600)
NOISY = NetworkPath(rate_mbps=20, rtt_ms=40, jitter_ms=4, loss_pct=0.5, duplicate_pct=0.5, reorder_pct=1)
SCHEMES = ("cubic", "bbr", "ndm")
DURATION_S = 10.0
STEPS = [{"at_s": float(second), "rtt_ms": 40.0 + second % 2} for second in range(1, 13)]


def digest(result: RunResult) -> str:
    """Return the hash of everything in a run's result: samples of both sides, counters, qdiscs, sysctls."""
    everything = hashlib.sha256(json.dumps(result.as_dict()).encode())
    for table in (result.queue, *(samples for flow in result.flows for samples in (flow.sender, flow.receiver))):
        everything.update(f"{table.columns}".encode() + table.rows.tobytes())
    return everything.hexdigest()


def run(lab: Lab) -> str:
    """Run three flows over a noisy path; check that they sent data, and return the result's hash."""
    flows = [{"scheme": s, "start_s": float(i), "duration_s": DURATION_S - i} for i, s in enumerate(SCHEMES)]
    result = lab.run(NOISY, flows, DURATION_S, sample_ms=20, describe=True)
    received = [flow.received_bytes for flow in result.flows]
    assert all(bytes_ > 500_000 for bytes_ in received), received
    assert all(len(flow.sender) > 300 for flow in result.flows)
    assert result.flows[0].retransmits > 10
    return digest(result)


def whole(seed: int, before: str = "", memory_mb: int = 512) -> str:
    """Boot a lab, make the run, and return its hash; before: a shell command that the guest runs first."""
    with VirtualLab(seed=seed, modules=("tcp_ndm",), memory_mb=memory_mb) as lab:
        if before:
            lab.call("shell", command=before)
        return run(lab)


@contextmanager
def loaded_cores() -> Iterator[None]:
    """Keep every core busy with something else."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@pytest.fixture(scope="module")
def expected() -> str:
    return whole(7)


def test_seed_repeats_side_by_side_and_under_load(expected: str) -> None:
    hashes = [expected, whole(7)]
    with loaded_cores(), ThreadPoolExecutor(2) as pool:
        hashes += pool.map(whole, (7, 7))
    assert hashes == [expected] * 4


def test_other_seeds_differ(expected: str) -> None:
    assert len({expected, whole(8), whole(2**62)}) == 3


@pytest.mark.parametrize(
    "before",
    [
        "true",
        "date; ls -lR /usr/share/doc | wc -l",  # reads the clock, draws random numbers, fills caches
        "sleep 1234.567891234",  # shifts every timer
        "head -c 100000 /dev/urandom | wc -c",
    ],
)
def test_earlier_work_of_the_guest_changes_nothing(expected: str, before: str) -> None:
    assert whole(7, before=before) == expected


def test_second_run_of_a_boot_repeats(expected: str) -> None:
    short = NetworkPath(rate_mbps=10, rtt_ms=20, jitter_ms=1)
    second = []
    for duration_s in (1.0, 2.5):
        with VirtualLab(seed=7, modules=("tcp_ndm",)) as lab:
            lab.run(short, [{"scheme": "reno", "start_s": 0.0, "duration_s": duration_s}], duration_s)
            second.append(run(lab))
    assert second[0] == second[1] != expected


def test_network_of_another_kind_changes_nothing() -> None:
    """ACKs that wait for others draw random numbers in a run, and so does the end of the network before."""
    path = NetworkPath(rate_mbps=40, rtt_ms=30, buffer_bdp=2, ack_burst_ms=25)
    rack = Rack(clients=2, servers=1, rate_mbps=25_000, rtt_us=30, buffer_kb=1500)
    flow = {"scheme": "cubic", "start_s": 0.0, "duration_s": 2.0}
    clients = [flow | {"client": client, "duration_s": 0.01} for client in (1, 2)]
    with VirtualLab(seed=1) as lab:
        alone = digest(lab.run(path, [flow], 2.0, sample_ms=20, seed=3))
    with VirtualLab(seed=1) as lab:
        lab.run(rack, clients, 0.01, seed=3)
        assert digest(lab.run(path, [flow], 2.0, sample_ms=20, seed=3)) == alone


@pytest.mark.parametrize(
    ("path", "scheme", "runs_before"),
    [
        # timers near a tick, which comes or not by what the kernel did before
        (NetworkPath(rate_mbps=20, rtt_ms=40, loss_pct=1), "ndm", (10, 17, 21)),
        # a queue that draws random numbers, and hashes the flow with a key
        (NetworkPath(rate_mbps=20, rtt_ms=40, buffer_bdp=2, qdisc="cake"), "bbr", (1, 2)),
        # steps in the instants in which packets arrive, and one as the run ends
        (NetworkPath(rate_mbps=12, rtt_ms=40, steps=STEPS), "cubic", (1, 2)),
    ],
)
def test_the_number_of_runs_before_changes_nothing(path: NetworkPath, scheme: str, runs_before: tuple[int]) -> None:
    def after(runs: int) -> str:
        with VirtualLab(seed=1) as lab:
            for _ in range(runs):
                lab.run(path, [{"scheme": "cubic", "start_s": 0.0, "duration_s": 1.0}], 1.0, sample_ms=50, seed=1)
            if scheme == "ndm":
                lab.load("tcp_ndm")
            flow = {"scheme": scheme, "start_s": 0.0, "duration_s": 12.0}
            return digest(lab.run(path, [flow], 12.0, sample_ms=50, describe=True, seed=1))

    with ThreadPoolExecutor(2) as pool:
        hashes = list(pool.map(after, (0, *runs_before)))
    assert set(hashes) == {hashes[0]}


def test_memory_size_changes_nothing(expected: str) -> None:
    assert whole(7, memory_mb=1024) == expected


def test_other_checkout_user_and_environment_change_nothing(expected: str) -> None:
    with tempfile.TemporaryDirectory(prefix="another-place-with-a-longer-name-") as folder:
        os.chmod(folder, 0o755)
        checkout = Path(folder) / "ndm-tcp"
        for package in ("env", "datasets"):
            shutil.copytree(ROOT / package, checkout / package, copy_function=shutil.copy)  # with other times
        kernel, tests = checkout / "build" / "lab-kernel", checkout / "tests"
        modules = checkout / "build" / "modules" / "lab"
        for place in (kernel, tests, modules):
            place.mkdir(parents=True)
        for file in ("linux", "manifest.json"):
            shutil.copy((ROOT / "build" / "lab-kernel" / file).resolve(), kernel)
        for file in MODULES.glob("*.ko"):
            shutil.copy(file, modules)
        for program in (INIT, PROGRAM):
            shutil.copy(program, checkout / "build")
        shutil.copy(__file__, tests / "again.py")
        code = "import sys; sys.path[:0] = sys.argv[1:]; import again; print(again.whole(7))"
        command = [sys.executable, "-c", code, str(checkout), str(tests)]
        environment = {"PATH": "/bin:/usr/bin", "HOME": "/", "TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8", "X": "y" * 5000}
        done = subprocess.run(
            command, cwd="/", env=environment, user=another_user(), capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected


def another_user() -> int | None:
    """Return an ordinary user's id if this process can become one and that user can read the interpreter."""
    private = any(not os.stat(place).st_mode & 0o001 for place in Path(sys.executable).parents)
    return None if os.geteuid() != 0 or private else pwd.getpwnam("nobody").pw_uid


# addresses are fixed by personality(2)
IN_A_CONTAINER = f"""
import subprocess
from tests.support.as_in_a_container import forbid_personality
forbid_personality()
assert subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL).returncode
from env.lab import VirtualLab
from {__name__} import run
with VirtualLab(seed=7, modules=["tcp_ndm"]) as lab:
    print(run(lab))
"""


def test_same_bytes_where_addresses_cannot_be_fixed() -> None:
    with VirtualLab(seed=7, modules=["tcp_ndm"]) as lab:
        expected = run(lab)
    from tests.support.commands import run_python  # not above: a test copies this file to a folder of its own

    output, _ = run_python("-c", IN_A_CONTAINER)
    assert output.split() == [expected]
