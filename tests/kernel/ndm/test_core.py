"""The integer core in C, against the NumPy reference, the golden vectors, the specification and the stated errors.

The tests run on the library that `make module` builds, and on one compiled with the undefined-behaviour sanitizer,
where an overflow or a bad shift ends the run.
"""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import schema
from env.checkout import ROOT
from env.errors import UserError
from export.formats import golden
from export.formats.header import write_header
from export.integer import reference, tables
from export.integer.model import INPUTS, IntegerModel
from tests.support.kernel.native import Native
from tests.support.models import INT16_ENDS, any_model, random_model
from tests.support.tools import compile_kernel
from training.untrained import build_untrained

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module", params=["built", "sanitized"])
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native() if request.param == "built" else Native(compile_kernel("core.c", tmp_path_factory.mktemp("core")))


def vectors() -> list[golden.Vector]:
    return golden.parse(golden.FILE.read_text(), str(golden.FILE))


def test_golden_vectors_hold_in_c(core: Native) -> None:
    assert golden.mismatches(vectors(), core.rollout) == []


def test_golden_vectors_hold_in_the_reference() -> None:
    assert golden.mismatches(vectors(), reference.rollout) == []


def test_mismatch_names_the_command_that_regenerates() -> None:
    vector = vectors()[0]
    wrong = golden.Vector(vector.name, vector.model, vector.x, vector.h, vector.outputs + np.int16(1), vector.last_h)
    (line,) = golden.mismatches([wrong], reference.rollout)
    assert golden.REGENERATE in line


def test_golden_files_of_another_version_are_refused() -> None:
    text = golden.FILE.read_text()
    for old, new in (('"version": 1', '"version": 2'), ('"ndm-golden"', '"other"'), ('"vectors"', '"victors"')):
        with pytest.raises(UserError, match="golden"):
            golden.parse(text.replace(old, new, 1), "file")


