"""The BPF program in Debian's 6.12, over the networks with all kinds of faults that tcp_ndm is tested with.

A stock kernel has no sanitizers, so leaks are looked for by counting: states in sockets, maps and programs.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from env.checkout import BUILD, KERNEL, MODEL_BUILD, ROOT
from env.lab import Lab
from env.lab.stock.vm import VmLab
from kernel.kunit.reports import find_reports, kernel_log
from tests.support.guest import shell
from tests.support.kernel.hostile import SETUP, HostileNetworks, check, check_trace, no_connection_is_left, run
from tests.support.kernel.in_guest import CHOSEN
from tests.support.models import BAD_MODELS, put_models

pytestmark = pytest.mark.timeout(900)

CTL = BUILD / "ndmctl"
FOLDER = MODEL_BUILD / "bpf-hostile"  # not a temporary one, as the guest sees none of the host's
PROGRAM, LISTER = FOLDER / "ndm.bpf.o", FOLDER / "flows.bpf.o"
TRACE = "/tmp/trace"
# prints how many sockets have a state of NDM
PIN = "/sys/fs/bpf/flows"
COUNT_STATES = f"bpftool iter pin {LISTER} {PIN} map name ndm_flows && cat {PIN} | wc -c && rm {PIN}"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    subprocess.run([KERNEL / "bpf" / "build.sh", FOLDER], check=True)
    subprocess.run(
        [KERNEL / "bpf" / "compile.sh", ROOT / "tests" / "support" / "kernel" / "flows.bpf.c", LISTER], check=True
    )
    with VmLab(kernel="6.12", clock="counted", timeout_s=600) as vm:
        shell(vm, f"set -e\nmount -t bpf bpf /sys/fs/bpf\n{SETUP}")
        put_models(vm, {name: BAD_MODELS[name] for name in ("grow", "shrink")})
        before = loaded(vm)
        shell(vm, f"{CTL} load {PROGRAM}")
        shell(vm, f"{CTL} trace >{TRACE} 2>&1 & sleep 1")
        yield vm
        stop_trace(vm)
        shell(vm, f"{CTL} unload")
        assert loaded(vm) == before
        assert find_reports(kernel_log(vm)) == []


def loaded(lab: Lab) -> set[tuple[str, int]]:
    """Return the BPF maps and programs that the kernel has, once it has freed those without a user."""
    shell(lab, "sleep 1")
    return {(kind, one["id"]) for kind in ("map", "prog") for one in json.loads(shell(lab, f"bpftool -j {kind} show"))}


def status(lab: Lab) -> dict[str, Any]:
    first = json.loads(shell(lab, f"{CTL} status --json"))["controls"][0]
    return dict(first)


def stop_trace(lab: Lab) -> None:
    shell(lab, "sleep 1; ! pgrep -x ndmctl >/tmp/tracer || kill $(cat /tmp/tracer); sleep 1")


class TestProgram(HostileNetworks):
    def use(self, lab: Lab, model: str) -> None:
        shell(lab, f"{CTL} use {model if model == 'builtin' else f'/tmp/firmware/{model}'}")


def test_nothing_is_left_of_closed_connections(lab: Lab) -> None:
    """Also that the counters agree with the trace, from the first connection to the last."""
    code = f"""
        link("delay 10ms rate 20mbit")
        flows = [Flow(*connect_far()) for _ in range(3)]
        for flow in flows:
            flow.watch(1)
        states = subprocess.run("{COUNT_STATES}", shell=True, check=True, capture_output=True).stdout
        print(json.dumps([[flow.finish() for flow in flows], int(states)]))
    """
    flows, states = run(lab, code)
    for flow in flows:
        check(flow)
    assert states >= len(flows)  # vanished peers may keep others
    no_connection_is_left(lab)
    assert shell(lab, COUNT_STATES) == "0"
    stop_trace(lab)
    decisions = check_trace(lab, shell(lab, f"cat {TRACE}").splitlines())
    counted = status(lab)
    assert counted["decisions"] == decisions
    assert (counted["opened"], counted["without_state"]) == (int(shell(lab, f"stat -c %s {CHOSEN}")), 0)


def test_unload_and_load_with_open_connections(lab: Lab) -> None:
    """Each connection goes on with the program that it began with, or takes the new one, and frees the old one."""
    code = f"""
        def programs():
            time.sleep(1)
            shown = subprocess.run(["bpftool", "-j", "map", "show"], check=True, capture_output=True)
            return sum(one.get("name") == "ndm_flows" for one in json.loads(shown.stdout))

        link("delay 10ms rate 20mbit loss 1%")
        flows = [Flow(*connect_far())]
        counts = []
        for _ in range(3):
            flows[-1].watch(1)
            subprocess.run(["{CTL}", "unload"], check=True)
            flows[-1].watch(1)
            subprocess.run(["{CTL}", "load", "{PROGRAM}"], check=True, stdout=subprocess.DEVNULL)
            flows.append(Flow(*connect_far()))
            flows[-1].watch(1)
            counts.append(programs())
        for flow in flows[:2]:
            choose(flow.sender, "ndm")
            flow.watch(1)
            counts.append(programs())
        print(json.dumps([[flow.finish() for flow in flows], counts]))
    """
    flows, counts = run(lab, code)
    for flow in flows:
        check(flow)
    assert counts == [2, 3, 4, 3, 2]
    counted = status(lab)
    assert (counted["opened"], counted["without_state"]) == (3, 0)
    assert counted["decisions"] > 0
    no_connection_is_left(lab)
    assert shell(lab, COUNT_STATES) == "0"
