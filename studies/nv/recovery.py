"""Measure 32 flows without RACK and tail loss probes, the loss recovery that Linux had in 2015::

    python -m studies.nv.recovery

prints Markdown rows for Reno and NV, each with and without them, on nv_frames/1s4c8fr with one seed. The run is longer
than the scenario's, so that its beginning has less weight. The paper's p99 latencies result from time-outs of 200 ms.
"""

from __future__ import annotations

from compare.experiment.experiment import flows_under_test
from compare.metrics.group_metrics import group_metrics
from compare.statistics.numbers import number
from env.lab import VirtualLab
from env.markdown import markdown_table
from env.network.rack import Rack
from env.network.scenario import load_scenario

SCENARIO = "nv_frames/1s4c8fr"
DURATION_S = 10.0
SAMPLE_MS = 50
TIMEOUT_S = 600.0
WITHOUT = ("net.ipv4.tcp_recovery=0", "net.ipv4.tcp_early_retrans=0")
METRICS = ("cwnd", "rtt", "rate", "retrans_pct", "mean_latency", "p99_latency")


def measure(scheme: str, *, recent: bool) -> dict[str, float]:
    """Return the metrics of one run. recent: with RACK and tail loss probes, the kernel's default."""
    scenario = load_scenario(SCENARIO).lasting(DURATION_S)
    rack = scenario.network
    assert isinstance(rack, Rack)
    modules = ("tcp_nv",) if scheme == "nv" else ()
    with VirtualLab(seed=1, modules=modules, timeout_s=TIMEOUT_S) as lab:
        lab.call("build", topology=rack.topology)
        if not recent:
            for client in range(1, rack.clients + 1):
                lab.call("execute", node=f"c{client}", argv=["sysctl", "-qw", *WITHOUT])
        result = lab.run(rack, scenario.flows_with(scheme), scenario.duration_s, sample_ms=SAMPLE_MS)
    metrics = group_metrics(result.flows, flows_under_test(scenario))
    return {metric.name: value for metric, value in metrics.items()}


def main() -> None:
    """Print the table."""
    rows = []
    for scheme in ("reno", "nv"):
        for recent in (True, False):
            metrics = measure(scheme, recent=recent)
            rows.append([scheme, "RACK, TLP" if recent else "as in 2015", *(number(metrics[name]) for name in METRICS)])
    print(markdown_table(["scheme", "recovery", *METRICS], rows, left=2))


if __name__ == "__main__":
    main()
