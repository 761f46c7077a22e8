"""NDM as a BPF program in stock kernels: it loads, decides as the reference does, and takes other models."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from env.checkout import BUILD, KERNEL, MODEL_BUILD
from env.lab.stock.kernel import NEWEST, VERSIONS
from env.lab.stock.vm import VmLab
from env.network.path import Path
from export.formats.blob import write_blob
from export.integer import reference
from tests.support.guest import shell
from tests.support.kernel.native import Native
from tests.support.labs import Decision, traced_decisions
from training.untrained import build_untrained

pytestmark = pytest.mark.timeout(1200)

CTL = BUILD / "ndmctl"
NAME = "ndm_bpf"  # beside the module's ndm
FOLDER = MODEL_BUILD / "bpf-beside"  # the guest sees none of the host's temporary folders
OTHER = FOLDER / "other.bin"
DECISIONS = "/tmp/decisions"  # in the guest


@pytest.fixture(scope="session")
def program() -> FilePath:
    """The BPF program under another name than the module's, and a model file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    exported = build_untrained(1)
    provenance = replace(exported.provenance, name="other")
    OTHER.write_bytes(write_blob(exported.model, provenance))
    subprocess.run([KERNEL / "bpf" / "build.sh", FOLDER, NAME], check=True)
    return FOLDER / "ndm.bpf.o"


@pytest.fixture(scope="module", params=(*VERSIONS, NEWEST))
def lab(request: pytest.FixtureRequest, program: FilePath) -> Iterator[VmLab]:
    with VmLab(kernel=request.param, modules=("tcp_ndm",), clock="counted", timeout_s=600) as vm:
        shell(vm, "mount -t bpf bpf /sys/fs/bpf")
        shell(vm, f"{CTL} load {program}")
        yield vm


def ctl(lab: VmLab, command: str) -> str:
    return shell(lab, f"{CTL} {command}")


def status(lab: VmLab) -> dict[str, Any]:
    (only,) = json.loads(ctl(lab, "status --json"))["controls"]
    return dict(only)


def decided(lab: VmLab) -> int:
    return sum(control["decisions"] for control in json.loads(ctl(lab, "status --json"))["controls"])


def decisions_of(lab: VmLab, path: Path, flows: int, duration_s: float, scheme: str = NAME) -> list[Decision]:
    """Run flows and return all decisions that the program has reported."""
    shell(lab, f"{CTL} trace >{DECISIONS} 2>&1 & echo $! >/tmp/tracer; sleep 1")
    before = decided(lab)
    flow = {"scheme": scheme, "start_s": 0.0, "duration_s": duration_s}
    lab.run(path, [flow] * flows, duration_s, sample_ms=0)
    shell(lab, "sleep 1; kill $(cat /tmp/tracer); sleep 1")
    decisions = traced_decisions(shell(lab, f"cat {DECISIONS}").splitlines())
    assert len(decisions) == decided(lab) - before, "a decision was not reported"
    return decisions


def assert_as_reference(decisions: list[Decision], model: Any) -> None:
    for flow in {decision.flow for decision in decisions}:
        of_flow = [decision for decision in decisions if decision.flow == flow]
        x = np.array([decision.x for decision in of_flow], np.int16)  # [T, I] Q12
        actions = np.array([decision.action for decision in of_flow], np.int16)  # [T, O] Q14
        expected, _ = reference.rollout(model, x)
        np.testing.assert_array_equal(actions, expected)


PATHS = {
    "usual": Path(rate_mbps=5, rtt_ms=40, buffer_bdp=1),
    "shallow": Path(rate_mbps=10, rtt_ms=20, buffer_bdp=0.25),
    "lossy": Path(rate_mbps=5, rtt_ms=20, loss_pct=1),
    "jittery": Path(rate_mbps=5, rtt_ms=40, jitter_ms=4),
}
# with round trips of a few milliseconds, for many decisions
SHORT = {
    "clean": Path(rate_mbps=20, rtt_ms=2, buffer_bdp=2),
    "slow": Path(rate_mbps=2, rtt_ms=3, buffer_bdp=20),
    "shallow": Path(rate_mbps=20, rtt_ms=3, buffer_bdp=0.5),
    "deep": Path(rate_mbps=10, rtt_ms=2, buffer_bdp=8),
    "lossy": Path(rate_mbps=20, rtt_ms=2, buffer_bdp=2, loss_pct=0.5),
    "very lossy": Path(rate_mbps=20, rtt_ms=2, buffer_bdp=2, loss_pct=5),
    "jittery": Path(rate_mbps=20, rtt_ms=3, buffer_bdp=2, jitter_ms=1),
    "both": Path(rate_mbps=20, rtt_ms=3, buffer_bdp=2, jitter_ms=1, loss_pct=1),
    "faster": Path(rate_mbps=50, rtt_ms=2, buffer_bdp=1),
    "longer": Path(rate_mbps=20, rtt_ms=5, buffer_bdp=1),
}


