"""The model file of a policy in training, which a running kernel loads for rollouts and evaluations."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from export.checkpoint import policy_sha256
from export.formats.blob import write_blob
from export.integer.model import Provenance
from export.integer.quantize import FloatPolicy, quantize


def model_file(policy: Mapping[str, Tensor], name: str, profile: str) -> tuple[bytes, str]:
    """Return the content of a policy's model file (policy.bin of `make export-weights`) and the SHA-256 of its weights.

    Raises UserError for weights that do not fit the integer network.
    """
    sha256 = policy_sha256(policy)
    provenance = Provenance(name, profile, sha256, git_revision="none", decisions=0)
    return write_blob(quantize(FloatPolicy.from_state_dict(policy)), provenance), sha256
