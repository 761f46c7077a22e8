"""The exchange of the model while connections run, through the firmware loader; also in the sanitizer kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from env.lab import Lab
from env.lab.virtual import MODULES
from env.network.path import Path
from export.formats.blob import write_blob
from export.integer import reference
from export.integer.model import IntegerModel
from export.selection import manifest_of
from kernel.kunit.reports import kernel_log
from tests.support.guest import shell
from tests.support.kernel.native import Native
from tests.support.labs import Decision, checked_lab, shared_lab, traced_decisions
from tests.support.models import SLOTS, put_firmware, with_sha256
from training.untrained import build_untrained

pytestmark = pytest.mark.timeout(900)
FOLDER = "/sys/module/tcp_ndm/ndm"
PATH = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=2)
SWAPS = 40


def files() -> dict[str, bytes]:
    """Return model files that are right, and some that are not."""
    models = {f"seed-{seed}.bin": build_untrained(seed) for seed in (1, 2)}
    good = {name: write_blob(exported.model, exported.provenance) for name, exported in models.items()}
    whole = good["seed-1.bin"]
    flipped, scale = bytearray(whole), bytearray(whole)
    flipped[700] ^= 4
    scale[254] = 23
    bad = {"cut.bin": whole[:-1], "flipped.bin": bytes(flipped), "scale.bin": with_sha256(scale)}
    return good | bad | {"empty.bin": b"", "long.bin": 9 * whole}


lab = shared_lab("tcp_ndm", seed=3, both_kernels=True, setup=lambda lab: put_firmware(lab, files()))


def fact(lab: Lab, name: str) -> str:
    return shell(lab, f"cat {FOLDER}/{name}")


def set_model(lab: Lab, name: str) -> int:
    return int(lab.call("shell", command=f"echo +ndm {name} >{SLOTS}")["status"])


@pytest.fixture(autouse=True)
def builtin(lab: Lab) -> Iterator[None]:
    """Go back to the builtin model after each test."""
    yield
    assert set_model(lab, "builtin") == 0


def refusals(lab: Lab, name: str, start: str) -> list[str]:
    """Set a model that must be refused; return the lines that the kernel logs with this start."""
    before = len(kernel_log(lab).splitlines())
    assert set_model(lab, name) != 0
    return [line for line in kernel_log(lab).splitlines()[before:] if start in line]


def test_model_file_replaces_the_model(lab: Lab) -> None:
    shipped = fact(lab, "sha256")
    swaps = int(fact(lab, "counters/model_swaps"))
    assert fact(lab, "model") == "builtin"
    manifest = manifest_of(fact(lab, "name"))
    assert (manifest["envelope"], manifest["policy_sha256"]) == (fact(lab, "envelope"), shipped)
    assert set_model(lab, "seed-1.bin") == 0
    exported = build_untrained(1)
    assert fact(lab, "model") == "seed-1.bin"
    assert fact(lab, "name") == exported.provenance.name
    assert fact(lab, "sha256") == exported.provenance.sha256
    assert fact(lab, "trained_decisions") == "0"
    assert fact(lab, "content_sha256") == write_blob(exported.model, exported.provenance)[-32:].hex()
    assert set_model(lab, "builtin") == 0
    assert fact(lab, "sha256") == shipped == Native().shipped()[1]
    assert int(fact(lab, "counters/model_swaps")) == swaps + 2


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cut.bin", "SHA-256 does not match"),
        ("flipped.bin", "SHA-256 does not match"),
        ("scale.bin", "could overflow"),
        ("empty.bin", ""),  # the loader itself refuses it
        ("long.bin", "not that of a model"),
        ("missing.bin", "was not found"),
    ],
)
def test_bad_file_is_refused_with_the_reason(lab: Lab, name: str, reason: str) -> None:
    assert set_model(lab, "seed-2.bin") == 0
    refused = int(fact(lab, "counters/models_refused"))
    (line,) = refusals(lab, name, "tcp_ndm: model")
    assert name in line
    assert reason in line
    assert fact(lab, "model") == "seed-2.bin"
    assert int(fact(lab, "counters/models_refused")) == refused + 1


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a" * 70])
def test_names_outside_the_firmware_folder_are_refused(lab: Lab, name: str) -> None:
    (line,) = refusals(lab, name, "tcp_ndm:")
    assert "is refused: it" in line
    assert fact(lab, "model") == "builtin"


def test_only_root_may_write_slots(lab: Lab) -> None:
    shown = shell(lab, f"stat -c '%a %u' {SLOTS} {FOLDER}/model")
    assert shown.splitlines() == ["200 0", "444 0"]


@pytest.mark.parametrize(
    "command",
    ["setpriv --bounding-set -net_admin --inh-caps -net_admin sh -c", "unshare --user --map-root-user sh -c"],
    ids=["root without the capability", "root of another user namespace"],
)
def test_setting_the_model_needs_a_capability(lab: Lab, command: str) -> None:
    done = lab.call("shell", command=f"{command} 'id -u && echo +ndm seed-1.bin | tee {SLOTS} >/dev/null'")
    assert done["stdout"] == "0\n"
    assert "not permitted" in done["stderr"]
    assert fact(lab, "model") == "builtin"


def test_only_pinned_files_are_loaded() -> None:
    """The lab kernel only: in user-mode Linux, KASAN reports an overflow when a module is loaded again."""
    content = files()
    pins = ",".join(content[name][-32:].hex() for name in ("seed-1.bin", "cut.bin"))
    with checked_lab("tcp_ndm", seed=3) as lab:
        put_firmware(lab, content)
        module = MODULES / "tcp_ndm.ko"
        shell(lab, "rmmod tcp_ndm")
        assert lab.call("shell", command=f"insmod {module} pin={pins},12ab")["status"] != 0
        assert "parameter pin: 12ab is no SHA-256" in kernel_log(lab)
        shell(lab, f"insmod {module} pin={pins}")
        assert set_model(lab, "seed-1.bin") == 0
        (line,) = refusals(lab, "seed-2.bin", "tcp_ndm: model")
        assert "its SHA-256 is not one of the parameter pin" in line
        assert set_model(lab, "builtin") == 0
        assert lab.call("shell", command=f"echo +ndm_2 seed-2.bin >{SLOTS}")["status"] != 0


def test_every_decision_follows_the_model_it_names(lab: Lab) -> None:
    """Two flows run for 30 s while the model is exchanged again and again."""
    # the run begins between 1 s and 33 s from now, and the exchanges go on for longer
    swapping = f"for i in $(seq {SWAPS}); do for m in seed-1.bin builtin seed-2.bin; do echo +ndm $m >{SLOTS}; "
    shell(lab, f"({swapping} sleep 0.61; done; done) >/dev/null 2>&1 & true")
    flows = [{"scheme": "ndm", "start_s": float(i), "duration_s": 30.0 - i} for i in range(2)]
    result = lab.run(PATH, flows, 30.0, trace=True)
    models = [build_untrained(1).model, Native().shipped()[0], build_untrained(2).model]
    decisions = traced_decisions(result.trace)
    assert len(decisions) == len(result.trace) > 1000
    assert len({decision.model for decision in decisions}) > 30, "the model was not exchanged while the flows ran"
    for flow in sorted({decision.flow for decision in decisions}):
        of_flow = [decision for decision in decisions if decision.flow == flow]
        assert [decision.number for decision in of_flow] == list(range(len(of_flow))), "a decision is missing"
        check(models, of_flow)
    for flow in result.flows:
        assert flow.received_bytes > 1_000_000, "the connection starved"


def check(models: list[IntegerModel], decisions: list[Decision]) -> None:
    """Each stretch of decisions with one model number is a rollout of one of the models from the zero state."""
    used = set()
    for number, stretch in itertools.groupby(decisions, lambda decision: decision.model):
        inputs, outputs = zip(*((decision.x, decision.action) for decision in stretch), strict=True)
        x, actions = np.array(inputs, np.int16), np.array(outputs, np.int16)
        equal = [i for i, model in enumerate(models) if np.array_equal(reference.rollout(model, x)[0], actions)]
        assert equal, f"the decisions with model number {number} follow no model"
        used |= set(equal)
    assert used == {0, 1, 2}
