"""A comparison's folder with runs to draw, made without a lab, and a reader that checks a report's HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from compare.experiment.experiment import plan
from compare.experiment.run_files import pack
from compare.experiment.store import Store
from compare.metrics.cells import read_cells
from compare.published import published_beside
from compare.report import Comparison
from compare.statistics.paired import compare_pairs
from compare.targets.catalogue import TARGETS
from compare.targets.evidence import Evidence
from compare.targets.section import target_section
from compare.targets.tables import TargetTable
from env.lab import RunResult
from env.lab.result import Latency
from tests.support.results import recorded

SCENARIOS = ["stress", "bottleneck", "delay/rtt_50ms", "compete/cubic_1v1", "compete/requests"]
SCHEMES = ["ndm", "cubic", "bbr"]
ENVIRONMENT = {
    "kernel": ["6.12.117"],
    "git_revision": "0123456789abcdef" * 2 + "01234567+",
    "command": f"python compare.py 'scenario=[{','.join(SCENARIOS)}]' 'schemes=[{','.join(SCHEMES)}]' seeds=4",
    "modules": {"ndm": {"tcp_ndm": "0123456789abcdef" * 4}},
    "models": {"ndm": {"ndm": {"name": "mixed", "sha256": "fedcba9876543210" * 4}}},
}
VOID = {"meta", "br", "link", "img", "input", "hr"}


def comparison(store: Store) -> Comparison:
    """What compare.py report=DIR draws, and a target, in part not measured."""
    experiment = store.experiment()
    cells = read_cells(experiment, store)
    published, sections = published_beside(cells)
    comparisons = compare_pairs(cells)
    target = TargetTable(TARGETS["published"], Evidence(cells))
    sections = [target_section(target), *sections]
    return Comparison(experiment, cells, comparisons, store.environment(), store.run_name, published, sections)


def made_store(folder: Path) -> Store:
    """Write the folder: the recorded run, its bytes scaled by seed and scheme; one run has failed, one is missing."""
    store = Store(folder)
    experiment = plan(SCENARIOS, SCHEMES, 4, None, 50)
    runs = experiment.runs()
    with store.claim(experiment):
        for number, run in enumerate(runs[:-1]):
            if number == len(runs) - 6:
                store.save_error(run, "LabError: the guest panicked")
                continue
            flows = run.scenario.flows_with(run.scheme.algorithm)
            store.save(run, pack(_result(flows, run.seed, SCHEMES.index(run.scheme.name))))
    store.write("environment.json", json.dumps(ENVIRONMENT).encode())
    return store


def _result(wanted: list[dict[str, Any]], seed: int, place: int) -> RunResult:
    result = recorded()
    flows = []
    for index, want in enumerate(wanted):
        flow = recorded().flows[0]
        share = (1 + 0.1 * place + 0.03 * seed * (place + 1)) / (1 + index)
        flow.received_bytes = int(flow.received_bytes * share)
        for samples, columns in ((flow.receiver, ("bytes",)), (flow.sender, ("srtt_us", "cwnd"))):
            for name in columns:
                samples.rows[:, samples.columns.index(name)] *= share
        flow.scheme, flow.kind = want["scheme"], want["kind"]
        flow.size_bytes, flow.client = want["size_bytes"], want["client"]
        if want["kind"] == "request":
            middle = 20_000.0 * (1 + place) * (1 + 0.01 * seed)
            buckets = [(middle * k, middle * k * 1.01, 100 // k) for k in range(1, 20)]
            count = sum(bucket[2] for bucket in buckets)
            flow.latency = Latency(count=count, mean_us=2 * middle, histogram=buckets)
        flows.append(flow)
    result.flows = flows
    return result


class CheckedPage(HTMLParser):
    """Fails on tags that do not match; collects ids, references, table headers and figures."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.scopes: list[str | None] = []
        self.alternatives: list[str] = []
        self.json: list[str] = []
        self.tables = self.captions = 0
        self._in_json = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value] if (value := values.get("id")) else []
        self.links += [value for name in ("href", "src", "xlink:href") if (value := values.get(name))]
        self.tables += tag == "table"
        self.captions += tag == "caption"
        self._in_json = values.get("type") == "application/json"
        if tag == "th":
            self.scopes.append(values.get("scope"))
        if values.get("role") == "img":
            self.alternatives.append(values.get("aria-label") or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._in_json and data.strip():
            self.json.append(data)
