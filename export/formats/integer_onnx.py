"""The integer network as ONNX: plain operators on int64 that compute ndm_core_step() of ndm_core.h to the bit.

It serves runtimes that cannot call C, and checks the arithmetic as a third implementation beside C and
export/integer/reference.py. One decision of N independent connections (H hidden units, I inputs, O outputs)::

    observations (N, I) int16 Q12, state (N, H) int16 Q15  ->  actions (N, O) int16 Q14, next_state (N, H) int16 Q15

Operators: Cast, MatMul, Add, Sub, Mul, Div, Mod, Abs, Neg, Less, Where, Gather. ONNX divides integers towards zero and
shifts only unsigned ones, so an arithmetic shift is (a - a mod 2^s) / 2^s: Mod has the sign of the divisor, and the
difference is divisible. Clip, Min, Max and Sign are avoided: onnxruntime computes them wrongly for int64 on x86-64 from
2^31 to 2^32 (its pull request 32475), and accumulators reach this range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from env import schema
from env.errors import UserError
from export.formats import golden
from export.formats.onnx_model import IR_VERSION, OPSET, metadata
from export.integer import tables
from export.integer.model import INPUTS, OUTPUTS, Int16, IntegerModel, Provenance


class _Graph:
    """The nodes and constants of the graph. Each method returns the name of its value."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: NDArray[np.integer[Any]] | int) -> str:
        self.constants[name] = numpy_helper.from_array(np.asarray(value, np.int64), name)
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: int) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def affine(self, terms: list[tuple[str, str, NDArray[np.int64]]], bias: NDArray[np.int64], of: str) -> str:
        """Return the accumulator: the sum of value @ weights over (value, name, weights), plus the bias."""
        total = self.constant(f"{of}_bias", bias)
        for value, name, weights in terms:
            product = self.node("MatMul", [value, self.constant(name, weights)], f"{name}_product")
            total = self.node("Add", [total, product], f"{name}_sum")
        return total

    def round_shift(self, value: str, bits: NDArray[np.int64], of: str) -> str:
        """Divide by 2**bits, halves up, as _shift_round of export/integer/reference.py."""
        divisor = self.constant(f"{of}_divisor", np.int64(1) << bits)
        half = self.constant(f"{of}_half", (np.int64(1) << bits) >> np.int64(1))
        raised = self.node("Add", [value, half], f"{of}_raised")
        rest = self.node("Mod", [raised, divisor], f"{of}_rest", fmod=0)
        whole = self.node("Sub", [raised, rest], f"{of}_whole")
        return self.node("Div", [whole, divisor], f"{of}_shifted")

    def clip(self, value: str, limit: int, of: str) -> str:
        low, high = self.constant(f"{of}_low", -limit), self.constant(f"{of}_high", limit)
        above = self.node("Where", [self.node("Less", [value, low], f"{of}_too_low"), low, value], f"{of}_above")
        return self.node("Where", [self.node("Less", [high, above], f"{of}_too_high"), high, above], f"{of}_clipped")

    def tanh(self, value: str) -> str:
        """Return ndm_tanh() of the value: linear interpolation in the table at the magnitude, with the sign."""
        shift = 15 - tables.TANH_STEPS_LOG2
        step, one = self.constant("tanh_step", 1 << shift), self.constant("one", 1)
        # the additional entry is read, but multiplied by zero
        table = self.constant("tanh_table", np.array([*tables.TANH, tables.TANH[-1]]))
        magnitude = self.node("Abs", [value], "magnitude")
        i = self.node("Div", [magnitude, step], "tanh_index")
        fraction = self.node("Mod", [magnitude, step], "tanh_fraction", fmod=0)
        left = self.node("Gather", [table, i], "tanh_left")
        right = self.node("Gather", [table, self.node("Add", [i, one], "tanh_next_index")], "tanh_right")
        rise = self.node("Mul", [self.node("Sub", [right, left], "tanh_rise"), fraction], "tanh_product")
        y = self.node("Add", [left, self.round_shift(rise, np.array(shift), "tanh_rise")], "tanh_magnitude")
        negative = self.node("Less", [value, self.constant("zero", 0)], "negative")
        return self.node("Where", [negative, self.node("Neg", [y], "tanh_negated"), y], "following")


