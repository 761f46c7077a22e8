"""The C core compiled for arm64, under QEMU: the same bits as the reference's, for golden vectors and for any model."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import schema
from env.checkout import ROOT
from export.formats import golden
from export.integer import reference
from export.integer.model import INPUTS, OUTPUTS, Int16, IntegerModel
from tests.support.kernel.native import Native, model_bytes
from tests.support.models import any_model
from tests.support.tools import KERNEL_HEADERS, compile_c, find_tool

SOURCE = ROOT / "tests" / "support" / "kernel" / "rollout.c"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"


class Arm64:
    """tests/support/kernel/rollout.c for arm64."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def rollouts(self, requests: Sequence[tuple[IntegerModel, Int16, Int16]]) -> list[tuple[Int16, Int16]]:
        """(model, x (T, I), h (H)) -> outputs (T, O) and the last state (H); one process computes all requests."""
        asked = b""
        for model, x, h in requests:
            state = np.zeros(schema.HIDDEN_MAX, "<i2")
            state[: model.hidden] = h
            asked += model_bytes(model) + state.tobytes() + struct.pack("<I", len(x)) + x.astype("<i2").tobytes()
        done = subprocess.run([EMULATOR, str(self.program)], input=asked, capture_output=True, check=True)
        numbers = np.frombuffer(done.stdout, "<i2").astype(np.int16)
        replies = []
        for model, x, _ in requests:
            outputs, state, numbers = np.split(numbers, [len(x) * OUTPUTS, len(x) * OUTPUTS + schema.HIDDEN_MAX])
            replies.append((outputs.reshape(-1, OUTPUTS), state[: model.hidden]))
        assert numbers.size == 0
        return replies

    def rollout(self, model: IntegerModel, x: Int16, h: Int16) -> tuple[Int16, Int16]:
        return self.rollouts([(model, x, h)])[0]


@pytest.fixture(scope="module")
def arm64(tmp_path_factory: pytest.TempPathFactory) -> Arm64:
    for tool in (COMPILER, EMULATOR):
        find_tool(tool)
    program = tmp_path_factory.mktemp("arm64") / "rollout"
    compile_c(program, SOURCE, "-static", *KERNEL_HEADERS, compiler=COMPILER)
    # ELF's e_machine is EM_AARCH64: the compiler did not make code for this machine
    assert struct.unpack_from("<H", program.read_bytes(), 18) == (183,)
    return Arm64(program)


def test_golden_vectors_hold_on_arm64(arm64: Arm64) -> None:
    vectors = golden.parse(golden.FILE.read_text(), str(golden.FILE))
    assert len(vectors) >= 10
    assert golden.mismatches(vectors, arm64.rollout) == []


def test_the_shipped_model_decides_as_on_x86(arm64: Arm64) -> None:
    model, _ = Native().shipped()
    vectors = golden.model_vectors(model, seed=9)
    assert golden.mismatches(vectors, arm64.rollout) == []
    assert golden.mismatches(vectors, Native().rollout) == []


@given(drawn=st.lists(any_model, min_size=20, max_size=20), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_arm64_equals_the_reference_for_any_model(arm64: Arm64, drawn: list[IntegerModel], seed: int) -> None:
    rng = np.random.default_rng(seed)
    requests = [
        (model, *(rng.integers(-32768, 32768, shape).astype(np.int16) for shape in ((20, INPUTS), (model.hidden,))))
        for model in drawn
    ]
    for request, reply in zip(requests, arm64.rollouts(requests), strict=True):
        for numbers, expected in zip(reply, reference.rollout(*request), strict=True):
            np.testing.assert_array_equal(numbers, expected)
