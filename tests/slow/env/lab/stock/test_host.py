"""The host lab: compare.py lab=host as root of a stock machine, which is a VM here."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from env.checkout import MODEL_BUILD, ROOT
from env.lab.stock.vm import VmLab

OPTIONS = "lab=host scenario=bottleneck schemes=[ndm,cubic] seeds=1 duration_s=5 output_dir=/tmp/out"
PYTHON = ROOT / ".venv" / "bin" / "python"
COMPARE = f"cd {ROOT} && NDM_MODEL_BUILD={MODEL_BUILD} {PYTHON} compare.py {OPTIONS}"


@pytest.fixture(scope="module")
def machine() -> Iterator[VmLab]:
    """A machine with a stock kernel, with the caller as root; its clock counts instructions."""
    with VmLab(kernel="6.12", clock="counted", memory_mb=1536, timeout_s=900) as vm:
        shell(vm, "rmmod sch_linktrace")
        yield vm


def shell(vm: VmLab, command: str) -> str:
    done = vm.call("shell", command=command)
    assert done["status"] == 0, done["stdout"] + done["stderr"]
    return str(done["stdout"])


@pytest.mark.timeout(1200)
class TestMachine:
    def test_host_lab_leaves_nothing_behind(self, machine: VmLab) -> None:
        watched = "ip -o link | cut -d: -f2; cut -d' ' -f1 /proc/modules | grep -E 'tcp_n|linktrace'; ls /run /tmp"
        before = machine.call("shell", command=watched)["stdout"]
        print(shell(machine, COMPARE))
        environment = json.loads(shell(machine, "cat /tmp/out/environment.json"))
        summary = shell(machine, "cat /tmp/out/summary.csv").splitlines()
        shell(machine, "rm -r /tmp/out")
        assert "Debian" in environment["kernel"][0]
        assert environment["models"]["ndm"]["ndm"]["name"]
        goodput = {line.split(",")[1]: float(line.split(",")[4]) for line in summary if ",goodput," in line}
        assert goodput.keys() == {"ndm", "cubic"}
        assert all(14 < rate < 19.5 for rate in goodput.values())
        assert machine.call("shell", command=watched)["stdout"] == before

    def test_module_that_is_already_loaded_is_refused(self, machine: VmLab) -> None:
        shell(machine, f"insmod {MODEL_BUILD}/modules/$(uname -r)/tcp_ndm.ko")
        done = machine.call("shell", command=COMPARE)
        shell(machine, "rmmod tcp_ndm; rm -rf /tmp/out")
        assert done["status"] == 1
        assert "rmmod tcp_ndm" in done["stdout"] + done["stderr"]
