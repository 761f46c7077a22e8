"""The policy with which a training begins, as an exported model: the baseline that training has to beat."""

from __future__ import annotations

from pathlib import Path

from export.checkpoint import policy_sha256
from export.integer.model import Provenance
from export.pipeline import Exported, quantized
from training.policy import initial_policy

UNTRAINED_UNITS = 16  # recurrent units of the default training (configs/train.yaml)


def build_untrained(seed: int) -> Exported:
    """Quantize and verify the policy with which a training of this seed begins.

    Raises UserError when float and int16 differ by more than the gate allows.
    """
    policy = initial_policy(UNTRAINED_UNITS, seed).state_dict()
    name = f"untrained-{seed}"
    # only the seed decides the weights, so no revision is stated
    provenance = Provenance(name, "none", policy_sha256(policy), git_revision="none", decisions=0)
    exported = quantized(Path(name), policy, provenance, {})
    exported.require_gate()
    return exported
