"""What a model's header is, as JSON beside it: models/NAME.json. ``make generate`` writes those of the shipped models.

Python reads this file in place of the header (export/selection.py). policy_sha256 is that of the float policy, as in
its checkpoint; the others are of the whole files.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from pathlib import Path

from env import schema
from env.checkout import KERNEL
from env.errors import UserError
from env.files import generate, sha256
from export.formats.blob import read_blob
from export.integer.model import FORMAT, IntegerModel, Provenance
from export.selection import EXPORTED, kernel_file, manifest_of, selected
from export.zoo import ZOO

REGENERATE = "python -m export.formats.manifest"


def render_manifest(model: IntegerModel, provenance: Provenance, header: bytes, model_file: bytes) -> str:
    """Return the text of the manifest. header, model_file: what was written of this model."""
    content = {
        "name": provenance.name,
        "policy_sha256": provenance.sha256,
        "header_sha256": hashlib.sha256(header).hexdigest(),
        "model_file_sha256": hashlib.sha256(model_file).hexdigest(),
        "format": FORMAT,
        "schema": schema.SCHEMA_VERSION,
        "hidden": model.hidden,
        "profile": provenance.profile,
        "decisions": provenance.decisions,
        "git_revision": provenance.git_revision,
        "envelope": provenance.envelope,
    }
    return json.dumps(content, indent=2) + "\n"


def compiled_in(exported: Path = EXPORTED) -> tuple[IntegerModel, Provenance]:
    """Return the model in the module. Raises UserError if its header, model file and manifest do not fit together."""
    name = selected(exported)
    header, manifest = kernel_file(f"models/{name}.h", exported), manifest_of(name, exported)
    file = ZOO / name / "policy.bin" if header.is_relative_to(KERNEL) else header.with_suffix(".bin")
    for path, key in ((header, "header_sha256"), (file, "model_file_sha256")):
        if not path.is_file() or sha256(path) != manifest[key]:
            raise UserError(f"{path} is not that of {header.with_suffix('.json')}: run `make export-weights`")
    return read_blob(file.read_bytes(), str(file))


def _of_shipped(header: Path) -> str:
    """Return the manifest of a model in kernel/models, whose model file the zoo has."""
    file = ZOO / header.stem / "policy.bin"
    content = file.read_bytes()
    return render_manifest(*read_blob(content, str(file)), header.read_bytes(), content)


if __name__ == "__main__":
    shipped = sorted((KERNEL / "models").glob("*.h"))
    files = {file.with_suffix(".json"): functools.partial(_of_shipped, file) for file in shipped}
    sys.exit(generate(REGENERATE, files, sys.argv[1:]))
