"""Another model for connections that run: a file through the firmware loader, under the sanitizers too."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Iterator

import numpy as np
import pytest

from env.lab import Lab
from env.lab.reports import kernel_log
from env.lab.virtual import MODULES
from env.network.path import Path
from export import selection
from export.formats.blob import write_blob
from export.integer import reference
from export.integer.model import IntegerModel
from export.integer.native import Native
from tests.support.guest import shell
from tests.support.labs import checked_lab, shared_lab
from training.untrained import build_untrained

pytestmark = pytest.mark.timeout(900)
FOLDER = "/sys/module/tcp_ndm/ndm"
LINE = re.compile(r"flow=(\d+) decision=(\d+) x=([-\d,]+) action=([-\d,]+) cwnd=\d+ srtt_us=\d+ model=(\d+) ca=ndm")
PATH = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=2)
SWAPS = 40


def put_files(lab: Lab) -> None:
    """Give the lab's firmware loader a folder with all files."""
    shell(lab, "mkdir -p /tmp/firmware && printf /tmp/firmware >/sys/module/firmware_class/parameters/path")
    for name, content in files().items():
        packed = base64.b64encode(content).decode()
        shell(lab, f"echo {packed} | base64 -d >/tmp/firmware/{name}")


def files() -> dict[str, bytes]:
    models = {f"seed-{seed}.bin": build_untrained(seed) for seed in (1, 2)}
    good = {name: write_blob(exported.model, exported.provenance) for name, exported in models.items()}
    whole = good["seed-1.bin"]
    flipped, scale = bytearray(whole), bytearray(whole)
    flipped[700] ^= 4
    scale[254] = 23
    signed = bytes(scale[:-32]) + hashlib.sha256(scale[:-32]).digest()
    bad = {
        "cut.bin": whole[:-1],
        "flipped.bin": bytes(flipped),
        "scale.bin": signed,
        "empty.bin": b"",
        "long.bin": 9 * whole,
    }
    return good | bad


lab = shared_lab("tcp_ndm", seed=3, both_kernels=True, setup=put_files)


def fact(lab: Lab, name: str) -> str:
    return shell(lab, f"cat {FOLDER}/{name}")


def set_model(lab: Lab, name: str) -> int:
    return int(lab.call("shell", command=f"echo {name} >{FOLDER}/model")["status"])


@pytest.fixture
def swapped(lab: Lab) -> Iterator[Lab]:
    """The lab, back to the builtin model after the test."""
    yield lab
    assert set_model(lab, "builtin") == 0


def test_a_file_takes_the_place_of_the_model_and_says_so(swapped: Lab) -> None:
    lab = swapped
    shipped = fact(lab, "sha256")
    swaps = int(fact(lab, "counters/model_swaps"))
    assert fact(lab, "model") == "builtin"
    header = selection.header_of(fact(lab, "name")).read_text()
    assert f'.envelope = "{fact(lab, "envelope")}"' in header
    assert set_model(lab, "seed-1.bin") == 0
    exported = build_untrained(1)
    assert fact(lab, "model") == "seed-1.bin"
    assert fact(lab, "name") == exported.provenance.name
    assert fact(lab, "sha256") == exported.provenance.sha256
    assert fact(lab, "trained_decisions") == "0"
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
        ("missing.bin", "is not there"),
    ],
)
def test_a_file_that_is_no_model_is_refused_with_the_reason_and_the_old_one_stays(
    swapped: Lab, name: str, reason: str
) -> None:
    lab = swapped
    assert set_model(lab, "seed-2.bin") == 0
    refused = int(fact(lab, "counters/models_refused"))
    before = len(kernel_log(lab).splitlines())
    assert set_model(lab, name) != 0
    said = [line for line in kernel_log(lab).splitlines()[before:] if "tcp_ndm: model" in line]
    assert len(said) == 1
    assert name in said[0]
    assert reason in said[0]
    assert fact(lab, "model") == "seed-2.bin"
    assert int(fact(lab, "counters/models_refused")) == refused + 1


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "''", "a" * 70])
def test_names_that_leave_the_firmware_folder_are_not_looked_for(lab: Lab, name: str) -> None:
    before = len(kernel_log(lab).splitlines())
    assert set_model(lab, name) != 0
    said = [line for line in kernel_log(lab).splitlines()[before:] if "tcp_ndm:" in line]
    assert len(said) == 1
    assert "a model is refused: it" in said[0]
    assert fact(lab, "model") == "builtin"


def test_only_root_may_set_it(lab: Lab) -> None:
    shown = shell(lab, f"stat -c '%a %u' {FOLDER}/model {FOLDER}/sha256")
    assert shown.splitlines() == ["644 0", "444 0"]


def test_connections_go_on_with_the_new_model_and_decide_as_the_reference_does(swapped: Lab) -> None:
    """Two flows for 30 s, the model exchanged again and again: every decision is one of the model that it names."""
    lab = swapped
    # the run begins a second to 33 s from now; swaps come all the time
    swapping = f"for i in $(seq {SWAPS}); do for m in seed-1.bin builtin seed-2.bin; do echo $m >{FOLDER}/model; "
    shell(lab, f"({swapping} sleep 0.61; done; done) >/dev/null 2>&1 & true")
    flows = [{"scheme": "ndm", "start_s": float(i), "duration_s": 30.0 - i} for i in range(2)]
    result = lab.run(PATH, flows, 30.0, trace=True)
    models = [build_untrained(1).model, Native().shipped()[0], build_untrained(2).model]
    rows = [match.groups() for match in map(LINE.search, result.trace) if match]
    assert len(rows) == len(result.trace) > 1000
    numbers = {int(row[4]) for row in rows}
    assert len(numbers) > 30, "the model was not exchanged while the flows ran"
    for flow in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == flow]
        assert [int(row[1]) for row in mine] == list(range(len(mine))), "a decision is missing"
        check(models, mine)
    for found in result.flows:
        assert found.received_bytes > 1_000_000, "the connection starved"


def check(models: list[IntegerModel], rows: list[tuple[str, ...]]) -> None:
    """Each stretch of one number is a rollout of one of the models, its state beginning at zero."""
    edges = [0, *(i for i in range(1, len(rows)) if rows[i][4] != rows[i - 1][4]), len(rows)]
    seen = set()
    for first, last in itertools.pairwise(edges):
        x = np.array([row[2].split(",") for row in rows[first:last]], dtype=np.int16)
        actions = np.array([row[3].split(",") for row in rows[first:last]], dtype=np.int16)
        equal = [i for i, model in enumerate(models) if np.array_equal(reference.rollout(model, x)[0], actions)]
        assert equal, f"decisions {first} to {last} are of no model"
        seen |= set(equal)
    assert seen == {0, 1, 2}


def test_a_model_named_on_insmods_command_line_is_there_from_the_start() -> None:
    """Not under KASAN, which in user-mode Linux takes a module that is loaded again for an overflow."""
    with checked_lab("tcp_ndm", seed=3) as lab:
        put_files(lab)
        module = MODULES / "tcp_ndm.ko"
        shell(lab, "rmmod tcp_ndm")
        assert lab.call("shell", command=f"insmod {module} model=cut.bin")["status"] != 0
        assert shell(lab, "ls /sys/module | grep -c '^tcp_ndm$' || true") == "0"
        shell(lab, f"insmod {module} model=seed-1.bin")
        assert fact(lab, "model") == "seed-1.bin"
        shell(lab, f"rmmod tcp_ndm && insmod {module}")  # with a model from a file in use
        assert fact(lab, "model") == "builtin"