@pytest.mark.parametrize("name", PATHS)
def test_every_decision_equals_the_reference(lab: VmLab, name: str) -> None:
    decisions = decisions_of(lab, PATHS[name], flows=2, duration_s=10.0)
    assert len(decisions) > 150
    assert len({decision.action for decision in decisions}) > 50, "a constant policy shows nothing"
    assert_as_reference(decisions, Native().shipped()[0])


@pytest.mark.parametrize("lab", VERSIONS[-1:], indirect=True)
def test_a_hundred_thousand_decisions_equal_the_reference(lab: VmLab) -> None:
    counts = {}
    for name, path in SHORT.items():
        decisions = decisions_of(lab, path, flows=8, duration_s=24.0)
        assert_as_reference(decisions, Native().shipped()[0])
        counts[name] = len(decisions)
    print(counts)
    assert sum(counts.values()) >= 100_000, counts


def test_a_run_is_that_of_the_module(lab: VmLab) -> None:
    """The clock counts instructions, and the two have not the same number: microseconds differ."""
    path, duration_s = PATHS["usual"], 20.0
    flow = {"start_s": 0.0, "duration_s": duration_s}
    module, program = (
        lab.run(path, [flow | {"scheme": scheme}], duration_s, sample_ms=100).flows[0] for scheme in ("ndm", NAME)
    )
    assert program.received_bytes == pytest.approx(module.received_bytes, rel=0.02)
    assert program.retransmits == pytest.approx(module.retransmits, abs=5)
    assert program.sender["cwnd"].mean() == pytest.approx(module.sender["cwnd"].mean(), rel=0.1)


def test_another_model_decides_from_now_on(lab: VmLab) -> None:
    ctl(lab, f"use {OTHER}")
    assert status(lab)["model"] == "other"
    decisions = decisions_of(lab, PATHS["usual"], flows=1, duration_s=5.0)
    assert_as_reference(decisions, build_untrained(1).model)
    ctl(lab, "use builtin")
    assert status(lab)["model"] == "mixed"
    assert_as_reference(decisions_of(lab, PATHS["usual"], flows=1, duration_s=5.0), Native().shipped()[0])


def test_an_open_connection_takes_the_model(lab: VmLab) -> None:
    swaps = status(lab)["swaps"]
    shell(lab, f": >{DECISIONS}")
    # each look takes time from the run, and ndmctl takes more than wc
    swap = f"while [ $(wc -l <{DECISIONS}) -lt 50 ]; do sleep 1; done; {CTL} use {OTHER}"
    shell(lab, f"({swap}) >/tmp/used 2>&1 &")
    decisions = decisions_of(lab, PATHS["usual"], flows=1, duration_s=10.0)
    assert {decision.flow for decision in decisions} == {decisions[0].flow}
    models = [decision.model for decision in decisions]
    assert models == sorted(models)
    assert set(models) == {swaps, swaps + 1}
    ctl(lab, "use builtin")


def test_a_changed_file_is_refused(lab: VmLab) -> None:
    shell(lab, f"cp {OTHER} /tmp/bad.bin")
    shell(lab, "printf '!!!!' | dd of=/tmp/bad.bin bs=1 seek=400 conv=notrunc 2>/dev/null")
    before = status(lab)
    done = lab.call("shell", command=f"{CTL} use /tmp/bad.bin")
    assert done["status"] == 1
    assert "its SHA-256 does not match its content" in done["stderr"]
    assert status(lab) == before


def in_host(lab: VmLab, command: str) -> str:
    """Run a command in the network namespace of the sender h1, with the machine's files: h1 sees no /sys/fs/bpf."""
    return shell(lab, f"nsenter --net --target $(pgrep -of mininet:h1) sh -c '{command}'")


def test_watch_shows_what_the_connections_do(lab: VmLab) -> None:
    path = PATHS["usual"]
    lab.call("build", topology=path.network)
    in_host(lab, f"{CTL} watch --json >/tmp/watched 2>&1 & echo $! >/tmp/watcher")
    flow = {"scheme": NAME, "start_s": 0.0, "duration_s": 10.0}
    received = lab.run(path, [flow, flow], 10.0, sample_ms=0).flows
    lines = [json.loads(line) for line in shell(lab, "kill $(cat /tmp/watcher); cat /tmp/watched").splitlines()]
    busy = [line for line in lines if line["controls"][0]["connections"] == 2]
    assert len(busy) >= 8
    middle = busy[2:-2]
    mbps = np.mean([line["controls"][0]["mbps"] for line in middle])
    assert mbps == pytest.approx(sum(one.received_bytes for one in received) * 8 / 10.0 / 1e6, rel=0.1)
    assert all(line["controls"][0]["decisions_per_s"] > 5 for line in middle)
    for line in middle:
        assert {one["name"] for one in line["connections"]} == {NAME}
        assert all(40 <= one["min_rtt_ms"] <= one["rtt_ms"] < 200 for one in line["connections"])


