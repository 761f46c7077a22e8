"""The C core in user space: libndm.so, which the Makefile builds from kernel/ndm/ and library/."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from env import schema
from env.checkout import MODEL_BUILD
from env.errors import UserError
from export.integer.model import ENVELOPE_MAX, FORMAT, INPUTS, OUTPUTS, Int16, IntegerModel, Provenance

LIBRARY = MODEL_BUILD / "libndm.so"


class _Model(ctypes.Structure):
    """struct ndm_model of kernel/ndm/ndm_core.h."""

    _fields_ = (
        ("hidden", ctypes.c_uint8),
        ("row_frac", ctypes.c_uint8 * schema.HIDDEN_MAX),
        ("out_frac", ctypes.c_uint8 * OUTPUTS),
        ("w", ctypes.c_int16 * INPUTS * schema.HIDDEN_MAX),
        ("u", ctypes.c_int16 * schema.HIDDEN_MAX * schema.HIDDEN_MAX),
        ("b", ctypes.c_int16 * schema.HIDDEN_MAX),
        ("v", ctypes.c_int16 * schema.HIDDEN_MAX * OUTPUTS),
        ("c", ctypes.c_int16 * OUTPUTS),
    )


class _Facts(ctypes.Structure):
    """struct ndm_blob_facts of kernel/ndm/ndm_blob.h."""

    _fields_ = (
        ("decisions", ctypes.c_uint64),
        ("name", ctypes.c_char * 64),
        ("profile", ctypes.c_char * 64),
        ("revision", ctypes.c_char * 64),
        ("sha256", ctypes.c_uint8 * 32),
        ("envelope", ctypes.c_char * (ENVELOPE_MAX + 1)),
    )


class Native:
    """The functions of the library, on NumPy arrays."""

    def __init__(self, path: Path = LIBRARY) -> None:
        self._library = ctypes.CDLL(str(path))
        assert self._library.ndm_user_model_format() == FORMAT
        assert self._library.ndm_user_model_size() == ctypes.sizeof(_Model)
        self._library.ndm_user_shipped_model.restype = ctypes.POINTER(_Model)
        self._library.ndm_user_shipped_sha256.restype = ctypes.POINTER(ctypes.c_uint8 * 32)

    def rollout(self, model: IntegerModel, x: Int16, h: Int16 | None = None) -> tuple[Int16, Int16]:
        """T decisions of one connection: x (T, I) -> outputs (T, O) and the last state (H); h (H) starts at zero."""
        state = np.zeros(schema.HIDDEN_MAX, np.int16)
        if h is not None:
            state[: model.hidden] = h
        inputs = np.ascontiguousarray(x, dtype=np.int16)
        if inputs.ndim != 2 or inputs.shape[1] != INPUTS:
            raise ValueError(f"x must be (T, {INPUTS}), not {inputs.shape}")
        outputs = np.empty((len(inputs), OUTPUTS), np.int16)
        packed = _pack(model)
        self._library.ndm_user_rollout(
            ctypes.byref(packed), _pointer(state), _pointer(inputs), _pointer(outputs), ctypes.c_uint(len(inputs))
        )
        return outputs, state[: model.hidden]

    def shipped(self) -> tuple[IntegerModel, str]:
        """Return the default model that the library was built with, and its SHA-256."""
        model = _unpack(self._library.ndm_user_shipped_model().contents)
        return model, bytes(self._library.ndm_user_shipped_sha256().contents).hex()

    def parse_blob(self, content: bytes) -> tuple[IntegerModel, Provenance]:
        """Return the model of a file, parsed by the kernel's code; the SHA-256 at the end of the file is not checked.

        Raises UserError with the kernel's reason.
        """
        raw, facts = _Model(), _Facts()
        assert self._library.ndm_user_blob_facts_size() == ctypes.sizeof(_Facts)
        parse = self._library.ndm_user_blob_parse
        parse.restype = ctypes.c_char_p
        problem = parse(content, ctypes.c_size_t(len(content)), ctypes.byref(raw), ctypes.byref(facts))
        if problem is not None:
            raise UserError(problem.decode())
        texts = [text.decode() for text in (facts.name, facts.profile, facts.revision, facts.envelope)]
        provenance = Provenance(texts[0], texts[1], bytes(facts.sha256).hex(), texts[2], facts.decisions, texts[3])
        return _unpack(raw), provenance

    def tanh(self, x: NDArray[np.int32]) -> Int16:
        """ndm_tanh of each x."""
        y = np.empty(x.shape, np.int16)
        self._library.ndm_user_tanh(_pointer(x), _pointer(y), ctypes.c_uint(x.size))
        return y

    def exp2(self, x: Int16) -> NDArray[np.uint32]:
        """ndm_exp2 of each x."""
        y = np.empty(x.shape, np.uint32)
        self._library.ndm_user_exp2(_pointer(x), _pointer(y), ctypes.c_uint(x.size))
        return y

    def next_cwnd(
        self, cwnd_fp: NDArray[Any], queue_us: NDArray[Any], explained_us: NDArray[Any], growth: NDArray[Any]
    ) -> NDArray[np.uint64]:
        """ndm_next_cwnd of each window, queue, RTT without it and action; arrays of integers of the same shape."""
        y = np.empty(cwnd_fp.shape, np.uint64)
        arguments = [np.ascontiguousarray(each, np.uint32) for each in (cwnd_fp, queue_us, explained_us)]
        arguments.append(np.ascontiguousarray(growth, np.int16))
        assert all(each.shape == y.shape for each in arguments)
        self._library.ndm_user_next_cwnd(*map(_pointer, arguments), _pointer(y), ctypes.c_uint(y.size))
        return y

    def quarter_octave(self, a: NDArray[np.uint32], b: NDArray[np.uint32]) -> NDArray[np.int32]:
        """ndm_quarter_octave of each pair; a and b have the same shape."""
        y = np.empty(a.shape, np.int32)
        self._library.ndm_user_quarter_octave(_pointer(a), _pointer(b), _pointer(y), ctypes.c_uint(a.size))
        return y


def model_bytes(model: IntegerModel) -> bytes:
    """Return struct ndm_model of kernel/ndm/ndm_core.h as it lies in the memory of a little-endian machine."""
    return bytes(_pack(model))


def _unpack(raw: _Model) -> IntegerModel:
    hidden = int(raw.hidden)
    return IntegerModel(
        row_frac=tuple(raw.row_frac[:hidden]),
        out_frac=tuple(raw.out_frac),
        w=np.array(raw.w, np.int16)[:hidden],
        u=np.array(raw.u, np.int16)[:hidden, :hidden],
        b=np.array(raw.b, np.int16)[:hidden],
        v=np.array(raw.v, np.int16)[:, :hidden],
        c=np.array(raw.c, np.int16),
    )


def _pack(model: IntegerModel) -> _Model:
    packed = _Model(hidden=model.hidden)
    packed.row_frac[: model.hidden] = model.row_frac
    packed.out_frac[:] = model.out_frac
    for name, array in (("w", model.w), ("u", model.u), ("v", model.v)):
        rows = getattr(packed, name)
        for r, row in enumerate(array.tolist()):
            rows[r][: len(row)] = row
    packed.b[: model.hidden] = model.b.tolist()
    packed.c[:] = model.c.tolist()
    return packed


def _pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    if not array.flags.c_contiguous:
        raise ValueError("the C core reads contiguous arrays")
    return ctypes.c_void_p(array.ctypes.data)
