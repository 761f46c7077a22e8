"""Compare the results of the virtual lab with those of a distribution's kernel.

    python -m studies.lab.real_time DIR

Three labs make the same runs: the virtual lab, a stock kernel under QEMU with a clock that counts instructions, and the
same stock kernel in real time. The first two differ in the kernel, and in the time of computation: none, or a
nanosecond per instruction. The last two differ only in the clock. A run in real time counts only if the guest kept up
(env/lab/stock/vm.py); otherwise it is repeated.

DIR/runs.jsonl stores every run, and the same command continues after an interruption. The table has mean and standard
deviation for each lab, and the difference of the stock kernel in real time from the virtual lab with a 95 % interval
(Welch). The seed of a virtual run is its number; a stock kernel's randomness has no seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from scipy import stats

from env.command import command
from env.lab import Lab, LabError, RunResult, VirtualLab
from env.lab.stock.real_time import GuestTooSlow
from env.lab.stock.vm import VmLab
from env.markdown import markdown_table
from env.network.scenario import load_scenario

DURATION_S = 20.0
SAMPLE_MS = 50
MODULES = ("tcp_ndm",)
ATTEMPTS = 5  # of a run in real time
LABS = {
    "virtual": "virtual lab",
    "counted": "stock kernel, clock counts instructions",
    "real": "stock kernel, real time",
}


@dataclass(frozen=True)
class Case:
    """A scenario of configs/scenario, shortened to DURATION_S, and the scheme under test in it."""

    scenario: str
    scheme: str


# At most 20 Mbit/s, so that QEMU keeps up.
CASES = (
    Case("bottleneck", "cubic"),
    Case("bottleneck", "bbr"),
    Case("bottleneck", "ndm"),
    Case("loss/1pct", "cubic"),
    Case("loss/1pct", "bbr"),
    Case("disorder/jitter_in_order", "cubic"),
    Case("disorder/reordering", "cubic"),
    Case("queue/fq_codel", "reno"),
    Case("compete/cubic_1v1", "reno"),
    Case("change/rtt_up", "cubic"),
    Case("delay_extreme", "cubic"),
    Case("stress", "cubic"),
)
# name, unit, digits
MEASURES = (
    ("goodput", "Mbit/s", 2),
    ("share", "%", 1),
    ("retransmits", "", 0),
    ("rtt", "ms", 1),
)


def measures(result: RunResult) -> dict[str, float]:
    """Return the values of MEASURES for a run.

    They are the goodput of all flows, the first flow's share (with several flows), retransmitted segments, and the
    first flow's mean smoothed RTT.
    """
    flows = result.flows
    received = [flow.received_bytes for flow in flows]
    rtt_us = flows[0].sender["srtt_us"]
    values = {
        "goodput": sum(received) * 8 / DURATION_S / 1e6,
        "retransmits": float(sum(flow.retransmits for flow in flows)),
        "rtt": float(rtt_us[rtt_us > 0].mean()) / 1e3,
    }
    if len(flows) > 1:
        values["share"] = 100 * received[0] / sum(received)
    return values


def make_run(lab: Lab, case: Case, number: int) -> dict[str, Any]:
    """Make one run; repeat and count it if the machine did not keep up. Raises GuestTooSlow after ATTEMPTS attempts."""
    scenario = load_scenario(case.scenario).lasting(DURATION_S)
    for refused in range(ATTEMPTS):
        try:
            result = lab.run(
                scenario.network, scenario.flows_with(case.scheme), DURATION_S, sample_ms=SAMPLE_MS, seed=number
            )
        except GuestTooSlow as error:
            print(f"  again: {error}", file=sys.stderr, flush=True)
            if refused == ATTEMPTS - 1:
                raise
            continue
        return {"measures": measures(result), "pulse": result.pulse, "refused": refused}
    raise AssertionError("ATTEMPTS is 0")


def missing(
    runs: list[dict[str, Any]], cases: Sequence[Case], numbers: dict[str, int]
) -> Iterator[tuple[Case, str, int]]:
    """Yield the missing runs, in the order of their numbers."""
    done = {(run["scenario"], run["scheme"], run["lab"], run["number"]) for run in runs}
    for number in range(1, max(numbers.values()) + 1):
        for lab, count in numbers.items():
            for case in cases:
                if number <= count and (case.scenario, case.scheme, lab, number) not in done:
                    yield case, lab, number


def make_runs(folder: FilePath, kernel: str, cases: Sequence[Case], numbers: dict[str, int]) -> list[dict[str, Any]]:
    """Make the runs that the folder lacks, and return all its runs. Each lab boots when it is first needed."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "runs.jsonl"
    runs = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    labs: dict[str, Lab] = {}
    with ExitStack() as stack:
        for case, name, number in missing(runs, cases, numbers):
            if name not in labs:
                lab = (
                    VirtualLab(seed=0, modules=MODULES)
                    if name == "virtual"
                    else VmLab(kernel=kernel, modules=MODULES, clock=name)
                )
                labs[name] = stack.enter_context(lab)
            run = {"scenario": case.scenario, "scheme": case.scheme, "lab": name, "number": number, "kernel": kernel}
            try:
                run |= make_run(labs[name], case, number)
            except GuestTooSlow as error:
                print(f"left out: {error}", file=sys.stderr, flush=True)
                continue
            runs.append(run)
            with file.open("a") as out:
                out.write(json.dumps(run) + "\n")
            print(f"{case.scenario} {case.scheme} {name} {number}: {run['measures']} {run['pulse']}", flush=True)
    return runs


