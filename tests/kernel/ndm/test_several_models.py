"""Several models in one module (make module MODELS=...): each is a congestion control with its own folder in sysfs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest

from env.checkout import KERNEL, ROOT
from env.lab import Lab, LabError
from env.network.path import Path
from export import selection
from export.formats.header import write_header
from tests.support.guest import algorithms, run_program, shell
from tests.support.labs import build_modules, checked_lab
from tests.support.models import BAD_MODELS, put_models
from training.untrained import build_untrained

pytestmark = pytest.mark.timeout(300)
PATH = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=2)
FOLDER = "/sys/module/tcp_ndm"
MODELS = ["mixed", "untrained_1", "untrained_2"]
ALGORITHMS = ["ndm", "ndm_untrained_1", "ndm_untrained_2"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("models")
    for seed in (1, 2):
        exported = build_untrained(seed)
        write_header(exported.model, exported.provenance, folder / "exported")
    selection.select(MODELS, folder / "exported")
    module = build_modules(folder / "built", NDM_MODEL_BUILD=str(folder), KBUILD_FLAGS="NDM_ONLY=y") / "tcp_ndm.ko"
    with checked_lab(module, seed=2) as lab:
        put_models(lab, {"shrink": BAD_MODELS["shrink"]})
        yield lab


def facts(lab: Lab, name: str) -> list[str]:
    return [shell(lab, f"cat {FOLDER}/{algorithm}/{name}") for algorithm in ALGORITHMS]


def test_each_model_is_a_congestion_control(lab: Lab) -> None:
    assert set(ALGORITHMS) <= set(algorithms(lab))
    untrained = [build_untrained(seed).provenance.sha256 for seed in (1, 2)]
    assert facts(lab, "sha256") == [selection.sha256_of("mixed"), *untrained]


def test_models_meet_on_one_bottleneck(lab: Lab) -> None:
    flows = [{"scheme": name, "start_s": 0, "duration_s": 10.0} for name in ALGORITHMS]
    before = facts(lab, "counters/decisions")
    result = lab.run(PATH, flows, 10.0, sample_ms=0, trace=True)
    after = facts(lab, "counters/decisions")
    traced = [sum(line.endswith(f"ca={name}") for line in result.trace) for name in ALGORITHMS]
    assert traced == [int(b) - int(a) for a, b in zip(before, after, strict=True)]
    assert min(traced) > 100
    assert [flow.scheme for flow in result.flows] == ALGORITHMS
    assert all(flow.received_bytes > 100_000 for flow in result.flows)


def test_exchanging_one_model_leaves_the_others(lab: Lab) -> None:
    shell(lab, f"echo shrink.bin >{FOLDER}/ndm_untrained_1/model")
    models, swaps = facts(lab, "model"), facts(lab, "counters/model_swaps")
    shell(lab, f"echo builtin >{FOLDER}/ndm_untrained_1/model")
    assert models == ["builtin", "shrink.bin", "builtin"]
    assert swaps == ["0", "1", "0"]


def test_module_stays_while_one_model_is_in_use(lab: Lab) -> None:
    code = f"""
        sender, receiver = connect("{ALGORITHMS[2]}")
        send(sender, receiver, 1 << 20)
        time.sleep(300)  # connections of earlier runs may still wait for their last timers
        print(rmmod("tcp_ndm"))
        sender.close()
        receiver.close()
        time.sleep(1)
        print(rmmod("tcp_ndm"))
    """
    assert run_program(lab, code).split() == ["1", "0"]
    assert shell(lab, f"ls {FOLDER} 2>/dev/null || echo gone") == "gone"


def test_a_name_that_is_taken_is_left_out(lab: Lab, tmp_path: FilePath) -> None:
    """Another module has a later model's name: the others are there, and nothing is freed that is in use."""
    other = "ndm_untrained_1"
    header = KERNEL / "models" / "mixed.h"
    command = [KERNEL / "build.sh", tmp_path, ROOT / "build/lab-kernel/tree", header, other]
    subprocess.run(command, check=True)
    (module,) = (file for file in lab.modules if file.stem == "tcp_ndm")
    with checked_lab(tmp_path / f"tcp_{other}.ko", module) as fresh:
        assert f"{other} cannot be registered (error -17): it is left out" in shell(fresh, "dmesg")
        assert set(ALGORITHMS) <= set(algorithms(fresh))
        flows = [{"scheme": name, "start_s": 0, "duration_s": 5.0} for name in ALGORITHMS]
        assert all(flow.received_bytes > 100_000 for flow in fresh.run(PATH, flows, 5.0, sample_ms=0).flows)
        unload = f"time.sleep(300); print(rmmod('tcp_ndm'), rmmod('tcp_{other}'))"
        assert run_program(fresh, unload) == "0 0"


def test_name_too_long_for_the_kernel_is_refused(tmp_path: FilePath) -> None:
    """The selection refuses such a name, and the module refuses it in a header written by hand."""
    models = tmp_path / "exported" / "models"
    models.mkdir(parents=True)
    text = (KERNEL / "models" / "mixed.h").read_text()
    (models / "mixed_for_all.h").write_text(
        text.replace("ndm_model_mixed", "ndm_model_mixed_for_all").replace("MIXED", "LONG")
    )
    (tmp_path / "exported" / "ndm_weights.h").write_text(selection.render_selection(["mixed", "mixed_for_all"]))
    module = build_modules(tmp_path / "built", NDM_MODEL_BUILD=str(tmp_path), KBUILD_FLAGS="NDM_ONLY=y") / "tcp_ndm.ko"
    with checked_lab() as lab:
        with pytest.raises(LabError, match="tcp_ndm"):
            lab.load(module)
        assert "ndm_mixed_for_all is too long for a congestion control: at most 15 characters" in shell(
            lab, "dmesg | tail -5"
        )
        assert "ndm" not in algorithms(lab)
        assert shell(lab, f"ls {FOLDER} 2>/dev/null || echo gone") == "gone"
