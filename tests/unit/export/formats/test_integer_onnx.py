"""The integer graph in onnxruntime: bit for bit the reference's arithmetic, for every golden vector and any model."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.checkout import DATASETS
from env.errors import UserError
from export.formats import golden
from export.formats.blob import read_blob
from export.formats.integer_onnx import IntegerSession, build_integer_onnx
from export.integer import reference, tables
from export.integer.model import INPUTS, Int16, IntegerModel, Provenance
from tests.support.models import any_model

NOWHERE = Provenance("test", "none", "0" * 64, "none", decisions=0)


def shipped() -> IntegerModel:
    model, _ = read_blob((DATASETS / "models" / "mixed" / "policy.bin").read_bytes(), "mixed")
    return model


def build(model: IntegerModel) -> bytes:
    return build_integer_onnx(model, NOWHERE, {})


def rollout(model: IntegerModel, x: Int16, h: Int16) -> tuple[Int16, Int16]:
    return IntegerSession(build(model)).rollout(x, h)


def test_golden_vectors_hold_in_onnxruntime() -> None:
    vectors = golden.parse(golden.FILE.read_text(), str(golden.FILE))
    assert len(vectors) >= 10
    assert golden.mismatches(vectors, rollout) == []


def test_shipped_model_decides_as_the_reference() -> None:
    assert golden.mismatches(golden.model_vectors(shipped(), seed=9), rollout) == []


@given(model=any_model, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_onnxruntime_equals_the_reference_for_any_model(model: IntegerModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-32768, 32768, (64, INPUTS)).astype(np.int16)
    h = rng.integers(-32768, 32768, (64, model.hidden)).astype(np.int16)
    for actual, expected in zip(IntegerSession(build(model)).step(h, x), reference.step(model, h, x), strict=True):
        assert actual.dtype == np.int16
        np.testing.assert_array_equal(actual, expected)


def test_numbers_are_integers_and_metadata_explains_them() -> None:
    model = shipped()
    graph_file = onnx.load_from_string(build(model))
    assert {initializer.data_type for initializer in graph_file.graph.initializer} == {onnx.TensorProto.INT64}
    for end in (*graph_file.graph.input, *graph_file.graph.output):
        assert end.type.tensor_type.elem_type == onnx.TensorProto.INT16
    facts = {entry.key: entry.value for entry in graph_file.metadata_props}
    assert facts["ndm.sha256"] == NOWHERE.sha256
    assert json.loads(facts["ndm.fraction_bits"])["row"] == list(model.row_frac)
    assert len(json.loads(facts["ndm.inputs"])) == INPUTS


def test_graph_off_by_one_is_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    model = shipped()
    # the reference has a separate copy of the table
    monkeypatch.setattr(tables, "TANH", tuple(max(entry - 1, 0) for entry in tables.TANH))
    with pytest.raises(UserError, match="does not compute the integer network"):
        build(model)
