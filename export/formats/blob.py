"""The model as one binary file, policy.bin, which a running kernel can load without a rebuild.

kernel/ndm/ndm_blob.h specifies the layout and reads it in the kernel; this module reads and writes it in Python.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np

from env import schema
from env.errors import UserError
from export.checks.proof import prove
from export.integer.model import ENVELOPE_MAX, FORMAT, INPUTS, OUTPUTS, Int16, IntegerModel, Provenance, with_all_inputs

MAGIC = b"NDMMODEL"
LAYOUT = 2
_TEXT_BYTES = 64
_HEAD = struct.Struct(f"<8sIHHBBBBQ{_TEXT_BYTES}s{_TEXT_BYTES}s{_TEXT_BYTES}s32sH")
_DIGEST_BYTES = 32


def write_blob(model: IntegerModel, provenance: Provenance) -> bytes:
    """Return the file's content. Raises UserError for a text that does not fit, and a model that could overflow."""
    prove(model)
    check_texts(provenance)
    described = provenance.envelope.encode()
    fracs = bytes(model.row_frac) + bytes(model.out_frac)
    weights = b"".join(getattr(model, name).astype("<i2").tobytes() for name in ("w", "u", "b", "v", "c"))
    head = _HEAD.pack(
        MAGIC,
        _HEAD.size + len(fracs) + len(weights) + len(described) + _DIGEST_BYTES,
        FORMAT,
        schema.SCHEMA_VERSION,
        model.hidden,
        INPUTS,
        OUTPUTS,
        LAYOUT,
        provenance.decisions,
        provenance.name.encode(),
        provenance.profile.encode(),
        provenance.git_revision.encode(),
        bytes.fromhex(provenance.sha256),
        len(described),
    )
    content = head + fracs + weights + described
    return content + hashlib.sha256(content).digest()


def read_blob(content: bytes, origin: str) -> tuple[IntegerModel, Provenance]:
    """Read a file of write_blob(), which may have been made before the last inputs. origin: its name for errors.

    Raises UserError for another format, a wrong size, or one changed bit anywhere.
    """
    if len(content) < _HEAD.size + _DIGEST_BYTES or content[: len(MAGIC)] != MAGIC:
        raise UserError(f"{origin} is no NDM model: it does not begin with {MAGIC.decode()} and a whole header")
    (_, size, format_, schema_, hidden, inputs, outputs, layout, decisions, *rest) = _HEAD.unpack(content[: _HEAD.size])
    if size != len(content):
        raise UserError(f"{origin} is truncated or damaged: it says {size} bytes and has {len(content)}")
    if hashlib.sha256(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
        raise UserError(f"{origin} is damaged: its SHA-256 does not match its content")
    name, profile, revision, sha256, described = rest
    if (layout, format_, schema_) != (LAYOUT, FORMAT, schema.SCHEMA_VERSION):
        raise UserError(
            f"{origin} has layout {layout}, format {format_} and schema {schema_}; this version reads {LAYOUT}, "
            f"{FORMAT} and {schema.SCHEMA_VERSION}: export it again"
        )
    if outputs != OUTPUTS or not 1 <= hidden <= schema.HIDDEN_MAX:
        raise UserError(
            f"{origin} has {hidden} hidden units and {outputs} outputs; the kernel takes 1 to {schema.HIDDEN_MAX} and "
            f"{OUTPUTS}"
        )
    shapes = ((hidden, inputs), (hidden, hidden), (hidden,), (OUTPUTS, hidden), (OUTPUTS,))
    counts = [int(np.prod(shape)) for shape in shapes]
    at = _HEAD.size + hidden + OUTPUTS
    if described > ENVELOPE_MAX or at + 2 * sum(counts) + described + _DIGEST_BYTES != size:
        raise UserError(f"{origin} has {size} bytes, which does not fit {hidden} hidden units")
    fracs = content[_HEAD.size : at]
    numbers: Int16 = np.frombuffer(content, "<i2", sum(counts), at).astype(np.int16)
    parts = np.split(numbers, np.cumsum(counts)[:-1])
    w, u, b, v, c = (part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    w = with_all_inputs(w, origin)
    model = IntegerModel(row_frac=tuple(fracs[:hidden]), out_frac=tuple(fracs[hidden:]), w=w, u=u, b=b, v=v, c=c)
    envelope = content[at + 2 * sum(counts) : -_DIGEST_BYTES]
    texts = [text.rstrip(b"\0") for text in (name, profile, revision)]
    if not all(0 < len(text) < _TEXT_BYTES and _printable(text) for text in texts) or not _printable(envelope):
        raise UserError(f"{origin} is damaged: a text is empty, not terminated or not printable")
    return model, Provenance(
        name=texts[0].decode(),
        profile=texts[1].decode(),
        sha256=sha256.hex(),
        git_revision=texts[2].decode(),
        decisions=decisions,
        envelope=envelope.decode(),
    )


def check_texts(provenance: Provenance) -> None:
    """Raise UserError for a text that is too long for the kernel or not printable ASCII."""
    texts = {"name": provenance.name, "profile": provenance.profile, "git revision": provenance.git_revision}
    for what, text in texts.items():
        if not 1 <= len(text.encode()) < _TEXT_BYTES or not _printable(text.encode()):
            raise UserError(
                f"the {what} {text!r} does not fit the kernel: it takes 1 to {_TEXT_BYTES - 1} letters of ASCII"
            )
    described = provenance.envelope.encode()
    if len(described) > ENVELOPE_MAX or not _printable(described):
        raise UserError(
            f"the envelope {provenance.envelope!r} does not fit the kernel: it takes at most {ENVELOPE_MAX} letters of "
            "ASCII"
        )


def _printable(text: bytes) -> bool:
    return all(0x20 <= letter <= 0x7E for letter in text)
