"""Several models of NDM in one kernel, each a module under a name of its own; with the sanitizers watching too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest

from env.checkout import ROOT
from env.lab import Lab
from env.network.path import Path
from export.formats.header import render_header
from export.selection import model_name
from tests.support.guest import program, shell
from tests.support.labs import checked_lab
from training.untrained import build_untrained

# 15 characters are the most that a name can have
NAMES = {"ndm_1a2b3c4d": 1, "ndm_23456789012": 2}
PATH = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=2)


def build(name: str, seed: int, variant: str, folder: FilePath) -> FilePath:
    """Build the untrained model of a seed under a name."""
    exported = build_untrained(seed)
    header = folder / f"{model_name(exported.provenance.name)}.h"
    header.write_text(render_header(exported.model, exported.provenance))
    tree = ROOT / "build" / f"{variant}-kernel" / "tree"
    command = [str(ROOT / "kernel" / "build.sh"), str(folder / name), str(tree), str(header), name]
    environment = os.environ | {"KBUILD_FLAGS": "W=1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout + done.stderr == ""
    assert [file.name for file in (folder / name).glob("*.ko")] == [f"tcp_{name}.ko"], "and nothing else"
    return folder / name / f"tcp_{name}.ko"


@pytest.fixture(scope="module")
def lab(variant: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp(variant)
    modules = [build(name, seed, variant, folder) for name, seed in NAMES.items()]
    with checked_lab("tcp_ndm", *modules, seed=2, variant=variant) as lab:
        yield lab


def flow(scheme: str, duration_s: float) -> dict[str, object]:
    return {"scheme": scheme, "start_s": 0, "duration_s": duration_s}


def test_each_has_a_name_and_a_model_of_its_own(lab: Lab) -> None:
    names = ["ndm", *NAMES]
    available = shell(lab, "cat /proc/sys/net/ipv4/tcp_available_congestion_control").split()
    assert set(names) <= set(available)
    models = [shell(lab, f"cat /sys/module/tcp_{name}/{name}/sha256") for name in names]
    assert models[1:] == [build_untrained(seed).provenance.sha256 for seed in NAMES.values()]
    assert len(set(models)) == 3
    assert "tcp_ndm" in shell(lab, "lsmod")


def test_two_of_them_share_a_bottleneck(lab: Lab) -> None:
    flows = lab.run(PATH, [flow(name, 10.0) for name in NAMES], 10.0, sample_ms=100).flows
    assert [one.scheme for one in flows] == list(NAMES)
    assert all(one.received_bytes > 100_000 for one in flows)


def test_a_trace_shows_the_decisions_of_whoever_decided(lab: Lab) -> None:
    systems = shell(lab, "ls /sys/kernel/tracing/events").split()
    assert {"ndm", *NAMES} <= set(systems)
    for name in ("ndm", *NAMES):
        lines = lab.run(PATH, [flow(name, 3.0)], 3.0, sample_ms=0, trace=True).trace
        assert len(lines) > 50
        assert all("x=" in line and "action=" in line for line in lines)


def test_one_can_go_while_another_is_in_use(lab: Lab) -> None:
    first, second = NAMES
    shown = shell(
        lab,
        program(f"""
            sender, receiver = connect("{first}")
            send(sender, receiver, 1 << 20)
            # what the runs before have left may still wait for its last timers
            time.sleep(300)
            for name in ("{first}", "{second}"):
                print(subprocess.run(["rmmod", "tcp_" + name], capture_output=True).returncode)
            send(sender, receiver, 1 << 20)
            sender.close()
            receiver.close()
        """),
    )
    assert shown.split() == ["1", "0"]
