"""Several models of NDM in one kernel, each in a module with its own name; also in the sanitizer kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest

from env.lab import Lab
from env.network.path import Path
from export.formats.header import render_header
from export.selection import model_name
from tests.support.guest import algorithms, run_program, shell
from tests.support.labs import build_modules, checked_lab
from training.untrained import build_untrained

# a name has at most 15 characters
NAMES = {"ndm_1a2b3c4d": 1, "ndm_23456789012": 2}
PATH = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=2)


def build(name: str, seed: int, variant: str, folder: FilePath) -> FilePath:
    """Build the untrained model of a seed under a name."""
    exported = build_untrained(seed)
    header = folder / f"{model_name(exported.provenance.name)}.h"
    header.write_text(render_header(exported.model, exported.provenance))
    build_modules(folder / name, header, name, variant=variant, KBUILD_FLAGS="W=1")
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


def test_each_module_has_its_own_name_and_model(lab: Lab) -> None:
    names = ["ndm", *NAMES]
    assert set(names) <= set(algorithms(lab))
    models = [shell(lab, f"cat /sys/module/tcp_{name}/{name}/sha256") for name in names]
    assert models[1:] == [build_untrained(seed).provenance.sha256 for seed in NAMES.values()]
    assert len(set(models)) == 3
    assert "tcp_ndm" in shell(lab, "lsmod")


def test_two_models_share_a_bottleneck(lab: Lab) -> None:
    flows = lab.run(PATH, [flow(name, 10.0) for name in NAMES], 10.0, sample_ms=100).flows
    assert [one.scheme for one in flows] == list(NAMES)
    assert all(one.received_bytes > 100_000 for one in flows)


def test_each_module_traces_its_decisions(lab: Lab) -> None:
    systems = shell(lab, "ls /sys/kernel/tracing/events").split()
    assert {"ndm", *NAMES} <= set(systems)
    for name in ("ndm", *NAMES):
        lines = lab.run(PATH, [flow(name, 3.0)], 3.0, sample_ms=0, trace=True).trace
        assert len(lines) > 50
        assert all("x=" in line and "action=" in line for line in lines)


def test_module_unloads_while_another_is_in_use(lab: Lab) -> None:
    first, second = NAMES
    code = f"""
        sender, receiver = connect("{first}")
        send(sender, receiver, 1 << 20)
        time.sleep(300)  # connections of earlier runs may still wait for their last timers
        print(rmmod("tcp_{first}"), rmmod("tcp_{second}"))
        send(sender, receiver, 1 << 20)
        sender.close()
        receiver.close()
    """
    assert run_program(lab, code).split() == ["1", "0"]
