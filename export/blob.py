"""The model as one binary file, policy.bin: what a running kernel can be handed without a rebuild.

Layout, little endian, no padding (H hidden units, I inputs, O outputs)::

    8   magic "NDMMODEL"
    4   size of the whole file in bytes, u32
    2   format, u16                        2   schema version, u16
    1   H, u8    1   I, u8    1   O, u8    1   zero
    8   decisions seen in training, u64
    64  name     64  profile    64  git revision     UTF-8, padded with zeros, at least one
    32  SHA-256 of the float policy
    H   row_frac, u8     O   out_frac, u8
    2 each, s16: w (H, I), u (H, H), b (H), v (O, H), c (O)
    32  SHA-256 of everything before
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np

from env import schema
from export.model import FORMAT, INPUTS, OUTPUTS, ExportError, Int16, IntegerModel, Provenance

MAGIC = b"NDMMODEL"
_TEXT_BYTES = 64
_HEAD = struct.Struct(f"<8sIHHBBBBQ{_TEXT_BYTES}s{_TEXT_BYTES}s{_TEXT_BYTES}s32s")
_DIGEST_BYTES = 32


def write_blob(model: IntegerModel, provenance: Provenance) -> bytes:
    """Return the file's content; ExportError when a text of the provenance is too long for it."""
    fracs = bytes(model.row_frac) + bytes(model.out_frac)
    weights = b"".join(getattr(model, name).astype("<i2").tobytes() for name in ("w", "u", "b", "v", "c"))
    head = _HEAD.pack(
        MAGIC,
        _HEAD.size + len(fracs) + len(weights) + _DIGEST_BYTES,
        FORMAT,
        schema.SCHEMA_VERSION,
        model.hidden,
        INPUTS,
        OUTPUTS,
        0,
        provenance.decisions,
        _text("name", provenance.name),
        _text("profile", provenance.profile),
        _text("git revision", provenance.git_revision),
        bytes.fromhex(provenance.sha256),
    )
    content = head + fracs + weights
    return content + hashlib.sha256(content).digest()


def read_blob(content: bytes, origin: str) -> tuple[IntegerModel, Provenance]:
    """Read what write_blob wrote; origin names the file in errors.

    Raises ExportError for another format, a wrong size, or one changed bit anywhere.
    """
    if len(content) < _HEAD.size + _DIGEST_BYTES or content[: len(MAGIC)] != MAGIC:
        raise ExportError(f"{origin} is no NDM model: it does not begin with {MAGIC.decode()} and a whole header")
    (_, size, format_, schema_, hidden, inputs, outputs, _, decisions, name, profile, revision, sha256) = _HEAD.unpack(
        content[: _HEAD.size]
    )
    if size != len(content):
        raise ExportError(f"{origin} is truncated or damaged: it says {size} bytes and has {len(content)}")
    if hashlib.sha256(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
        raise ExportError(f"{origin} is damaged: its SHA-256 does not match its content")
    if (format_, schema_) != (FORMAT, schema.SCHEMA_VERSION):
        raise ExportError(
            f"{origin} has format {format_} and schema {schema_}; this version reads {FORMAT} and "
            f"{schema.SCHEMA_VERSION}: export it again"
        )
    if (inputs, outputs) != (INPUTS, OUTPUTS) or not 1 <= hidden <= schema.HIDDEN_MAX:
        raise ExportError(
            f"{origin} has {inputs} inputs, {hidden} hidden units, {outputs} outputs; the kernel takes {INPUTS}, "
            f"1 to {schema.HIDDEN_MAX}, {OUTPUTS}"
        )
    shapes = ((hidden, INPUTS), (hidden, hidden), (hidden,), (OUTPUTS, hidden), (OUTPUTS,))
    counts = [int(np.prod(shape)) for shape in shapes]
    at = _HEAD.size + hidden + OUTPUTS
    if at + 2 * sum(counts) + _DIGEST_BYTES != size:
        raise ExportError(f"{origin} has {size} bytes, which does not fit {hidden} hidden units")
    fracs = content[_HEAD.size : at]
    numbers: Int16 = np.frombuffer(content, "<i2", sum(counts), at).astype(np.int16)
    parts = np.split(numbers, np.cumsum(counts)[:-1])
    w, u, b, v, c = (part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    model = IntegerModel(row_frac=tuple(fracs[:hidden]), out_frac=tuple(fracs[hidden:]), w=w, u=u, b=b, v=v, c=c)
    texts = [text.rstrip(b"\0").decode() for text in (name, profile, revision)]
    return model, Provenance(
        name=texts[0], profile=texts[1], sha256=sha256.hex(), git_revision=texts[2], decisions=decisions
    )


def _text(what: str, text: str) -> bytes:
    encoded = text.encode()
    if len(encoded) >= _TEXT_BYTES or b"\0" in encoded:
        raise ExportError(f"the {what} {text!r} does not fit the model file: at most {_TEXT_BYTES - 1} bytes, no NUL")
    return encoded
