"""Checkpoints, which are single files that are written atomically, and the hash that identifies a policy.

docs/reference/file-formats.md specifies the content; `load` checks it before anything uses it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from env import schema
from env.checkout import git_revision
from env.errors import UserError
from env.files import leaves, read_at_most, write_atomically

FORMAT = 4
OLD_FORMATS_READ_BY = "7e8d117"  # the commit that reads formats 1 to 3
FILE_NAME = "checkpoint.pt"
MILESTONES = "milestones"  # folder of a run, with a folder DECISIONS/ for each policy that is kept
KEYS = {
    "format",
    "schema",  # SCHEMA_VERSION
    "policy",  # state dict of the policy
    "learner",  # further state of the learner: training/KIND.py
    "sampler",  # state of the sampler
    "decisions",
    "card",
    "config",
    "git_revision",
    "versions",
    "sha256",  # of the policy
}
KINDS = {"policy": dict, "sampler": dict, "decisions": int, "card": dict, "config": dict}
MOST_BYTES = 1 << 30  # of a file
DIGEST_BYTES = 64
PLAIN = {bool, int, float, str, bytes, type(None)}  # types of values, besides tensors
INPUT_WEIGHT = "rnn.weight_ih_l0"  # [H, D]
POLICY_TENSORS = (  # the fixed order of the hash
    INPUT_WEIGHT,
    "rnn.weight_hh_l0",
    "rnn.bias_ih_l0",
    "rnn.bias_hh_l0",
    "readout.weight",
    "readout.bias",
)


def policy_sha256(policy: Mapping[str, Tensor]) -> str:
    """Return the SHA-256, 64 hexadecimal digits, that identifies these policy weights.

    For each tensor in the order of `POLICY_TENSORS`: the line ``"<name> <dim>x<dim>\\n"`` in ASCII, then the values
    as little-endian float32, the last dimension fastest.

    Raises UserError when a tensor is missing or unknown.
    """
    if set(policy) != set(POLICY_TENSORS):
        raise UserError(f"the policy has the tensors {sorted(policy)}; it must have {sorted(POLICY_TENSORS)}")
    digest = hashlib.sha256()
    for name in POLICY_TENSORS:
        array = np.ascontiguousarray(policy[name].detach().cpu().numpy(), dtype="<f4")
        digest.update(f"{name} {'x'.join(map(str, array.shape))}\n".encode("ascii"))
        digest.update(array.tobytes())
    return digest.hexdigest()


def checkpoint_path(run: Path) -> Path:
    """Return the checkpoint of a run; ``run`` is a run folder, or the file itself."""
    return run if run.is_file() else run / FILE_NAME


def save(run: Path, content: Mapping[str, Any]) -> Path:
    """Write ``run/checkpoint.pt`` and return its path.

    ``content`` has the `KEYS` except ``format``, ``schema``, ``git_revision``, ``versions`` and ``sha256``, which are
    added here.

    Raises UserError when the file cannot be written; the previous checkpoint then stays.
    """
    whole = {
        "format": FORMAT,
        "schema": schema.SCHEMA_VERSION,
        **content,
        "git_revision": git_revision(),
        "versions": {"python": sys.version.split()[0], "torch": str(torch.__version__), "numpy": np.__version__},
        "sha256": policy_sha256(content["policy"]),
    }
    if set(whole) != KEYS:
        raise ValueError(f"a checkpoint has the keys {sorted(KEYS)}, not {sorted(whole)}")
    buffer = io.BytesIO()  # if torch wrote to the file, the error for a full disk would be unclear
    torch.save(whole, buffer)
    path = run / FILE_NAME
    write_atomically(path, with_digest(buffer.getvalue()))
    return path


def with_digest(archive: bytes) -> bytes:
    """Return a zip file without a comment with one: the SHA-256 of all bytes before the comment, in hexadecimal."""
    content = archive[:-2] + DIGEST_BYTES.to_bytes(2, "little")  # the comment's length ends the file
    return content + hashlib.sha256(content).hexdigest().encode()


def load(run: Path) -> dict[str, Any]:
    """Read and check the checkpoint of a run folder, or the file itself; `KEYS` are its content.

    The policy has weight 0 for the inputs that were appended to the schema after the training; `has_all_inputs` tells.

    Raises UserError when it is missing, corrupt or truncated, of another format, or its inputs are not today's.
    """
    path = checkpoint_path(run)
    if not run.exists():
        raise UserError(f"there is no run {run}; {_runs_beside(run)}")
    if not path.exists() and run.name == MILESTONES:
        raise UserError(
            f"{run} has milestones, which have no learner: resume {run.parent}, or name one of them elsewhere"
        )
    if not path.exists():
        within = sorted(str(file.parent) for file in run.glob(f"*/{FILE_NAME}"))
        reason = f"name one of its runs: {', '.join(within)}" if within else "the run ended before its first checkpoint"
        raise UserError(f"{run} has no {FILE_NAME}: {reason}")
    try:
        data = read_at_most(path, MOST_BYTES)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    try:
        _check_archive(data)
        content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds of errors for a damaged file
        raise UserError(f"{path} is corrupt, truncated or no checkpoint ({type(error).__name__})") from error
    for value in leaves(content, len(data), str(path)):  # a value takes a byte at least
        if not (_is_whole(value) if type(value) is Tensor else type(value) in PLAIN):
            raise UserError(f"{path} is no checkpoint: it has a {type(value).__name__} without its content")
    version: Any = content.get("format") if isinstance(content, dict) else type(content).__name__
    if version in range(1, FORMAT):
        raise UserError(
            f"{path} has checkpoint format {version}, and this version reads format {FORMAT}: train again, or export "
            f"it with commit {OLD_FORMATS_READ_BY}, which reads the formats 1 to {FORMAT - 1}"
        )
    if version != FORMAT:
        raise UserError(f"{path} has checkpoint format {version!r}; this version reads format {FORMAT}")
    content.setdefault("schema", 2)  # that of all files without the key
    missing = sorted(KEYS - set(content))
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}: it is damaged")
    for key, kind in KINDS.items():
        if not isinstance(content[key], kind):
            raise UserError(f"{path} is damaged: its {key} is of the type {type(content[key]).__name__}")
    if content["decisions"] < 0:
        raise UserError(f"{path} is damaged: it has made {content['decisions']} decisions")
    if policy_sha256(content["policy"]) != content["sha256"]:
        raise UserError(f"{path} is damaged: its weights do not have the SHA-256 it states")
    if content["schema"] != schema.SCHEMA_VERSION:
        raise UserError(
            f"{path} was trained with schema {content['schema']}, and this version has schema {schema.SCHEMA_VERSION}, "
            f"with other inputs or outputs: train again, or use commit {content['git_revision']}"
        )
    weight = content["policy"][INPUT_WEIGHT]
    if not schema.INPUTS_MIN <= weight.shape[-1] <= len(schema.FEATURES):
        raise UserError(
            f"{path} was trained with {weight.shape[-1]} inputs; this version has {len(schema.FEATURES)} inputs and "
            f"requires the first {schema.INPUTS_MIN}: train again, or use commit {content['git_revision']}"
        )
    content["policy"][INPUT_WEIGHT] = functional.pad(weight, (0, len(schema.FEATURES) - weight.shape[-1]))
    checked: dict[str, Any] = content
    return checked


@contextlib.contextmanager
def reading(run: Path) -> Iterator[None]:
    """Raise UserError where a loaded checkpoint lacks what a training stores in it, or has another type there."""
    try:
        yield
    except (LookupError, TypeError, AttributeError) as error:
        raise UserError(f"{run} has no checkpoint that a training has written: {error!r}") from error


def _check_archive(data: bytes) -> None:
    """Raise BadZipFile for damage, which torch does not look for, and for what takes more memory than the file has."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        is_larger = sum(entry.file_size for entry in archive.infolist()) > len(data)
        is_changed = archive.comment and with_digest(data[: -len(archive.comment)]) != data
        # files of versions before have no digest, but checksums of most of their bytes
        if is_larger or is_changed or archive.testzip():
            raise zipfile.BadZipFile


def _is_whole(tensor: Tensor) -> bool:
    """Return whether a tensor is as large as it says."""
    plain = tensor.layout is torch.strided and tensor.device.type == "cpu"
    return plain and tensor.untyped_storage().nbytes() >= tensor.nbytes


def has_all_inputs(content: Mapping[str, Any]) -> bool:
    """Return whether a loaded checkpoint was trained with all inputs of today's schema."""
    return bool(policy_sha256(content["policy"]) == content["sha256"])


def all_runs(runs: Path) -> list[Path]:
    """Return all runs with a checkpoint, including those in populations, the newest first. A milestone is no run."""
    files = [file for file in runs.rglob(FILE_NAME) if file.parent.parent.name != MILESTONES]
    return [file.parent for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)]


def _runs_beside(run: Path) -> str:
    runs = sorted(str(path.relative_to(run.parent)) for path in all_runs(run.parent))
    return f"the runs in {run.parent} are: {', '.join(runs)}" if runs else f"{run.parent} has no runs"
