"""The model file: the kernel's parser and Python's accept and refuse the same bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import schema
from env.errors import UserError
from export.formats.blob import read_blob, write_blob
from export.integer.model import ENVELOPE_MAX, FORMAT, INPUTS, IntegerModel, Provenance
from tests.support.kernel.native import Native, model_bytes
from tests.support.models import random_model, with_sha256

HEAD = 254  # bytes before the scales
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def native() -> Native:
    return Native()


def random_file(rng: np.random.Generator) -> tuple[IntegerModel, Provenance]:
    """Return what a model file holds: any model, and any facts about its origin."""
    model = random_model(rng, int(rng.integers(1, schema.HIDDEN_MAX + 1)))
    envelope = "x" * int(rng.choice([0, 1, 320, ENVELOPE_MAX]))
    digest, decisions = rng.bytes(32).hex(), int(rng.integers(2**63))
    return model, Provenance("mine", "mine 10 ms", digest, "0123abc+", decisions, envelope)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_what_python_writes_the_kernel_reads(native: Native, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, provenance = random_file(rng)
    content = write_blob(model, provenance)
    for parsed, facts in (native.parse_blob(content), read_blob(content, "policy.bin")):
        assert model_bytes(parsed) == model_bytes(model)
        assert facts == provenance


def refuses(parse: Callable[[bytes], object], content: bytes) -> bool:
    try:
        parse(content)
    except UserError:
        return True
    return False


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_both_refuse_the_same_files(native: Native, seed: int) -> None:
    """Bytes are changed, cut or added anywhere, under a SHA-256 that fits: the parsers must judge the content."""
    rng = np.random.default_rng(seed)
    content = bytearray(write_blob(*random_file(rng)))
    for _ in range(int(rng.integers(1, 4))):
        kind, at = rng.integers(4), int(rng.integers(HEAD + 8 if rng.random() < 0.7 else len(content)))
        if kind == 0:
            del content[at : at + int(rng.integers(1, 40))]
        elif kind == 1:
            content[at:at] = rng.bytes(int(rng.integers(1, 40)))
        else:
            content[min(at, len(content) - 1)] = int(rng.integers(256))
    if rng.random() < 0.5 and len(content) > 12:
        struct.pack_into("<I", content, 8, len(content))
    file = with_sha256(content) if len(content) > 32 else bytes(content)
    assert refuses(native.parse_blob, file) == refuses(lambda data: read_blob(data, "policy.bin"), file)


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (0, b"X", "begin with NDMMODEL"),
        (8, b"\0\0\0\0", "size is not the one"),
        (12, struct.pack("<H", FORMAT + 1), "format has another version"),
        (14, struct.pack("<H", schema.SCHEMA_VERSION + 1), "inputs and outputs have another version"),
        (16, b"\0", "hidden units"),
        (16, bytes([schema.HIDDEN_MAX + 1]), "hidden units"),
        (16, b"\x05", "does not fit its dimensions"),
        (17, bytes([INPUTS + 1]), "another number of inputs"),
        (17, bytes([schema.INPUTS_MIN - 1]), "another number of inputs"),
        (19, b"\1", "layout has another version"),
        (28, b"\0", "a text is empty"),
        (28, b"\x1b[2J", "not printable"),
        (28, b"n" * 64, "not terminated"),
        (252, struct.pack("<H", ENVELOPE_MAX + 1), "envelope is too long"),
        (HEAD, b"\x17", "could overflow"),
        (HEAD + 8 + 1, b"\xff", "could overflow"),
        (-34, b"\n", "envelope is not printable"),
    ],
)
def test_every_reason_to_refuse(native: Native, at: int, value: bytes, reason: str) -> None:
    rng = np.random.default_rng(1)
    provenance = Provenance("mine", "mine", "0" * 64, "0123abc", 7, "rtt 10..20")
    content = bytearray(write_blob(random_model(rng, 8), provenance))
    at %= len(content)
    content[at : at + len(value)] = value
    with pytest.raises(UserError, match=reason):
        native.parse_blob(bytes(content))
    with pytest.raises(UserError):
        read_blob(with_sha256(content), "policy.bin")


def test_no_shorter_file_is_taken(native: Native) -> None:
    content = write_blob(*random_file(np.random.default_rng(2)))
    for length in range(len(content)):
        with pytest.raises(UserError):
            native.parse_blob(content[:length])


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", ""), ("name", "x" * 64), ("profile", "né"), ("envelope", "a\nb"), ("envelope", "x" * 1025)],
)
def test_texts_that_do_not_fit_are_not_written(field: str, value: str) -> None:
    model = random_model(np.random.default_rng(1), 2)
    known = {"name": "a", "profile": "b", "sha256": "0" * 64, "git_revision": "c", "decisions": 1, "envelope": "d"}
    with pytest.raises(UserError, match="does not fit the kernel"):
        write_blob(model, Provenance(**(known | {field: value})))
