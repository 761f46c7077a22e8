"""Turns a checkpoint into a verified integer model and its files. ``compare`` uses it for scheme ``ndm@runs/NAME``.

::

    exported = build_model(Path("runs/mixed"))            # raises UserError if it does not pass the gate
    write_header(exported.model, exported.provenance)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from env import schema
from env.checkout import RUNS
from env.errors import UserError, in_context
from env.files import write_atomically
from export import checkpoint, rule
from export.checks import agreement as verify
from export.formats import blob, golden
from export.formats.envelope import describe
from export.formats.header import render_header, write_header
from export.integer.model import FORMAT, IntegerModel, Provenance
from export.integer.quantize import FloatPolicy, quantize
from export.selection import EXPORTED, model_name
from export.zoo import ZOO, find_checkpoint, plain_name


@dataclass(frozen=True)
class Exported:
    """A policy, its integer model and their agreement."""

    source: Path  # the checkpoint or the rule
    policy: FloatPolicy
    model: IntegerModel
    provenance: Provenance
    envelope: dict[str, Any]  # the resolved profile that the policy was trained with
    agreement: list[verify.Agreement]

    def require_gate(self) -> None:
        """Raise UserError if float and int16 differ by more than the gate allows."""
        failures = [failure for row in self.agreement for failure in row.failures()]
        if failures:
            raise UserError(
                f"{self.source} is not exported: float and int16 disagree past the gate ({'; '.join(failures)}). "
                f"Such weights are too large or their recurrence is chaotic; train on, or with less weight on memory. "
                f"Nothing was written."
            )


def find_policy(name: str) -> Path:
    """Return the rule, checkpoint file, model of the zoo or run folder of a name; ``ndm@`` may stand before it.

    Raises UserError, which names similar ones.
    """
    if name.endswith(rule.SUFFIX):
        return rule.find_rule(plain_name(name))
    return find_checkpoint(name)


def latest_run() -> Path:
    """Return the run with the newest checkpoint. Raises UserError if there is no checkpoint."""
    known = checkpoint.all_runs(RUNS)
    if not known:
        raise UserError(
            f"{RUNS} holds no checkpoint yet; train one with `python train.py`, or name one with --checkpoint"
        )
    return known[0]


def build_model(path: Path) -> Exported:
    """Quantize and verify the policy of a run folder, a checkpoint file or a rule.

    Raises UserError for a checkpoint or rule that is missing, damaged or of another format, for a policy that does
    not fit the integer network, and for an integer model that fails the gate.
    """
    exported = measure(path)
    exported.require_gate()
    return exported


def measure(path: Path) -> Exported:
    """As build_model, but return a model that fails the gate too; its agreement has the errors."""
    if path.suffix == rule.SUFFIX:
        weights = rule.read_rule(path)
        sha256 = checkpoint.policy_sha256(weights)
        # the file alone decides the weights, so no revision is stated
        return quantized(path, weights, Provenance(path.stem, "none", sha256, git_revision="none", decisions=0), {})
    content = checkpoint.load(path)
    file = checkpoint.checkpoint_path(path)
    profile, envelope = _profile(content["config"])
    provenance = Provenance(
        name=file.resolve().parent.name,
        profile=profile,
        sha256=content["sha256"],
        git_revision=content["git_revision"],
        decisions=int(content["decisions"]),
        envelope=describe(envelope),
        training=json.dumps(facts) if (facts := _training_facts(content)) else "",
    )
    return quantized(file, content["policy"], provenance, envelope)


def write_artefacts(exported: Exported, output: Path, headers: Path = EXPORTED) -> list[Path]:
    """Write policy.onnx, policy_int16.onnx, policy.bin, golden.json, report.json and the headers; return the paths.

    All contents are built and checked before the first file is written. Each file is written atomically, the headers
    last. Raises UserError, also for a file that cannot be written.
    """
    # imported here, because loading two runtimes takes a second, and only this function needs them
    from export.formats.integer_onnx import build_integer_onnx
    from export.formats.onnx_model import build_onnx

    exported.require_gate()
    model, provenance = exported.model, exported.provenance
    text = render_header(model, provenance)  # refuses a model that could overflow
    contents = {
        "policy.onnx": build_onnx(exported.policy, model, provenance, exported.envelope),
        "policy_int16.onnx": build_integer_onnx(model, provenance, exported.envelope),
        "policy.bin": blob.write_blob(model, provenance),
        "golden.json": golden.render(golden.model_vectors(model)).encode(),
    }
    contents["report.json"] = _report(exported, contents, text).encode()
    output.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_atomically(output / name, content)
    return [*(output / name for name in contents), *write_header(model, provenance, headers)]


def default_output(source: Path, headers: Path) -> Path:
    """Return the folder for a policy's files: beside its checkpoint.

    Those of a rule and of a model of the zoo, whose folders are committed, go beside the exported headers.
    """
    if source.suffix == rule.SUFFIX:
        return headers / "rules" / source.stem
    folder = source.resolve().parent
    return headers / "zoo" / folder.name if folder.parent == ZOO else source.parent / "export"


def quantized(file: Path, state: Mapping[str, Any], provenance: Provenance, envelope: dict[str, Any]) -> Exported:
    """Quantize a state dict and measure its agreement. Raises UserError for weights that do not fit int16."""
    with in_context(f"{file} cannot be exported"):
        policy = FloatPolicy.from_state_dict(state)
        model = quantize(policy)
    return Exported(file, policy, model, provenance, envelope, verify.verify(policy, model))


def _training_facts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about the training in a checkpoint; empty for a checkpoint without a card."""
    card = content.get("card")
    if not card:
        return {}
    return {
        "commands": card["commands"],
        "seed": content["config"]["seed"],
        "status": card["status"],
        "resumed": len(card["commands"]) - 1,
        "decisions": content["decisions"],
        "wall_s": round(card["wall_s"], 1),
        "virtual_s": round(card["virtual_s"], 1),
        "lab": card["lab"],
    }


def _profile(config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return name and content of the profile in a resolved training configuration."""
    profile = config.get("profile")
    if isinstance(profile, Mapping):
        return str(profile.get("name", "unnamed")), dict(profile)
    return str(profile) if profile else "unnamed", {}


def _report(exported: Exported, contents: Mapping[str, bytes], header: str) -> str:
    model = exported.model
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return json.dumps(
        {
            "format": FORMAT,
            "schema": schema.SCHEMA_VERSION,
            "provenance": asdict(exported.provenance),
            "hidden": model.hidden,
            "row_frac": model.row_frac,
            "out_frac": model.out_frac,
            "agreement": [asdict(row) for row in exported.agreement],
            "gate": {
                "mean_error_pct": verify.MEAN_LIMIT_PCT,
                "max_error_pct": verify.MAX_LIMIT_PCT,
                "sign_agreement_pct": verify.SIGN_LIMIT_PCT,
            },
            "files_sha256": {
                **hashes,
                f"{model_name(exported.provenance.name)}.h": hashlib.sha256(header.encode()).hexdigest(),
            },
        },
        indent=2,
    )