def test_default(lab: VmLab) -> None:
    shown = "cat /proc/sys/net/ipv4/tcp_congestion_control"
    assert shell(lab, shown) == "cubic"
    assert ctl(lab, "default on") == f"new connections use {NAME}; ndmctl default off: cubic again"
    assert shell(lab, shown) == NAME
    assert ctl(lab, "default on") == f"new connections use {NAME} already"
    done = lab.call("shell", command=f"{CTL} unload")
    assert "NDM is the default of new connections: ndmctl default off" in done["stderr"]
    ctl(lab, "default off")
    assert shell(lab, shown) == "cubic"


def test_trace_ends_with_its_reader(lab: VmLab) -> None:
    flow = {"scheme": NAME, "start_s": 0.0, "duration_s": 5.0}
    for reader, lines in (("trace 7", "7"), ("trace | head -3", "3")):
        shell(lab, f"({CTL} {reader} >/tmp/traced) >/dev/null 2>&1 & sleep 1")
        assert "another ndmctl trace is running" in lab.call("shell", command=f"{CTL} trace")["stderr"]
        lab.run(PATHS["usual"], [flow], 5.0, sample_ms=0)
        assert shell(lab, "sleep 1; pgrep ndmctl | wc -l; wc -l </tmp/traced").split() == ["0", lines]
        assert "true" not in shell(lab, "bpftool map dump pinned /sys/fs/bpf/ndm/watched")


def test_route(lab: VmLab) -> None:
    lab.call("build", topology=PATHS["usual"].network)
    link = next(line for line in in_host(lab, "ip route").splitlines() if "scope link" in line).split()[0]
    for prefix in (link, "198.51.100.0/24", link):  # a route of its own, and one that is added
        in_host(lab, f"{CTL} route add {prefix}")
        (route,) = in_host(lab, f"ip route show exact {prefix}").splitlines()
        assert route.count(f"congctl {NAME}") == 1
    assert "via 10.0.1.254 dev h1-r src" in in_host(lab, "ip route show 198.51.100.0/24")
    in_host(lab, "ip route del 198.51.100.0/24")


def test_it_hears_of_the_start_of_sending(lab: VmLab) -> None:
    """From 7.1 on by an operation of its own (kernel/ctl/object.c)."""
    (structure,) = (
        value["bpf_struct_ops_tcp_congestion_ops"]["data"]
        for value in json.loads(shell(lab, f"bpftool -j struct_ops dump name {NAME}"))
        if "bpf_struct_ops_tcp_congestion_ops" in value
    )
    (operation,) = (name for name, value in structure.items() if "ndm_op_cwnd_event_tx_start/prog_id" in str(value))
    major, minor, *_ = shell(lab, "uname -r").split(".")
    assert operation == ("cwnd_event_tx_start" if (int(major), int(minor)) >= (7, 1) else "cwnd_event")
    program = structure[operation].rpartition(":")[2]
    shell(lab, "sysctl -q -w kernel.bpf_stats_enabled=1")
    lab.run(PATHS["usual"], [{"scheme": NAME, "start_s": 0.0, "duration_s": 1.0}], 1.0, sample_ms=0)
    shell(lab, "sysctl -q -w kernel.bpf_stats_enabled=0")
    assert json.loads(shell(lab, f"bpftool -j prog show id {program}"))["run_cnt"] > 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "usage: ndmctl COMMAND"),
        ("lode", "there is no command lode"),
        ("use", "use: which model?"),
        ("use builtin ndm_fast", "the BPF program has no congestion control ndm_fast; only the module adds some"),
        ("use /nowhere", "/nowhere: No such file or directory"),
        ("status a b", "status: b is one argument too many"),
        ("load", "NDM is loaded already"),
        ("default off", "NDM is not the default of new connections"),
        ("route add nowhere", "nowhere is no destination"),
        ("route add 203.0.113.0/24", "no route leads to 203.0.113.0/24"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(lab: VmLab, command: str, message: str) -> None:
    done = lab.call("shell", command=f"{CTL} {command}")
    assert done["status"] in (1, 2)
    assert message in done["stderr"]


def test_it_is_gone_after_unload(lab: VmLab) -> None:
    ctl(lab, "unload")
    assert NAME not in shell(lab, "cat /proc/sys/net/ipv4/tcp_available_congestion_control")
    ctl(lab, "unload")  # the module
    done = lab.call("shell", command=f"{CTL} unload")
    assert (done["status"], done["stderr"]) == (1, "ndmctl: NDM is not loaded: ndmctl load\n")
