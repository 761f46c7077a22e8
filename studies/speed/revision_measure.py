"""Make one measurement in the checkout of the current folder, which may be an older one, for studies.speed.revisions.

    PYTHONPATH=. python .../studies/speed/revision_measure.py packet      # prints {"value": 3.1, "unit": "us"}

The imports are inside the functions, because modules have moved since 7e8d117, the oldest revision that it knows.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np

SEGMENT_BYTES = 1448
ROUTER_S, RACK_S, BOOT_S = 200.0, 2.0, 1.0
TRAIN_DECISIONS = 100_000
EPISODE_DECISIONS, EPISODES = 1500, 4
MATRIX = "scenario=[stress,delay_extreme,delay_moderate,fiber]"
MATRIX_SCHEMES = "schemes=[ndm,ndm_v1,reno,cubic,bbr,nv,cdg,vegas,westwood]"


class Measured(NamedTuple):
    """digest: of the results, to compare with another revision's; empty: none."""

    value: float
    unit: str
    digest: str = ""


def moved(*places: str) -> Any:
    """Return an attribute that has been at these places, MODULE:NAME, the newest first."""
    for place in places:
        module, _, name = place.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise LookupError(f"none of {', '.join(places)} is in this revision")


def cpu_s_of(lab: Any) -> float:
    """Return the CPU time of a lab's processes so far, s."""
    seconds: float = moved("studies.speed.processes:cpu_seconds", "env.lab.usage:cpu_seconds", "env.cost:cpu_seconds")(
        lab
    )
    return seconds


def virtual_lab() -> Any:
    """Return a lab that has not started."""
    return moved("env.lab:VirtualLab")(seed=1)


def flows_of(result: Any) -> list[dict[str, Any]]:
    """Return the flows of a run's raw result."""
    flows: list[dict[str, Any]] = result["flows"] if isinstance(result, dict) else [vars(flow) for flow in result.flows]
    return flows


def digest(*values: Any) -> str:
    """Return a short hash of values."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:12]


class Run(NamedTuple):
    """The cost of a run, and the bytes that each flow's receiver got."""

    cpu_s: float
    wall_s: float
    received_bytes: list[int]


def run(lab: Any, path: Any, flows: list[dict[str, Any]], seconds: float) -> Run:
    """Make a run with few samples, whose cost is not that of the packets."""
    cpu, wall = cpu_s_of(lab), time.perf_counter()
    result = lab.run(path, flows, seconds, sample_ms=1000)
    wall_s = time.perf_counter() - wall
    return Run(cpu_s_of(lab) - cpu, wall_s, [flow["received_bytes"] for flow in flows_of(result)])


def bulk(seconds: float, scheme: str = "cubic", **more: Any) -> dict[str, Any]:
    """Return a flow for the whole run."""
    return {"scheme": scheme, "start_s": 0.0, "duration_s": seconds, **more}


def packet() -> Measured:
    """CPU of a data packet with its ACK: cubic on the router path of 20 Mbit/s and 40 ms."""
    path = moved("env.network.path:Path")(rate_mbps=20, rtt_ms=40)
    with virtual_lab() as lab:
        run(lab, path, [bulk(1)], 1.0)
        measured = run(lab, path, [bulk(ROUTER_S)], ROUTER_S)
    (received,) = measured.received_bytes
    return Measured(measured.cpu_s / (received / SEGMENT_BYTES) * 1e6, "us", digest(received))


def episode(lab: Any, config: Any, seed: int, decisions: int) -> Any:
    """Run an episode with the shipped policy `mixed` in the lab's kernel, as in a training; return its record."""
    policy = FilePath("datasets/models/mixed/policy.bin").read_bytes()
    rest = (config, seed, np.zeros((1, decisions, 2), np.int16), decisions, 1e5)
    task = moved("env.rollout:RolloutTask", "env.player:Task")
    if "model" in task._fields:
        return moved("env.rollout:run_episode")(lab, task(policy, *rest))
    return moved("env.player:play")(lab, policy, task(*rest))


def first_draw(profile_name: str, place: str) -> Any:
    """Return the first drawn episode of a profile with one flow on a path that has the text in its description."""
    sampler = moved("env.profile:PathSampler", "env.sampler:PathSampler")(
        moved("env.profile:load_profile")(profile_name)
    )
    rng = np.random.default_rng(1)
    while place not in str((config := sampler.draw(rng)).path):
        pass
    return config


def decision(profile_name: str, place: str) -> Measured:
    """CPU of a decision, as in a training."""
    config = first_draw(profile_name, place)
    with virtual_lab() as lab:
        episode(lab, config, 1, 100)
        begun = cpu_s_of(lab)
        records = [episode(lab, config, seed, EPISODE_DECISIONS) for seed in range(EPISODES)]
        cpu_s = cpu_s_of(lab) - begun
    rows = sum(len(record) for record in records)
    return Measured(cpu_s / rows * 1e6, "us", digest(*(record.tobytes() for record in records)))


