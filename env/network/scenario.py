"""A scenario: a named claim about flows over a path, rack or chain, read from configs/scenario.

configs/scenario/NAME.yaml has the scenario NAME, or all scenarios NAME/..., as documents of YAML with --- between them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

from omegaconf import MISSING

from env.checkout import CONFIGS
from env.config_errors import read_config
from env.errors import UserError, suggest
from env.network import networks
from env.network.chain import Chain
from env.network.networks import Network
from env.network.path import Path
from env.network.rack import Rack
from env.network.traces.delay import SUFFIXES as DELAY_SUFFIXES
from env.network.traces.format import SUFFIXES
from env.network.traffic.endpoints import KINDS, MAX_FLOWS

FOLDER = CONFIGS / "scenario"
TRACE_FIELDS = {"trace": SUFFIXES, "delay_trace": DELAY_SUFFIXES}  # of a path, with the endings of their files
UNDER_TEST = "under_test"  # stands for the scheme that a comparison puts into the flow
MAX_DURATION_S = 86_400
MAX_SIZE_BYTES = 64 << 20  # of a write or request: what one system call of the traffic program takes
MAX_PAUSE_MS = 10_000_000  # somewhat less than three hours
MAX_RECEIVE_BUFFER_KB = 212  # net.core.rmem_max of a stock kernel, which cuts larger ones without a word
MAX_WEB_BYTES = MAX_SIZE_BYTES >> 8  # on average: the largest is up to 228 times that


@dataclass
class Flow:
    """Flows between two hosts. Times are virtual seconds.

    scheme: a congestion control of the lab, or under_test. duration_s: 0 for a flow that lasts until the scenario ends.
    kind: bulk (as much as the network takes), stream (writes of size_bytes, back to back), request (requests of
    size_bytes and replies of one byte, with a pause of pause_ms after each) or web (requests of random, heavy-tailed
    sizes of size_bytes on average, and after each reply a random pause of pause_ms on average). client, server: hosts,
    from 1; in a chain the routers at which the flow enters and leaves. count: number of equal flows. receive_buffer_kb:
    the receiver's socket buffer (SO_RCVBUF, kB); 0: sized by the kernel.
    """

    scheme: str = UNDER_TEST
    start_s: float = 0.0
    duration_s: float = 0.0
    kind: str = "bulk"
    size_bytes: int = 0
    pause_ms: float = 0.0
    client: int = 1
    server: int = 1
    count: int = 1
    receive_buffer_kb: float = 0.0


@dataclass
class Scenario:
    """The keys of configs/scenario/NAME.yaml, which has one network: a path, a rack or a chain.

    path, rack, chain: what the file states, without defaults; `network` is the network itself.
    stagger_ms: the maximum of a random delay of each flow's start, drawn from the run's seed. Without it, flows that
    begin in the same nanosecond stay synchronized, unlike real flows. schemes: under test in a comparison that names
    none.
    """

    name: str = MISSING
    claim: str = MISSING
    duration_s: float = MISSING
    path: dict[str, Any] | None = None
    rack: dict[str, Any] | None = None
    chain: dict[str, Any] | None = None
    stagger_ms: float = 0.0
    schemes: list[str] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=lambda: [Flow()])

    @property
    def kind(self) -> str:
        """The kind of network: path, rack or chain. Raises UserError unless there is exactly one."""
        given = [kind for kind in networks.KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            has = f"has {' and '.join(given)}" if given else "has none"
            raise UserError(f"scenario {self.name}: it needs one of {', '.join(networks.KINDS)}, and {has}")
        return given[0]

    @cached_property
    def network(self) -> Network:
        """The network, checked; raises UserError."""
        kind = self.kind
        try:
            return networks.KINDS[kind].from_dict(dict(getattr(self, kind)))
        except (UserError, TypeError) as error:
            raise UserError(f"scenario {self.name}: {error}") from error

    def network_path(self) -> Path:
        """Return the path, checked; raises UserError, also when the scenario has another network."""
        network = self.network
        if not isinstance(network, Path):
            raise UserError(f"scenario {self.name} is a {self.kind}; choose a scenario with a path")
        return network

    def lasting(self, duration_s: float) -> Scenario:
        """Return the scenario with another duration; the times of flows and path steps scale with it."""
        factor = duration_s / self.duration_s
        flows = [replace(f, start_s=f.start_s * factor, duration_s=f.duration_s * factor) for f in self.flows]
        path = self.path
        if path is not None and "steps" in path:
            path = path | {"steps": [step | {"at_s": step["at_s"] * factor} for step in path["steps"]]}
        return replace(self, duration_s=duration_s, flows=flows, path=path)

    def flows_with(self, scheme: str) -> list[dict[str, Any]]:
        """Return each flow for a `run` command, with `scheme` in place of under_test."""
        return [
            {
                "scheme": scheme if flow.scheme == UNDER_TEST else flow.scheme,
                "start_s": flow.start_s,
                "duration_s": flow.duration_s or self.duration_s - flow.start_s,
                "stagger_s": self.stagger_ms / 1e3,
                "kind": flow.kind,
                "size_bytes": flow.size_bytes,
                "client": flow.client,
                "server": flow.server,
            }
            | ({"pause_s": flow.pause_ms / 1e3} if flow.pause_ms else {})
            | ({"receive_buffer_bytes": round(flow.receive_buffer_kb * 1e3)} if flow.receive_buffer_kb else {})
            for flow in self.flows
            for _ in range(flow.count)
        ]


def scenario_names() -> list[str]:
    """Return the names of all scenarios (nv/1s1c1fs), sorted."""
    return sorted(_texts())


def _texts() -> dict[str, tuple[FilePath, str]]:
    """Return the file and the text of each scenario of FOLDER, by name."""
    found: dict[str, tuple[FilePath, str]] = {}
    for file in FOLDER.rglob("*.yaml"):
        documents = re.split(r"^---\n", file.read_text(), flags=re.MULTILINE)
        names = [str(file.relative_to(FOLDER).with_suffix(""))]
        if len(documents) > 1:
            names = [name for text in documents for name in re.findall(r"^name: (\S+)$", text, re.MULTILINE)]
        found |= {name: (file, text) for name, text in zip(names, documents, strict=True)}
    return found


def scenarios_named(name: str) -> list[str]:
    """Return the scenario of this name, or all scenarios of the folder; raises UserError when unknown."""
    known = scenario_names()
    if name in known:
        return [name]
    within = [scenario for scenario in known if scenario.startswith(f"{name.rstrip('/')}/")]
    if within:
        return within
    folders = sorted({scenario.rpartition("/")[0] for scenario in known} - {""})
    hint = suggest(name, [*known, *folders])
    folder = name.rpartition("/")[0]
    if folder in folders:
        inside = [scenario for scenario in known if scenario.startswith(f"{folder}/")]
        raise UserError(f"scenario {name!r} is unknown{hint}The scenarios of {folder} are {', '.join(inside)}.")
    single = [scenario for scenario in known if "/" not in scenario]
    of_folders = f", and those of the folders {', '.join(folders)}" if folders else ""
    raise UserError(
        f"scenario {name!r} is unknown{hint}The scenarios are {', '.join(single)}{of_folders}; "
        "docs/reference/scenarios.md has each with its claim. A scenario of your own is the path of a .yaml file, or "
        "of a folder with such files."
    )


def load_scenario(name: str) -> Scenario:
    """Read and check one scenario.

    Raises UserError: unknown name (with near matches), wrong key or type (with the right ones), a path that
    cannot be built, a flow outside the run.
    """
    if scenarios_named(name) != [name]:
        raise UserError(f"{name!r} is a folder of scenarios; name one of them: {', '.join(scenarios_named(name))}")
    file, text = _texts()[name]
    scenario = read_scenario(file, text)
    if scenario.name != name:
        raise UserError(f"{file}: its name is {scenario.name!r}; it must be that of the file, {name!r}")
    check_scenario(scenario)
    return scenario


def read_scenario(file: FilePath, text: str | None = None) -> Scenario:
    """Return the scenario of a file without checks of its values. A relative path of a trace begins at the file.

    text: that of one document of the file; without it the file has one.

    Raises UserError: the file cannot be read, has a wrong key or type (with the right ones), or lacks a key.
    """
    scenario = read_config(Scenario, file, text)
    if scenario.path is not None:
        scenario.path = with_trace_files(scenario.path, file.parent)
    return scenario


def with_trace_files(path: dict[str, Any], folder: FilePath) -> dict[str, Any]:
    """Return a path's mapping with absolute paths of trace files. folder: where a relative path begins."""
    files = {
        key: str((folder / FilePath(path[key]).expanduser()).absolute())
        for key, suffixes in TRACE_FIELDS.items()
        if isinstance(path.get(key), str) and path[key].endswith(suffixes)
    }
    return path | files


