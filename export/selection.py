"""The model that is compiled into the kernel module: ``make module MODEL=mixed``.

A model is a C header, which only the compiler reads, and a manifest beside it, which states in JSON what it is
(export/formats/manifest.py): kernel/models/NAME.* if it ships, build/exported/models/NAME.* if the user exported it.
ndm_weights.h includes the selected header. kernel/ndm_weights.h is used until an export or a selection writes
build/exported/ndm_weights.h::

    python -m export.selection mixed
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from env.checkout import KERNEL, MODEL_BUILD
from env.command import command
from env.errors import UserError, did_you_mean
from export.zoo import plain_name

EXPORTED = MODEL_BUILD / "exported"  # its files replace those of kernel/: kernel/sources.sh
_INCLUDE = re.compile(r'^#include "models/(\w+)\.h"$', re.MULTILINE)


def model_name(text: str) -> str:
    """Return the name of a model in C and in the kernel: lower-case letters, digits and underscores.

    Raises UserError if the text has no letter and no digit.
    """
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not name:
        raise UserError(f"{text!r} is not a model name: it needs letters or digits")
    return name


def kernel_file(name: str, exported: Path = EXPORTED) -> Path:
    """Return the exported file with this name, or the one in kernel/ if none was exported."""
    file = exported / name
    return file if file.is_file() else KERNEL / name


def known_models(exported: Path = EXPORTED) -> list[str]:
    """Return the sorted names of all models, exported and shipped."""
    return sorted({file.stem for folder in (exported, KERNEL) for file in (folder / "models").glob("*.h")})


def selected(exported: Path = EXPORTED) -> str:
    """Return the name of the model in the module. Raises UserError if no model is selected."""
    file = kernel_file("ndm_weights.h", exported)
    names = _INCLUDE.findall(file.read_text())
    if len(names) != 1:
        raise UserError(f"{file} includes {len(names)} models in place of one: run `make module MODEL=mixed`")
    return str(names[0])


def manifest_of(name: str, exported: Path = EXPORTED) -> dict[str, Any]:
    """Return the manifest of a model. Raises UserError if its header or its manifest is missing."""
    file = kernel_file(f"models/{name}.h", exported).with_suffix(".json")
    try:
        manifest: dict[str, Any] = json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError) as error:
        raise UserError(f"{file} does not describe the model {name}: run `make export-weights`") from error
    return manifest


def render_selection(name: str) -> str:
    """Return the text of ndm_weights.h."""
    return "\n".join(
        [
            "/* SPDX-License-Identifier: GPL-2.0 */",
            "/* Written by make export-weights and make module MODEL=. The model that is compiled in. */",
            "#ifndef NDM_WEIGHTS_H",
            "#define NDM_WEIGHTS_H",
            "",
            f'#include "models/{name}.h"',
            "",
            f"#define NDM_BUILTIN_MODEL ndm_model_{name}",
            "",
            "#endif /* NDM_WEIGHTS_H */",
            "",
        ]
    )


def select(name: str, exported: Path = EXPORTED) -> None:
    """Select the model in the module; an unchanged selection is not written again.

    Raises UserError for a model that does not exist.
    """
    known, name = known_models(exported), plain_name(name)
    if name not in known:
        hint = did_you_mean(name, known, limit=1) or f"there are {', '.join(known)}; `make export-weights` adds one"
        raise UserError(f"there is no model {name!r}; {hint.strip()}")
    text = render_selection(name)
    if kernel_file("ndm_weights.h", exported).read_text() != text:
        exported.mkdir(parents=True, exist_ok=True)
        (exported / "ndm_weights.h").write_text(text)


@command("export.selection")
def main(arguments: Sequence[str] | None = None) -> int:
    """Select a model, or show the selection; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m export.selection", description="Choose the model in tcp_ndm.")
    parser.add_argument("model", nargs="?", help="model; without it, show the selection")
    if model := parser.parse_args(arguments).model:
        select(model)
    name = selected()
    print(f"ndm: model {name}, SHA-256 {manifest_of(name)['policy_sha256']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
