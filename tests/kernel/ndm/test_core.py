"""The integer core: C, reference and golden vectors agree to the bit, and every approximation keeps its word."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import schema
from env.checkout import ROOT
from export.formats import golden
from export.integer import reference, tables
from export.integer.model import INPUTS, ExportError, IntegerModel
from export.integer.native import Native
from tests.support.any_model import models


@pytest.fixture(scope="module")
def native() -> Native:
    return Native()


def vectors() -> list[golden.Vector]:
    return golden.parse(golden.FILE.read_text(), str(golden.FILE))


def test_golden_vectors_hold_in_c(native: Native) -> None:
    assert golden.mismatches(vectors(), native.rollout) == []


def test_golden_vectors_hold_in_the_reference() -> None:
    assert golden.mismatches(vectors(), reference.rollout) == []


def test_a_mismatch_names_the_command_that_regenerates() -> None:
    vector = vectors()[0]
    wrong = golden.Vector(vector.name, vector.model, vector.x, vector.h, vector.outputs + np.int16(1), vector.last_h)
    (line,) = golden.mismatches([wrong], reference.rollout)
    assert golden.REGENERATE in line


def test_golden_files_of_another_version_are_refused() -> None:
    text = golden.FILE.read_text()
    for old, new in (('"version": 1', '"version": 2'), ('"ndm-golden"', '"other"'), ('"vectors"', '"victors"')):
        with pytest.raises(ExportError, match="golden"):
            golden.parse(text.replace(old, new, 1), "file")


@pytest.mark.parametrize("module", ["env.schema", "export.integer.tables", "export.formats.golden"])
def test_generated_files_are_fresh(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@given(model=models(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_c_equals_the_reference_for_any_model(native: Native, model: IntegerModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-32768, 32768, (20, INPUTS)).astype(np.int16)
    h = rng.integers(-32768, 32768, model.hidden).astype(np.int16)
    for got, expected in zip(native.rollout(model, x, h), reference.rollout(model, x, h), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_tanh_over_its_whole_range(native: Native) -> None:
    x = np.arange(-(9 << 15), (9 << 15) + 1, dtype=np.int32)
    y = native.tanh(x)
    np.testing.assert_array_equal(y, reference.tanh(x))
    exact = np.tanh(x / 2**schema.HIDDEN_FRAC) * 2**schema.HIDDEN_FRAC
    assert np.abs(y - np.clip(exact, -32767, 32767)).max() <= 2, "units of 2^-15"
    assert (np.diff(y.astype(np.int32)) >= 0).all()
    np.testing.assert_array_equal(y, -y[::-1])


def test_exp2_over_its_whole_range(native: Native) -> None:
    one = 1 << schema.ACTION_FRAC
    x = np.arange(-one, one + 1, dtype=np.int16)
    y = native.exp2(x)
    np.testing.assert_array_equal(y, reference.exp2(x))
    exact = np.exp2(x / one) * 65536
    assert np.abs(y / exact - 1).max() < 5e-5
    assert (np.diff(y.astype(np.int64)) >= 0).all()
    assert (y[0], y[one], y[-1]) == (32768, 65536, 131072)


def test_quarter_octaves(native: Native) -> None:
    rng = np.random.default_rng(1)
    a = np.exp2(rng.uniform(0, 30, 100_000)).astype(np.uint32)
    b = np.exp2(rng.uniform(0, 30, 100_000)).astype(np.uint32)
    exact = 4 * np.log2(a.astype(float) / b)
    assert np.abs(native.quarter_octave(a, b) - np.floor(exact)).max() <= 1
    assert (native.quarter_octave(a, a) == 0).all()


def test_the_tables_are_what_their_formulas_say() -> None:
    assert (tables.HEADER).read_text() == tables.render_header()