def check_scenario(scenario: Scenario) -> None:
    """Raise UserError when the scenario cannot run."""
    network = scenario.network
    hosts = _hosts(network)
    where = f"scenario {scenario.name}"
    if not 0 < scenario.duration_s <= MAX_DURATION_S:
        raise UserError(
            f"{where}: duration_s is {scenario.duration_s:g}; it must be positive, and at most {MAX_DURATION_S}"
        )
    if not any(flow.scheme == UNDER_TEST for flow in scenario.flows):
        raise UserError(f"{where}: no flow has the scheme {UNDER_TEST}")
    for flow in scenario.flows:
        _check_flow(flow, hosts, where)
        _check_times(flow, scenario)
        if isinstance(network, Chain) and flow.client >= flow.server:
            raise UserError(
                f"{where}: a flow has client {flow.client} and server {flow.server}; it enters a chain at the router "
                f"client and leaves it at the router server, which must be a later one, at most {network.routers}"
            )
    if isinstance(network, Path):
        for step in network.steps:
            if not 0 < step.at_s < scenario.duration_s:
                raise UserError(
                    f"{where}: the step at {step.at_s:g} s does not lie within the run of {scenario.duration_s:g} s"
                )
    total = sum(flow.count for flow in scenario.flows)
    if total > MAX_FLOWS:
        raise UserError(f"{where}: it has {total} flows; at most {MAX_FLOWS} are possible")


