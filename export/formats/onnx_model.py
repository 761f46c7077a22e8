"""The float policy as ONNX, for other runtimes: operator RNN, with the state as explicit input and output.

Letters: T steps, N independent connections, H hidden units, I inputs, O outputs. The graph::

    observations (T, N, I), state (1, N, H)  ->  actions (T, N, O) in [-1, 1], next_state (1, N, H)
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from env import schema
from env.errors import UserError
from export.integer.model import FORMAT, INPUTS, OUTPUTS, IntegerModel, Provenance
from export.integer.quantize import FloatPolicy

OPSET = 17
IR_VERSION = 8
TOLERANCE = 1e-4  # float32 runtime against float64, over CHECK_STEPS steps
CHECK_STEPS = 200
_CHECK_CONNECTIONS = 16


def build_onnx(policy: FloatPolicy, model: IntegerModel, provenance: Provenance, envelope: dict[str, Any]) -> bytes:
    """Return the ONNX file.

    envelope: the resolved profile of the training, as plain data; stored as JSON.
    Raises UserError if onnxruntime's outputs differ from the policy's by more than TOLERANCE.
    """
    hidden = policy.hidden
    weights = {
        "W": policy.w[None],  # (1, H, I)
        "R": policy.u[None],  # (1, H, H)
        "B": np.concatenate([policy.b, np.zeros(hidden)])[None],  # (1, 2H): input and recurrent bias
        "V": policy.v.T,  # (H, O)
        "c": policy.c,  # (O)
        "low": np.array(-1.0),
        "high": np.array(1.0),
    }
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    constants.append(numpy_helper.from_array(np.array([1], np.int64), "directions"))
    nodes = [
        helper.make_node(
            "RNN", ["observations", "W", "R", "B", "", "state"], ["all_states", "next_state"],
            hidden_size=hidden, activations=["Tanh"], direction="forward",
        ),
        helper.make_node("Squeeze", ["all_states", "directions"], ["states"]),  # (T, 1, N, H) -> (T, N, H)
        helper.make_node("MatMul", ["states", "V"], ["products"]),
        helper.make_node("Add", ["products", "c"], ["means"]),
        helper.make_node("Clip", ["means", "low", "high"], ["actions"]),
    ]  # fmt: skip
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "ndm",
        [
            value("observations", TensorProto.FLOAT, ["T", "N", INPUTS]),
            value("state", TensorProto.FLOAT, [1, "N", hidden]),
        ],
        [
            value("actions", TensorProto.FLOAT, ["T", "N", OUTPUTS]),
            value("next_state", TensorProto.FLOAT, [1, "N", hidden]),
        ],
        constants,
    )
    onnx_model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="ndm-tcp"
    )
    helper.set_model_props(onnx_model, metadata(model, provenance, envelope))
    onnx.checker.check_model(onnx_model, full_check=True)
    content: bytes = onnx_model.SerializeToString()
    check_onnx(content, policy)
    return content


def check_onnx(content: bytes, policy: FloatPolicy, seed: int = 1) -> float:
    """Run the file in onnxruntime on random sequences, in two parts with the state carried over.

    Returns the largest difference from the policy, of actions and states; UserError above TOLERANCE.
    """
    rng = np.random.default_rng(seed)
    low = np.array([field.low for field in schema.FEATURES])
    high = np.array([field.high for field in schema.FEATURES])
    x = rng.uniform(low, high, (CHECK_STEPS, _CHECK_CONNECTIONS, INPUTS)).astype(np.float32)
    x[CHECK_STEPS // 4 :] *= 0.1  # small inputs rarely saturate the state, so it remembers longest
    h = rng.uniform(-1, 1, (_CHECK_CONNECTIONS, policy.hidden)).astype(np.float32)

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    state, parts = h[None], []
    for part in (x[: CHECK_STEPS // 3], x[CHECK_STEPS // 3 :]):
        actions, state = session.run(["actions", "next_state"], {"observations": part, "state": state})
        parts.append(actions)

    expected_state, expected = h.astype(np.float64), []
    for inputs in x:
        expected_state, outputs = policy.step(expected_state, inputs.astype(np.float64))
        expected.append(outputs)
    worst = max(
        float(np.abs(np.concatenate(parts) - np.stack(expected)).max()), float(np.abs(state[0] - expected_state).max())
    )
    if not worst <= TOLERANCE:
        raise UserError(
            f"onnxruntime {onnxruntime.__version__} differs from the policy by {worst:.3g} within {CHECK_STEPS} steps "
            f"(at most {TOLERANCE}): the recurrence amplifies rounding errors, or the graph is wrong; nothing was "
            "exported"
        )
    return worst


def metadata(model: IntegerModel, provenance: Provenance, envelope: dict[str, Any]) -> dict[str, str]:
    """Return the metadata of an ONNX file: provenance, inputs and outputs with ranges, scales, envelope."""

    def fields(of: tuple[schema.Field, ...]) -> list[dict[str, Any]]:
        return [{"name": f.name, "unit": "1", "low": f.low, "high": f.high, "meaning": f.meaning} for f in of]

    return {
        "ndm.format": str(FORMAT),
        "ndm.schema": str(schema.SCHEMA_VERSION),
        "ndm.name": provenance.name,
        "ndm.sha256": provenance.sha256,
        "ndm.git_revision": provenance.git_revision,
        "ndm.decisions": str(provenance.decisions),
        "ndm.inputs": json.dumps(fields(schema.FEATURES)),
        "ndm.outputs": json.dumps(fields(schema.ACTIONS)),
        "ndm.fraction_bits": json.dumps(
            {
                "inputs": schema.FEATURE_FRAC,
                "outputs": schema.ACTION_FRAC,
                "state": schema.HIDDEN_FRAC,
                "row": list(model.row_frac),
                "out": list(model.out_frac),
            }
        ),
        "ndm.profile": provenance.profile,
        "ndm.envelope": json.dumps(envelope, sort_keys=True),
        "ndm.training": provenance.training,
    }