def build_integer_onnx(model: IntegerModel, provenance: Provenance, envelope: dict[str, Any]) -> bytes:
    """Return the ONNX file.

    envelope: the resolved profile of the training, as plain data; stored as JSON.
    Raises UserError if onnxruntime does not reproduce the golden vectors of the model exactly.
    """
    graph = _Graph()
    x = graph.node("Cast", ["observations"], "x", to=TensorProto.INT64)
    h = graph.node("Cast", ["state"], "h", to=TensorProto.INT64)
    w, u, v = (getattr(model, name).T.astype(np.int64) for name in ("w", "u", "v"))  # (I, H), (H, H), (H, O)
    b, c = (getattr(model, name).astype(np.int64) << schema.HIDDEN_FRAC for name in ("b", "c"))  # (H), (O)

    # W x has 12 fraction bits and U h has 15, so w is scaled up, to at most 2^18
    scaled = w << np.int64(schema.HIDDEN_FRAC - schema.FEATURE_FRAC)
    acc = graph.affine([(x, "w", scaled), (h, "u", u)], b, "hidden")
    pre = graph.round_shift(acc, np.array(model.row_frac, np.int64), "hidden")
    following = graph.tanh(graph.clip(pre, tables.TANH_LIMIT << schema.HIDDEN_FRAC, "hidden"))

    acc = graph.affine([(following, "v", v)], c, "out")
    out_bits = np.array(model.out_frac, np.int64) + (schema.HIDDEN_FRAC - schema.ACTION_FRAC)
    out = graph.clip(graph.round_shift(acc, out_bits, "out"), 1 << schema.ACTION_FRAC, "out")
    graph.node("Cast", [out], "actions", to=TensorProto.INT16)
    graph.node("Cast", [following], "next_state", to=TensorProto.INT16)

    def value(name: str, columns: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.INT16, ["N", columns])

    onnx_model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "ndm_int16",
            [value("observations", INPUTS), value("state", model.hidden)],
            [value("actions", OUTPUTS), value("next_state", model.hidden)],
            list(graph.constants.values()),
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="ndm-tcp",
    )
    helper.set_model_props(onnx_model, metadata(model, provenance, envelope))
    onnx.checker.check_model(onnx_model, full_check=True)
    content: bytes = onnx_model.SerializeToString()
    session = IntegerSession(content)
    wrong = golden.mismatches(golden.model_vectors(model), lambda _, x, h: session.rollout(x, h))
    if wrong:
        raise UserError(
            f"onnxruntime {onnxruntime.__version__} does not compute the integer network to the bit, so nothing was "
            f"exported: {wrong[0]}"
        )
    return content


class IntegerSession:
    """An onnxruntime session of a file of build_integer_onnx()."""

    def __init__(self, content: bytes) -> None:
        self._session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        self._hidden = int(self._session.get_inputs()[1].shape[1])

    def step(self, h: Int16, x: Int16) -> tuple[Int16, Int16]:
        """One decision of N connections: h (N, H) Q15, x (N, I) Q12 -> next h (N, H) Q15, outputs (N, O) Q14."""
        actions, following = self._session.run(["actions", "next_state"], {"observations": x, "state": h})
        return following, actions

    def rollout(self, x: Int16, h: Int16 | None = None) -> tuple[Int16, Int16]:
        """T decisions of one connection: x (T, I) -> outputs (T, O) and the last state (H); h (H) starts at zero."""
        state = (np.zeros(self._hidden, np.int16) if h is None else h)[None, :]  # (1, H)
        outputs = np.empty((len(x), OUTPUTS), np.int16)
        for t, inputs in enumerate(x):
            state, outputs[t : t + 1] = self.step(state, inputs[None, :])
        return outputs, state[0]