# -- table -----------------------------------------------------------------------------------------------------------


def spread(values: Sequence[float], digits: int) -> str:
    """Return mean and standard deviation as text; an em dash without values."""
    if not values:
        return "—"
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def difference(virtual: Sequence[float], real: Sequence[float], digits: int) -> str:
    """Return the difference of the means with its 95 % interval; bold if the interval excludes zero."""
    if len(virtual) < 2 or len(real) < 2:
        return "—"
    mean = float(np.mean(real) - np.mean(virtual))
    if not np.ptp(virtual) and not np.ptp(real):
        return f"{mean:+.{digits}f}"
    interval = stats.ttest_ind(real, virtual, equal_var=False).confidence_interval(0.95)
    text = f"{mean:+.{digits}f} ({interval.low:+.{digits}f} to {interval.high:+.{digits}f})"
    return text if interval.low <= 0 <= interval.high else f"**{text}**"


def table(runs: list[dict[str, Any]]) -> str:
    """Return the Markdown table and a paragraph about the timing of the runs in real time."""
    cases = list(dict.fromkeys((run["scenario"], run["scheme"]) for run in runs))
    counts = {lab: max((run["number"] for run in runs if run["lab"] == lab), default=0) for lab in LABS}
    labs = [f"{title} ({counts[lab]} runs)" for lab, title in LABS.items()]
    rows = []
    for scenario, scheme in cases:
        of_case = [run for run in runs if (run["scenario"], run["scheme"]) == (scenario, scheme)]
        for name, unit, digits in MEASURES:
            values = {
                lab: [run["measures"][name] for run in of_case if run["lab"] == lab and name in run["measures"]]
                for lab in LABS
            }
            if any(values.values()):
                cells = [spread(values[lab], digits) for lab in LABS]
                measure = f"{name}, {unit}" if unit else name
                cells.append(difference(values["virtual"], values["real"], digits))
                rows.append([f"{scenario}, {scheme}", measure, *cells])
    heads = ["scenario, scheme", "measure", *labs, "real time − virtual"]
    return f"{markdown_table(heads, rows)}\n\n{timing(runs)}"


def timing(runs: list[dict[str, Any]]) -> str:
    """Return a paragraph about the timing of the runs in real time."""
    real = [run for run in runs if run["lab"] == "real"]
    if not real:
        return "No run in real time counted."
    pulse = {name: [run["pulse"][name] for run in real] for name in real[0]["pulse"]}
    return (
        f"In real time {len(real)} runs counted; {sum(run['refused'] for run in real)} were refused and made again. Of "
        f"those that counted, the guest's timers were {min(pulse['late_p50_us']):.0f} to "
        f"{max(pulse['late_p50_us']):.0f} us late in the median, 99 % of them within {max(pulse['late_p99_us']):.0f} "
        f"us, all within {max(pulse['late_max_us']) / 1e3:.0f} ms; its CPU was idle for "
        f"{min(pulse['idle_pct']):.0f} to {max(pulse['idle_pct']):.0f} % of the time."
    )


@command("error", LabError, OSError)
def main(argv: Sequence[str] | None = None) -> int:
    """Make the missing runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=FilePath,
        help="folder of the runs; only missing runs are made",
    )
    parser.add_argument("--kernel", default="6.12", help="version of the stock kernel (default 6.12)")
    parser.add_argument("--virtual", type=int, default=10, help="runs of each case in the virtual lab (default 10)")
    parser.add_argument("--stock", type=int, default=3, help="runs of each case on the stock kernel (default 3)")
    arguments = parser.parse_args(argv)
    for name in ("virtual", "stock"):
        if not 0 <= getattr(arguments, name) <= 1000:
            parser.error(f"--{name} is {getattr(arguments, name)}; it must lie between 0 and 1000")
    numbers = {"virtual": arguments.virtual, "counted": arguments.stock, "real": arguments.stock}
    runs = make_runs(arguments.folder, arguments.kernel, CASES, numbers)
    print(table(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
