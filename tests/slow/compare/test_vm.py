"""compare.py lab=vm: the distribution's own kernel in place of the lab kernel."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from env.checkout import KERNEL, ROOT
from env.lab.stock.kernel import StockKernel
from tests.support.commands import compare, start

pytestmark = pytest.mark.timeout(600)

OWN = ROOT / "tests" / "support" / "own"
TEN_PACKETS = ROOT / "studies" / "kernel_cost" / "src" / "empty.bpf.c"  # it leaves the first window as it is


def test_a_stock_kernel_makes_the_runs(tmp_path: Path) -> None:
    stock = StockKernel("6.12")
    options = ["lab=vm", "scenario=bottleneck", "schemes=[ndm]", "seeds=1", "duration_s=5", f"output_dir={tmp_path}"]
    process = start("compare.py", *options)
    output, errors = process.communicate(timeout=500)
    if "did not keep up" in " ".join(output.split()):
        pytest.skip("the machine is too busy for real time")
    assert process.returncode == 0, output + errors
    environment = json.loads((tmp_path / "environment.json").read_text())
    assert environment["kernel"][0].startswith(stock.release)
    goodput = next(line for line in (tmp_path / "summary.csv").read_text().splitlines() if ",goodput," in line)
    assert 14 < float(goodput.split(",")[4]) < 19.5


@pytest.mark.parametrize("file", ["tcp_aimd.c", "empty.bpf.c"])
def test_own_congestion_control_runs_in_a_stock_kernel(file: str, tmp_path: Path) -> None:
    source = TEN_PACKETS if file.endswith(".bpf.c") else OWN / file
    if file.endswith(".bpf.c"):
        built = tmp_path / "ten.bpf.o"
        subprocess.run([KERNEL / "bpf" / "compile.sh", source, built], check=True)
        source = built
    options = ["lab=vm", "scenario=bottleneck", f"schemes=[mine@{source}]", "seeds=1", "duration_s=5"]
    process = start("compare.py", *options, f"output_dir={tmp_path / 'results'}")
    output, errors = process.communicate(timeout=500)
    if "did not keep up" in " ".join(output.split()):
        pytest.skip("the machine is too busy for real time")
    assert process.returncode == 0, output + errors
    summary = (tmp_path / "results" / "summary.csv").read_text().splitlines()
    goodput = float(next(line for line in summary if ",goodput," in line).split(",")[4])
    if source.suffix == ".o":  # ten packets a round trip
        assert 2.5 < goodput < 3
    else:
        assert 12 < goodput < 19.5


def test_bpf_object_needs_a_kernel_with_bpf(tmp_path: Path) -> None:
    built = tmp_path / "ten.bpf.o"
    subprocess.run([KERNEL / "bpf" / "compile.sh", TEN_PACKETS, built], check=True)
    for options, problem in (
        ([f"schemes=[mine@{built}]"], "is a BPF object, and user-mode Linux has no BPF: add lab=vm"),
        ([f"schemes=[mine@{built}+a:1]", "lab=vm"], "is a BPF object, which has no parameters: leave out a=1"),
    ):
        _, errors = compare("scenario=bottleneck", *options, status=1)
        assert problem in errors
