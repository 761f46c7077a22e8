"""compare.py lab=vm: the distribution's own kernel in place of the lab kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from env.lab.stock_kernel import StockKernel
from tests.support.commands import start

pytestmark = pytest.mark.timeout(600)


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