def _hosts(network: Network) -> dict[str, int]:
    """Return the number of clients and of servers of a network."""
    if isinstance(network, Chain):
        return {"client": network.routers, "server": network.routers}
    return {"client": network.clients, "server": network.servers if isinstance(network, Rack) else 1}


def _check_flow(flow: Flow, hosts: dict[str, int], where: str) -> None:
    if flow.kind not in KINDS:
        raise UserError(f"{where}: kind {flow.kind!r} is unknown; it is one of {', '.join(KINDS)}")
    if flow.kind == "bulk" and flow.size_bytes:
        raise UserError(f"{where}: size_bytes is {flow.size_bytes}; a bulk flow has no size, streams and requests do")
    largest = MAX_WEB_BYTES if flow.kind == "web" else MAX_SIZE_BYTES
    if flow.kind != "bulk" and not 1 <= flow.size_bytes <= largest:
        raise UserError(f"{where}: size_bytes is {flow.size_bytes}; a {flow.kind} flow has one from 1 to {largest}")
    if not 0 <= flow.pause_ms <= MAX_PAUSE_MS or (flow.kind == "web" and not flow.pause_ms):
        raise UserError(
            f"{where}: pause_ms is {flow.pause_ms:g}; it lies between 0 and {MAX_PAUSE_MS}, for web flows above 0"
        )
    if flow.pause_ms and flow.kind not in ("web", "request"):
        raise UserError(
            f"{where}: pause_ms is {flow.pause_ms:g} for kind {flow.kind}; only web and request flows pause"
        )
    if not 0 <= flow.receive_buffer_kb <= MAX_RECEIVE_BUFFER_KB:
        raise UserError(
            f"{where}: receive_buffer_kb is {flow.receive_buffer_kb:g}; it lies between 0 and {MAX_RECEIVE_BUFFER_KB}"
        )
    for side, number in hosts.items():
        given = getattr(flow, side)
        if not 1 <= given <= number:
            raise UserError(f"{where}: a flow has {side} {given}; the network has {number}, counted from 1")
    if flow.count < 1:
        raise UserError(f"{where}: count is {flow.count}; it must be at least 1")


def _check_times(flow: Flow, scenario: Scenario) -> None:
    if not 0 <= scenario.stagger_ms <= 1000:
        raise UserError(
            f"scenario {scenario.name}: stagger_ms is {scenario.stagger_ms:g}; it must lie between 0 and 1000"
        )
    # the end of a flow that was scaled with its run may be off by rounding
    end_s = flow.start_s + (flow.duration_s or scenario.duration_s - flow.start_s)
    latest_start_s = end_s - scenario.stagger_ms / 1e3
    ends = flow.duration_s >= 0 and end_s <= scenario.duration_s + 1e-9
    if not (0 <= flow.start_s < latest_start_s and ends):  # also for nan
        raise UserError(
            f"scenario {scenario.name}: a flow from {flow.start_s:g} s for {flow.duration_s:g} s does not lie "
            f"within the run of {scenario.duration_s:g} s"
        )
