"""Several models in one module, each a congestion control with a folder of its own: make module MODELS=..."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest

from env.checkout import KERNEL, ROOT
from env.lab import Lab, LabError
from env.network.path import Path
from export import selection
from export.formats.header import write_header
from tests.support.bad_models import BAD_MODELS, put_models
from tests.support.guest import program, shell
from tests.support.labs import checked_lab
from training.untrained import build_untrained

pytestmark = pytest.mark.timeout(300)
PATH = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=2)
FOLDER = "/sys/module/tcp_ndm"
MODELS = ["mixed", "untrained_1", "untrained_2"]
ALGORITHMS = ["ndm", "ndm_untrained_1", "ndm_untrained_2"]


def build(folder: FilePath) -> FilePath:
    """Build the modules with what is exported in a folder, without a warning."""
    command = [str(KERNEL / "build.sh"), str(folder / "built"), str(ROOT / "build" / "lab-kernel" / "tree")]
    environment = os.environ | {"NDM_MODEL_BUILD": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout + done.stderr == ""
    return folder / "built" / "tcp_ndm.ko"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("models")
    for seed in (1, 2):
        exported = build_untrained(seed)
        write_header(exported.model, exported.provenance, folder / "exported")
    selection.select(MODELS, folder / "exported")
    with checked_lab(build(folder), seed=2) as lab:
        put_models(lab, {"shrink": BAD_MODELS["shrink"]})
        yield lab


def test_each_is_a_congestion_control_with_facts_of_its_own(lab: Lab) -> None:
    available = shell(lab, "cat /proc/sys/net/ipv4/tcp_available_congestion_control").split()
    assert set(ALGORITHMS) <= set(available)
    found = [shell(lab, f"cat {FOLDER}/{name}/sha256") for name in ALGORITHMS]
    untrained = [build_untrained(seed).provenance.sha256 for seed in (1, 2)]
    assert found == [selection.sha256_of("mixed"), *untrained]


def test_they_meet_on_one_bottleneck_each_by_its_socket(lab: Lab) -> None:
    flows = [{"scheme": name, "start_s": 0, "duration_s": 10.0} for name in ALGORITHMS]
    before = [int(shell(lab, f"cat {FOLDER}/{name}/counters/decisions")) for name in ALGORITHMS]
    result = lab.run(PATH, flows, 10.0, sample_ms=0, trace=True)
    after = [int(shell(lab, f"cat {FOLDER}/{name}/counters/decisions")) for name in ALGORITHMS]
    traced = [sum(line.endswith(f"ca={name}") for line in result.trace) for name in ALGORITHMS]
    assert traced == [b - a for a, b in zip(before, after, strict=True)]
    assert min(traced) > 100
    assert [flow.scheme for flow in result.flows] == ALGORITHMS
    assert all(flow.received_bytes > 100_000 for flow in result.flows)


def test_another_model_for_one_is_none_for_the_others(lab: Lab) -> None:
    shell(lab, f"echo shrink.bin >{FOLDER}/ndm_untrained_1/model")
    models = [shell(lab, f"cat {FOLDER}/{name}/model") for name in ALGORITHMS]
    swaps = [shell(lab, f"cat {FOLDER}/{name}/counters/model_swaps") for name in ALGORITHMS]
    shell(lab, f"echo builtin >{FOLDER}/ndm_untrained_1/model")
    assert models == ["builtin", "shrink.bin", "builtin"]
    assert swaps == ["0", "1", "0"]


def test_the_module_stays_while_one_of_them_is_in_use_and_goes_with_all(lab: Lab) -> None:
    shown = shell(
        lab,
        program(f"""
            sender, receiver = connect("{ALGORITHMS[2]}")
            send(sender, receiver, 1 << 20)
            time.sleep(300)  # what the runs before have left may still wait for its last timers
            print(subprocess.run(["rmmod", "tcp_ndm"], capture_output=True).returncode)
            sender.close()
            receiver.close()
            time.sleep(1)
            print(subprocess.run(["rmmod", "tcp_ndm"], capture_output=True).returncode)
        """),
    )
    assert shown.split() == ["1", "0"]
    assert shell(lab, f"ls {FOLDER} 2>/dev/null || echo gone") == "gone"


def test_a_name_too_long_for_the_kernel_stops_the_module(tmp_path: FilePath) -> None:
    """The selection refuses it; a header written by hand is refused by the module itself."""
    models = tmp_path / "exported" / "models"
    models.mkdir(parents=True)
    text = (KERNEL / "models" / "mixed.h").read_text()
    (models / "mixed_for_all.h").write_text(
        text.replace("ndm_model_mixed", "ndm_model_mixed_for_all").replace("MIXED", "LONG")
    )
    (tmp_path / "exported" / "ndm_weights.h").write_text(selection.render_selection(["mixed", "mixed_for_all"]))
    module = build(tmp_path)
    with checked_lab() as lab:
        with pytest.raises(LabError, match="tcp_ndm"):
            lab.load(module)
        assert "ndm_mixed_for_all is longer than the 15 letters" in shell(lab, "dmesg | tail -5")
        available = shell(lab, "cat /proc/sys/net/ipv4/tcp_available_congestion_control").split()
        assert "ndm" not in available
        assert shell(lab, f"ls {FOLDER} 2>/dev/null || echo gone") == "gone"