@pytest.mark.parametrize(
    "module", ["env.schema", "export.integer.tables", "export.formats.golden", "export.formats.manifest"]
)
def test_generated_files_are_fresh(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_library_has_the_export_over_the_shipped_model(tmp_path: Path) -> None:
    exported = build_untrained(1)
    write_header(exported.model, replace(exported.provenance, name="mixed"), tmp_path / "exported")
    library = tmp_path / "libndm.so"
    subprocess.run(["make", "-s", f"NDM_MODEL_BUILD={tmp_path}", str(library)], cwd=ROOT, check=True)
    assert Native(library).shipped()[1] == exported.provenance.sha256


@given(model=any_model, seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_c_equals_the_reference_for_any_model(core: Native, model: IntegerModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-32768, 32768, (20, INPUTS)).astype(np.int16)
    h = rng.integers(-32768, 32768, model.hidden).astype(np.int16)
    for actual, expected in zip(core.rollout(model, x, h), reference.rollout(model, x, h), strict=True):
        np.testing.assert_array_equal(actual, expected)


def exact_step(model: IntegerModel, h: list[int], x: list[int]) -> tuple[list[int], list[int]]:
    """One step in Python's unbounded integers, straight from docs/reference/kernel-interface.md."""

    def rounded(value: int, bits: int) -> int:
        return (value + (1 << bits >> 1)) >> bits

    def tanh(pre: int) -> int:
        i, fraction = divmod(abs(pre), 512)
        y = tables.TANH[i]
        if fraction:
            y += rounded((tables.TANH[i + 1] - y) * fraction, 9)
        return -y if pre < 0 else y

    def dot(row: list[int], numbers: list[int]) -> int:
        return sum(a * s for a, s in zip(row, numbers, strict=True))

    w, u, b, v, c = (getattr(model, name).tolist() for name in ("w", "u", "b", "v", "c"))
    following = []
    for r, frac in enumerate(model.row_frac):
        acc = (dot(w[r], x) << 3) + dot(u[r], h) + (b[r] << 15)
        following.append(tanh(max(-(8 << 15), min(8 << 15, rounded(acc, frac)))))
    outputs = []
    for k, frac in enumerate(model.out_frac):
        acc = dot(v[k], following) + (c[k] << 15)
        outputs.append(max(-(1 << 14), min(1 << 14, rounded(acc, frac + 1))))
    return following, outputs


@given(hidden=st.integers(1, schema.HIDDEN_MAX), ends=st.booleans(), seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_c_and_numpy_equal_the_specification(core: Native, hidden: int, ends: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(rng, hidden, ends=ends)
    x = rng.choice(INT16_ENDS, INPUTS) if ends else rng.integers(-32768, 32768, INPUTS).astype(np.int16)
    h = rng.integers(-32768, 32768, hidden).astype(np.int16)
    expected_h, expected = exact_step(model, h.tolist(), x.tolist())
    for rollout in (core.rollout, reference.rollout):
        outputs, last_h = rollout(model, x[None], h)
        assert (last_h.tolist(), outputs[0].tolist()) == (expected_h, expected)


def test_a_batch_equals_its_connections_one_by_one() -> None:
    rng = np.random.default_rng(5)
    model = random_model(rng, 8)
    x = rng.integers(-32768, 32768, (50, INPUTS)).astype(np.int16)
    h = rng.integers(-32768, 32768, (50, 8)).astype(np.int16)
    following, outputs = reference.step(model, h, x)
    for n in range(50):
        one, out = reference.step(model, h[n : n + 1], x[n : n + 1])
        assert (one[0].tolist(), out[0].tolist()) == (following[n].tolist(), outputs[n].tolist())


def test_tanh_keeps_its_stated_error(core: Native) -> None:
    x = np.arange(-(9 << 15), (9 << 15) + 1, dtype=np.int32)
    y = core.tanh(x)
    np.testing.assert_array_equal(y, reference.tanh(x))
    error = np.abs(y - np.tanh(np.clip(x / 2**15, -8, 8)) * 2**schema.HIDDEN_FRAC)
    assert 1.5 < error.max() <= 1.54, "units of 2^-15"
    assert (np.diff(y.astype(np.int32)) >= 0).all()
    np.testing.assert_array_equal(y, -y[::-1])


def test_exp2_keeps_its_stated_error(core: Native) -> None:
    x = np.arange(-32768, 32768, dtype=np.int32).astype(np.int16)  # beyond [-1, 1] it clamps
    y, exact = core.exp2(x).astype(np.int64), np.exp2(np.clip(x / 2**schema.ACTION_FRAC, -1, 1)) * 2**16
    np.testing.assert_array_equal(y, reference.exp2(x))
    assert 1.3 < np.abs(y - exact).max() <= 1.34
    assert (np.abs(y - exact) / exact).max() <= 3.1e-5
    assert (np.diff(y) >= 0).all()
    assert (y[0], y[32768], y[-1]) == (32768, 65536, 131072)


def test_quarter_octaves_are_exact(core: Native) -> None:
    rng = np.random.default_rng(7)
    a, b = (np.exp2(rng.uniform(0, 32, 200_000)).astype(np.uint32) for _ in range(2))
    octaves = 4 * np.log2(a.astype(np.float64) / b)
    clear = np.abs(octaves - np.round(octaves)) > 1e-8  # nearer to a threshold, float64 cannot tell either
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(core.quarter_octave(a, b)[clear], np.floor(octaves[clear]))
    assert (core.quarter_octave(a, a) == 0).all()

    top = 2**32 - 1
    ends = np.array(
        [(1, 1, 0), (2, 1, 4), (1, 2, -4), (top, 1, 127), (1, top, -128), (0, 1, 0), (1, 0, 0), (top, top, 0)]
    )
    a, b = (np.ascontiguousarray(ends[:, column]).astype(np.uint32) for column in (0, 1))
    assert core.quarter_octave(a, b).tolist() == ends[:, 2].tolist()


def test_entropy_tables_are_nearest() -> None:
    for k in range(17):
        parts = [-p * math.log2(p) if p else 0.0 for p in (k / 16, 1 - k / 16)]
        assert abs(tables.PLOGP[k] - parts[0] * 4096) <= 0.5
        assert abs(tables.BINARY_ENTROPY[k] - sum(parts) * 4096) <= 0.5