def full_link() -> Measured:
    """Decisions per second of the Gymnasium environment with two labs and a full link of 20 Mbit/s."""
    measure = moved(
        "studies.speed.environment:measure", "compare.studies.environment_speed:measure", "env.bench:measure"
    )
    (speed,) = measure(2, 1, 4000)
    return Measured(speed.decisions_per_s, "1/s", digest(round(speed.goodput_mbps, 6)))


def train() -> Measured:
    """Decisions per second of a training of the profile mixed, from its first update to its last, learning included."""
    with tempfile.TemporaryDirectory() as folder:
        decisions = f"algo.total_decisions={TRAIN_DECISIONS}"
        argv = ["train.py", "profile=mixed", decisions, f"runs={folder}", "name=run", "seed=1"]
        subprocess.run([sys.executable, *argv], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        card = json.loads((FilePath(folder) / "run" / "card.json").read_text())
    return Measured(card["decisions_per_s"], "1/s")


def matrix(seeds: int) -> Measured:
    """Wall time of the published matrix: four tests and nine schemes."""
    with tempfile.TemporaryDirectory() as folder:
        argv = ["compare.py", MATRIX, MATRIX_SCHEMES, f"seeds={seeds}", f"output_dir={folder}/matrix"]
        begun = time.perf_counter()
        subprocess.run([sys.executable, *argv], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wall_s = time.perf_counter() - begun
        summary = (FilePath(folder) / "matrix" / "summary.csv").read_bytes()
    return Measured(wall_s, "s", digest(summary))


def rack(clients: int, flows: int, kind: str, size_bytes: int) -> Measured:
    """Wall seconds of a virtual second of flows to one server at 10 Gbit/s, in packets of up to 64 KB."""
    path = moved("env.network.rack:Rack")(clients=clients, servers=1)
    traffic = [
        bulk(RACK_S, "reno", kind=kind, size_bytes=size_bytes, client=i % clients + 1, server=1) for i in range(flows)
    ]
    with virtual_lab() as lab:
        run(lab, path, traffic, 0.1)
        measured = run(lab, path, traffic, RACK_S)
    return Measured(measured.wall_s / RACK_S, "s/s", digest(measured.received_bytes))


def boot() -> Measured:
    """Wall time from the start of a lab to the end of its first run: a second on the router path, packets included."""
    path = moved("env.network.path:Path")(rate_mbps=1, rtt_ms=40)
    begun = time.perf_counter()
    with virtual_lab() as lab:
        lab.run(path, [bulk(BOOT_S)], BOOT_S)
        wall_s = time.perf_counter() - begun
    return Measured(wall_s, "s")


def run_cost() -> Measured:
    """CPU of an episode of one decision."""
    config, runs = first_draw("bottleneck", ""), 300
    with virtual_lab() as lab:
        episode(lab, config, 1, 1)
        begun = cpu_s_of(lab)
        for seed in range(runs):
            episode(lab, config, seed, 1)
        cpu_s = cpu_s_of(lab) - begun
    return Measured(cpu_s / runs * 1e3, "ms")


def memory() -> Measured:
    """Resident memory of a lab's processes after a run of 16 flows on a path of 100 Mbit/s."""
    path = moved("env.network.path:Path")(rate_mbps=100, rtt_ms=40)
    with virtual_lab() as lab:
        lab.run(path, [bulk(5.0) for _ in range(16)], 5.0)
        folders = list(
            moved("studies.speed.processes:lab_processes", "env.lab.usage:lab_processes", "env.cost:lab_processes")(lab)
        )
        text = "".join((folder / "smaps_rollup").read_text() for folder in folders)
    return Measured(sum(map(int, re.findall(r"^Pss:\s+(\d+)", text, re.MULTILINE))) / 1024, "MB")


class Measurement(NamedTuple):
    """what: for people."""

    what: str
    make: Callable[[], Measured]


MEASUREMENTS = {
    "packet": Measurement("a data packet with its ACK, router path, CPU", packet),
    "decision": Measurement("a decision at 20 Mbit/s and 40 ms, CPU", lambda: decision("bottleneck", "")),
    "stress": Measurement("a decision in stress, CPU", lambda: decision("mixed", "rate 20mbit")),
    "fiber": Measurement("a decision in fiber, CPU", lambda: decision("fiber", "loss 0.1%")),
    "full_link": Measurement("Gymnasium, two labs, full link, decisions", full_link),
    "train": Measurement("training of mixed, decisions", train),
    "matrix": Measurement("published matrix, ten seeds, wall", lambda: matrix(10)),
    "rack_1": Measurement("one flow at 10 Gbit/s, wall for a virtual second", lambda: rack(1, 1, "stream", 1 << 18)),
    "rack_64": Measurement("64 flows at 10 Gbit/s, wall for a virtual second", lambda: rack(4, 64, "request", 1 << 20)),
    "boot": Measurement("a lab's start with its first run of a second, wall", boot),
    "run": Measurement("a run besides its packets, CPU", run_cost),
    "memory": Measurement("a lab's memory after 16 flows", memory),
}

if __name__ == "__main__":
    print(json.dumps(MEASUREMENTS[sys.argv[1]].make()._asdict()))
