"""docs/reference/scenarios.md: a table of configs/scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from env.markdown import markdown_table
from env.network.chain import Chain, ChainLink
from env.network.networks import Network
from env.network.path import Path
from env.network.rack import Rack
from env.network.scenario import UNDER_TEST, Flow, Scenario, load_scenario, scenario_names

HEAD = """# Scenarios

Each scenario is a file of `configs/scenario/` with a claim. `python compare.py scenario=NAME` runs one,
`scenario=[NAME,NAME]` several. [File formats](file-formats.md#path) explains the words under "network". "+" is the
scheme under test.
"""
# folders in their order on the page, and their titles
FOLDERS = {
    "": "The tests of the NDM reports, and a plain bottleneck",
    "delay": "Round trips of 10 to 500 ms",
    "loss": "Loss of 0.1 to 5 %, in bursts, by a policer",
    "rate": "1 Mbit/s to 1 Gbit/s",
    "buffers": "Buffers of 0.5 to 8 BDP, 1 to 200 Mbit/s, 10 to 300 ms",
    "start": "The first sixteen round trips of a connection, in a shallow buffer",
    "queue": "Buffers and queueing disciplines",
    "disorder": "Jitter, reordering, duplication",
    "access": "Kinds of access networks",
    "recorded": "Recorded links",
    "change": "Changes in the middle of a run, and long runs",
    "compete": "Competing flows",
    "chain": "Several bottlenecks in a row",
    "harm": "What is left to a competing flow where it is easily starved",
    "internet": "Paths and traffic of the Internet",
    "nv": "The rack of the TCP-NV paper",
    "nv_frames": "The same in packets of four frames",
    "nv_causes": "The same with other packet sizes and buffers",
}


def render() -> str:
    """Return the page."""
    scenarios: dict[str, list[Scenario]] = {folder: [] for folder in FOLDERS}
    for name in scenario_names():
        folder = name.rpartition("/")[0]
        scenarios.setdefault(folder, []).append(load_scenario(name))
    lines = [HEAD]
    for folder, entries in scenarios.items():
        if not entries:
            continue
        lines += [f"## {FOLDERS.get(folder, folder)}\n"]
        lines += [markdown_table(["scenario", "claim", "network", "flows", "s"], [*map(_row, entries)]), ""]
    return "\n".join(lines)


def _row(scenario: Scenario) -> list[str]:
    flows = ", ".join(_flow(flow, scenario) for flow in scenario.flows)
    network = _network(scenario.network())
    return [scenario.name, scenario.claim, network, flows, f"{scenario.duration_s:g}"]


def _network(network: Network) -> str:
    if isinstance(network, Chain):
        links = [_link(link) for link in network.links]
        same = len(links) > 1 and len(set(links)) == 1
        return f"{len(links)} links, each {links[0]}" if same else ", then ".join(links)
    if isinstance(network, Rack):
        return (
            f"{network.clients} clients, {network.servers} servers, {network.rate_mbps:g} Mbit/s, "
            f"{network.rtt_us:g} µs, {network.buffer_kb:g} kB"
        )
    if network.topology == "loopback":
        return "; ".join(f"`{command}`" for command in network.tc)
    rate = f"trace {network.trace}" if network.trace else f"{network.rate_mbps:g} Mbit/s"
    delay = f"delay_trace {network.delay_trace}" if network.delay_trace else f"{network.rtt_ms:g} ms"
    return ", ".join([rate, delay, f"{network.buffer_bdp:g} BDP", *_rest(network)])


def _link(link: ChainLink) -> str:
    words = [f"{link.rate_mbps:g} Mbit/s", f"{link.delay_ms:g} ms one way", f"{link.buffer_bdp:g} BDP"]
    words += [f"qdisc {link.qdisc}"] if link.qdisc != "pfifo" else []
    words += [f"loss_pct {link.loss_pct:g}"] if link.loss_pct else []
    return ", ".join(words)


def _rest(path: Path) -> Iterator[str]:
    """Yield the parameters that differ from a plain path, with the names of the file."""
    shown_apart = (
        "topology",
        "rate_mbps",
        "trace",
        "delay_trace",
        "rtt_ms",
        "buffer_bdp",
        "steps",
        "reference_mbps",
        "reference_rtt_ms",
    )
    for field in fields(Path):
        value = getattr(path, field.name)
        if field.name in shown_apart or value == field.default:
            continue
        if isinstance(value, tuple):
            yield f"{field.name} {'/'.join(f'{part:g}' for part in value)}"
        else:
            yield f"{field.name} {str(value).lower() if isinstance(value, bool) else value}"
    for step in path.steps:
        yield f"at {step.at_s:g} s: " + " ".join(f"{name} {value:g}" for name, value in step.changes().items())


def _flow(flow: Flow, scenario: Scenario) -> str:
    words = [f"{flow.count} ×"] if flow.count > 1 else []
    words += ["+" if flow.scheme == UNDER_TEST else flow.scheme]
    if flow.kind != "bulk":
        words += [f"{flow.kind} {flow.size_bytes} B"]
    if flow.pause_ms:
        words += [f"pause {flow.pause_ms:g} ms"]
    if scenario.chain is not None:
        words += [f"r{flow.client}-r{flow.server}"]
    elif len({other.client for other in scenario.flows}) > 1:
        words += [f"c{flow.client}"]
    if flow.server != 1 and scenario.chain is None:
        words += [f"s{flow.server}"]
    if flow.start_s or flow.duration_s:
        end_s = flow.start_s + (flow.duration_s or scenario.duration_s - flow.start_s)
        words += [f"{flow.start_s:g} to {end_s:g} s"]
    return " ".join(words)
