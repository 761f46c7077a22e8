"""The core against what is written about it: docs/reference/kernel-interface.md, and the errors in ndm_math.h.

The C core is compiled here from the sources as they are now, with the undefined-behaviour sanitizer: an overflow or a
bad shift ends the run.
"""

from __future__ import annotations

import math
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import schema
from env.checkout import ROOT
from export.formats import golden
from export.integer import reference, tables
from export.integer.model import FRAC_MAX, INPUTS, OUTPUTS, IntegerModel
from export.integer.native import Native

KERNEL = ROOT / "kernel"
INT16_ENDS = np.array([-32768, -32767, -1, 0, 1, 32767], np.int16)


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Native:
    library = tmp_path_factory.mktemp("core") / "libndm.so"
    subprocess.run(
        [
            *("cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"),
            *("-fsanitize=undefined", "-fno-sanitize-recover=undefined"),
            *(
                "-I",
                str(KERNEL / "user" / "include"),
                "-I",
                str(KERNEL),
                "-o",
                str(library),
                str(KERNEL / "user" / "core.c"),
            ),
        ],
        check=True,
    )
    return Native(library)


def any_model(rng: np.random.Generator, hidden: int, ends: bool) -> IntegerModel:
    """A model of random numbers, or of those at the ends of int16 only."""

    def numbers(*shape: int) -> np.ndarray:
        return rng.choice(INT16_ENDS, shape) if ends else rng.integers(-32768, 32768, shape).astype(np.int16)

    return IntegerModel(
        row_frac=tuple(int(frac) for frac in rng.integers(0, FRAC_MAX + 1, hidden)),
        out_frac=tuple(int(frac) for frac in rng.integers(0, FRAC_MAX + 1, OUTPUTS)),
        w=numbers(hidden, INPUTS),
        u=numbers(hidden, hidden),
        b=numbers(hidden),
        v=numbers(OUTPUTS, hidden),
        c=numbers(OUTPUTS),
    )


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


@given(hidden=st.integers(1, schema.HIDDEN_MAX), ends=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_c_and_numpy_equal_the_specification(sanitized: Native, hidden: int, ends: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = any_model(rng, hidden, ends)
    x = rng.choice(INT16_ENDS, INPUTS) if ends else rng.integers(-32768, 32768, INPUTS).astype(np.int16)
    h = rng.integers(-32768, 32768, hidden).astype(np.int16)
    expected_h, expected = exact_step(model, h.tolist(), x.tolist())
    for rollout in (sanitized.rollout, reference.rollout):
        outputs, last_h = rollout(model, x[None], h)
        assert (last_h.tolist(), outputs[0].tolist()) == (expected_h, expected)


def test_a_batch_equals_its_connections_one_by_one() -> None:
    rng = np.random.default_rng(5)
    model = any_model(rng, 8, ends=False)
    x = rng.integers(-32768, 32768, (50, INPUTS)).astype(np.int16)
    h = rng.integers(-32768, 32768, (50, 8)).astype(np.int16)
    following, outputs = reference.step(model, h, x)
    for n in range(50):
        one, out = reference.step(model, h[n : n + 1], x[n : n + 1])
        assert (one[0].tolist(), out[0].tolist()) == (following[n].tolist(), outputs[n].tolist())


def test_golden_vectors_are_free_of_undefined_behaviour(sanitized: Native) -> None:
    assert golden.mismatches(golden.core_vectors(), sanitized.rollout) == []


def test_tanh_keeps_its_stated_error(sanitized: Native) -> None:
    x = np.arange(-(8 << 15) - 100, (8 << 15) + 101, dtype=np.int32)
    error = np.abs(sanitized.tanh(x) - np.tanh(np.clip(x / 2**15, -8, 8)) * 2**15)
    assert 1.5 < error.max() <= 1.54


def test_exp2_keeps_its_stated_error(sanitized: Native) -> None:
    x = np.arange(-32768, 32768, dtype=np.int32).astype(np.int16)  # beyond [-1, 1] it clamps
    y, true = sanitized.exp2(x).astype(np.int64), np.exp2(np.clip(x / 2**14, -1, 1)) * 2**16
    assert 1.3 < np.abs(y - true).max() <= 1.34
    assert (np.abs(y - true) / true).max() <= 3.1e-5


def test_quarter_octaves_are_exact(sanitized: Native) -> None:
    rng = np.random.default_rng(7)
    a, b = (np.exp2(rng.uniform(0, 32, 200_000)).astype(np.uint32) for _ in range(2))
    octaves = 4 * np.log2(a.astype(np.float64) / b)
    clear = np.abs(octaves - np.round(octaves)) > 1e-8  # nearer to a threshold, float64 cannot tell either
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(sanitized.quarter_octave(a, b)[clear], np.floor(octaves[clear]))

    top = 2**32 - 1
    ends = np.array(
        [(1, 1, 0), (2, 1, 4), (1, 2, -4), (top, 1, 127), (1, top, -128), (0, 1, 0), (1, 0, 0), (top, top, 0)]
    )
    a, b = (np.ascontiguousarray(ends[:, column]).astype(np.uint32) for column in (0, 1))
    assert sanitized.quarter_octave(a, b).tolist() == ends[:, 2].tolist()


def test_entropy_tables_are_nearest() -> None:
    for k in range(17):
        parts = [-p * math.log2(p) if p else 0.0 for p in (k / 16, 1 - k / 16)]
        assert abs(tables.PLOGP[k] - parts[0] * 4096) <= 0.5
        assert abs(tables.BINARY_ENTROPY[k] - sum(parts) * 4096) <= 0.5
