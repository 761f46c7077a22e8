"""The schema: what an appended input must leave as it is."""

from __future__ import annotations

import json

import onnx
import pytest

from env import schema
from env.checkout import DATASETS

MODELS = sorted(path.name for path in (DATASETS / "models").iterdir())


@pytest.mark.parametrize("name", MODELS)
def test_shipped_models_have_the_first_inputs(name: str) -> None:
    facts = {entry.key: entry.value for entry in onnx.load(DATASETS / "models" / name / "policy.onnx").metadata_props}
    inputs = [(field["name"], field["low"], field["high"]) for field in json.loads(facts["ndm.inputs"])]
    assert len(inputs) >= schema.INPUTS_MIN
    assert inputs == [(field.name, field.low, field.high) for field in schema.FEATURES[: len(inputs)]], (
        "an input that models have was moved, renamed or removed: raise SCHEMA_VERSION and INPUTS_MIN, train new models"
    )
    assert facts["ndm.schema"] == str(schema.SCHEMA_VERSION)


@pytest.mark.parametrize("inputs", range(8, 17))
def test_padding_aligns_any_number_of_inputs(inputs: int) -> None:
    layout = (("__u64", "Q", "now_us", ""), ("__s16", f"{inputs}h", f"features[{inputs}]", ""))
    padding = schema._padding(layout)
    assert schema._struct(layout + padding).size == 8 + 8 * -(-2 * inputs // 8)
    assert len(padding) == (inputs % 4 != 0)
