"""Measure the cost of a run: ``python -m studies.speed.run_cost DIR`` writes DIR/cost.csv and DIR/cost.png.

It measures the time over the number of packets (one flow of growing duration), of flows (1 to 64, with 5 Mbit/s each)
and of runs (with a boot each), and the memory of a lab by its number of flows. Each point is the median of several
repetitions, each in a different order. A lab runs on one core, one process at a time: on an idle machine its wall time
is its CPU time, on a busy one it is longer. The least-squares line is therefore fitted to the CPU times. Growth is
called linear if no point is further from the line than a tenth of the largest value.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path as FilePath

import matplotlib as mpl
import numpy as np

from compare.statistics.numbers import csv_text
from env.lab import Lab, VirtualLab
from env.network.path import Path
from studies.speed.processes import cpu_seconds, lab_processes

mpl.use("Agg")
from matplotlib import pyplot

DURATIONS_S = (5, 10, 20, 40, 80)
FLOWS = (1, 2, 4, 8, 16, 32, 64)
RUNS = (1, 2, 4, 8)
FLOW_MBPS = 5.0
REPETITIONS = 5
LINEAR_WITHIN = 0.1  # largest distance from the line that counts as linear, as a share of the largest value
MEMORY_LIMIT_MB = 600
COLUMNS = ("against", "x", "repetition", "packets", "wall_s", "cpu_s", "memory_mb")


@dataclass
class Cost:
    """One measurement. packets: data packets that TCP sent. cpu_s, memory_mb: of all processes of the labs."""

    packets: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_mb: float = 0.0


@dataclass
class Axis:
    """One measurement series: time over `against`. costs: by x, one per repetition."""

    against: str
    measure: Callable[[int], Cost]
    xs: Sequence[int]
    costs: dict[int, list[Cost]] = field(default_factory=dict)

    def points(self) -> tuple[list[float], list[float]]:
        """Return x and the median CPU times, s. In the series over packets, x is the number of packets."""
        medians = [statistics.median(cost.cpu_s for cost in self.costs[x]) for x in self.xs]
        packets = [statistics.median(cost.packets for cost in self.costs[x]) for x in self.xs]
        return (packets if self.against == "packets" else [float(x) for x in self.xs]), medians

    def fit(self) -> tuple[float, float, float]:
        """Return slope, intercept, and the largest distance from the line as a share of the largest value."""
        x, cpu_s = self.points()
        slope, intercept = np.polyfit(x, cpu_s, 1)
        distance = np.abs(np.polyval([slope, intercept], x) - cpu_s).max() / max(cpu_s)
        return float(slope), float(intercept), float(distance)


# -- measuring -------------------------------------------------------------------------------------------------------


def memory_mb(lab: VirtualLab) -> float:
    """Return the memory of a lab, MB: the guest's memory that was touched, and that of the lab's processes."""
    total = 0
    for process in lab_processes(lab):
        for line in (process / "smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                total += int(line.split()[1]) * 1024
    for descriptor in FilePath(f"/proc/{lab.pid}/fd").iterdir():
        status = descriptor.stat()
        # the guest's memory is an unlinked file
        if not status.st_nlink and status.st_size >= lab.memory_mb << 20:
            total += status.st_blocks * 512
    return total / 1e6


@contextmanager
def metered(lab: VirtualLab, cost: Cost) -> Iterator[None]:
    """Add the cost of the block to `cost`."""
    cpu_s, began = cpu_seconds(lab), time.perf_counter()
    yield
    cost.wall_s += time.perf_counter() - began
    cost.cpu_s += cpu_seconds(lab) - cpu_s
    cost.memory_mb = max(cost.memory_mb, memory_mb(lab))


def send(lab: Lab, flows: int, rate_mbps: float, duration_s: float) -> int:
    """Send Cubic flows over one bottleneck; returns the number of data packets."""
    path = Path(rate_mbps=rate_mbps, rtt_ms=40)
    traffic = [{"scheme": "cubic", "start_s": 0.01 * i, "duration_s": duration_s - 0.01 * i} for i in range(flows)]
    return sum(flow.segments_sent for flow in lab.run(path, traffic, duration_s, sample_ms=50).flows)


def cost_of_packets(duration_s: int) -> Cost:
    """Return the cost of one flow of 20 Mbit/s for `duration_s`, without the boot."""
    cost = Cost()
    with VirtualLab(seed=1) as lab:
        lab.call("build", topology="router")
        with metered(lab, cost):
            cost.packets = send(lab, 1, 20, duration_s)
    return cost


def cost_of_flows(flows: int) -> Cost:
    """Return the cost of `flows` flows for 10 s with FLOW_MBPS each, without the boot."""
    cost = Cost()
    with VirtualLab(seed=1) as lab:
        lab.call("build", topology="router")
        with metered(lab, cost):
            cost.packets = send(lab, flows, FLOW_MBPS * flows, 10)
    return cost


def cost_of_runs(runs: int) -> Cost:
    """Return the cost of `runs` runs of one flow of 20 Mbit/s and 5 s, each with a boot, one after the other."""
    cost = Cost()
    for seed in range(1, runs + 1):
        began = time.perf_counter()
        with VirtualLab(seed=seed) as lab:
            cost.packets += send(lab, 1, 20, 5)
            cost.cpu_s += cpu_seconds(lab)
            cost.memory_mb = max(cost.memory_mb, memory_mb(lab))
        cost.wall_s += time.perf_counter() - began
    return cost


# -- output ----------------------------------------------------------------------------------------------------------


def table(axes: Sequence[Axis]) -> str:
    """Return the text of cost.csv."""
    return csv_text(
        COLUMNS,
        (
            (axis.against, x, repetition, cost.packets, cost.wall_s, cost.cpu_s, cost.memory_mb)
            for axis in axes
            for x in axis.xs
            for repetition, cost in enumerate(axis.costs[x], 1)
        ),
    )


def draw(axes: Sequence[Axis], file: FilePath) -> None:
    """Draw all wall times, the medians of the CPU times and the fitted lines."""
    figure, places = pyplot.subplots(1, len(axes), figsize=(12, 3.6), layout="constrained")
    for axis, place in zip(axes, places, strict=True):
        x, medians = axis.points()
        slope, intercept, _ = axis.fit()
        for at, costs in zip(x, axis.costs.values(), strict=True):
            wall_s = [cost.wall_s for cost in costs]
            place.plot(
                [at] * len(costs), wall_s, ".", color="#9aa5b1", markersize=4, label="wall" if at == x[0] else None
            )
        place.plot(x, medians, "o", color="#1f5fa8", label="CPU, median")
        ends = np.array([0.0, max(x)])
        place.plot(ends, intercept + slope * ends, "-", color="#c0392b", linewidth=1, label="fit")
        place.set(xlabel=f"number of {axis.against}", ylabel="time [s]", xlim=(0, None), ylim=(0, None))
        place.grid(alpha=0.3)
        place.legend(frameon=False)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write and print the result; return 1 if growth is not linear or a lab takes too much memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=FilePath, help="where cost.csv and cost.png are written")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    arguments = parser.parse_args(argv)
    if arguments.repetitions < 1:
        parser.error(f"--repetitions is {arguments.repetitions}; it must be 1 or more")
    axes = (
        Axis("packets", cost_of_packets, DURATIONS_S),
        Axis("flows", cost_of_flows, FLOWS),
        Axis("runs", cost_of_runs, RUNS),
    )
    jobs = [(axis, x) for axis in axes for x in axis.xs]
    for axis, x in jobs:
        axis.costs[x] = []
    for repetition in range(arguments.repetitions):
        # in a random order, other work on the machine does not always affect the same points
        for axis, x in random.Random(repetition).sample(jobs, len(jobs)):
            axis.costs[x].append(axis.measure(x))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "cost.csv").write_text(table(axes))
    draw(axes, arguments.folder / "cost.png")
    status = 0
    for axis in axes:
        slope, intercept, distance = axis.fit()
        verdict = "linear" if distance <= LINEAR_WITHIN else "NOT LINEAR"
        print(
            f"{axis.against}: CPU {1e3 * slope:.4g} ms each plus {intercept:.2f} s; the furthest point is "
            f"{100 * distance:.1f} % of the largest value from the line: {verdict}"
        )
        status |= distance > LINEAR_WITHIN
    largest_mb = max(cost.memory_mb for cost in axes[1].costs[FLOWS[-1]])
    print(f"memory of a lab with {FLOWS[-1]} flows: {largest_mb:.0f} MB of at most {MEMORY_LIMIT_MB} MB")
    return status | (largest_mb > MEMORY_LIMIT_MB)


if __name__ == "__main__":
    sys.exit(main())
