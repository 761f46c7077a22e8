"""The selection of the models in the kernel module: ``make module MODELS="mixed mine"``.

A model is one C header: kernel/models/NAME.h if it ships, build/exported/models/NAME.h if the user exported it.
ndm_weights.h lists the models that are compiled into tcp_ndm: the first is the congestion control ``ndm``, each further
one ``ndm_NAME``. kernel/ndm_weights.h is used until an export or a selection writes build/exported/ndm_weights.h::

    python -m export.selection mixed mine
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from env.checkout import KERNEL, MODEL_BUILD
from env.near import did_you_mean
from export.integer.model import ExportError
from export.zoo import plain_name

EXPORTED = MODEL_BUILD / "exported"  # its files replace those of kernel/: kernel/sources.sh
ALGORITHM = "ndm"
ALGORITHM_MAX = 15  # letters: TCP_CA_NAME_MAX of the kernel, less the zero at the end
_INCLUDE = re.compile(r'^#include "models/(\w+)\.h"$', re.MULTILINE)
_SHA256 = re.compile(r"^\s*/\* SHA-256 of the float policy: ([0-9a-f]{64}) \*/$", re.MULTILINE)


def model_name(text: str) -> str:
    """Return the name of a model in C and in the kernel: lower-case letters, digits and underscores.

    Raises ExportError if the text has no letter and no digit.
    """
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not name:
        raise ExportError(f"{text!r} is not a model name: it needs letters or digits")
    return name


def kernel_file(name: str, exported: Path = EXPORTED) -> Path:
    """Return the exported file with this name, or the one in kernel/ if none was exported."""
    file = exported / name
    return file if file.is_file() else KERNEL / name


def header_of(name: str, exported: Path = EXPORTED) -> Path:
    """Return the header of a model."""
    return kernel_file(f"models/{name}.h", exported)


def selection_file(exported: Path = EXPORTED) -> Path:
    """Return the header that lists the models in the module."""
    return kernel_file("ndm_weights.h", exported)


def known_models(exported: Path = EXPORTED) -> list[str]:
    """Return the sorted names of all models, exported and shipped."""
    return sorted({file.stem for folder in (exported, KERNEL) for file in (folder / "models").glob("*.h")})


def selected(exported: Path = EXPORTED) -> list[str]:
    """Return the names of the models in the module, the default one first. Raises ExportError if there is no model."""
    file = selection_file(exported)
    names = _INCLUDE.findall(file.read_text())
    if not names:
        raise ExportError(f"{file} lists no model: run `make module MODELS=mixed`")
    return list(names)


def algorithms(names: Sequence[str]) -> dict[str, str]:
    """Return the model of each congestion control, for a module with these models in this order."""
    return {ALGORITHM if i == 0 else f"{ALGORITHM}_{name}": name for i, name in enumerate(names)}


def further_algorithms() -> list[str]:
    """Return the congestion controls of tcp_ndm besides ndm (``make module MODELS="mixed mine"``)."""
    try:
        return list(algorithms(selected()))[1:]
    except ExportError:  # the selection is damaged; building or loading ndm reports that
        return []


def sha256_of(name: str, exported: Path = EXPORTED) -> str:
    """Return the SHA-256 of a model's float policy from its header. Raises ExportError if no header states one."""
    file = header_of(name, exported)
    match = _SHA256.search(file.read_text()) if file.is_file() else None
    if match is None:
        raise ExportError(f"{file} has no model: run `make export-weights`")
    return match[1]


def render_selection(names: Sequence[str]) -> str:
    """Return the text of ndm_weights.h."""
    return "\n".join(
        [
            "/* SPDX-License-Identifier: GPL-2.0 */",
            "/* Written by make export-weights and make module MODELS=. The models in tcp_ndm, ndm's first. */",
            "#ifndef NDM_WEIGHTS_H",
            "#define NDM_WEIGHTS_H",
            "",
            *(f'#include "models/{name}.h"' for name in names),
            "",
            f"#define NDM_MODELS(each) {', '.join(f'each({name})' for name in names)}",
            "",
            "#endif /* NDM_WEIGHTS_H */",
            "",
        ]
    )


def select(given: Sequence[str], exported: Path = EXPORTED) -> None:
    """Select the models in the module; an unchanged selection is not written again.

    Raises ExportError for a model that does not exist, one given twice, and a name too long for the kernel.
    """
    known, names = known_models(exported), [plain_name(name) for name in given]
    if not names:
        raise ExportError(f"no model is given; there are {', '.join(known)}")
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, limit=1) or f"there are {', '.join(known)}; `make export-weights` adds one"
            raise ExportError(f"there is no model {name!r}; {hint.strip()}")
        if names.count(name) > 1:
            raise ExportError(f"model {name!r} is given twice")
    for algorithm, name in algorithms(names).items():
        if len(algorithm) > ALGORITHM_MAX:
            raise ExportError(
                f"{algorithm} is longer than the {ALGORITHM_MAX} letters that a congestion control's name may have; "
                f"export {name} under a shorter one: make export-weights RUN=runs/... NAME=..."
            )
    text = render_selection(names)
    if selection_file(exported).read_text() != text:
        exported.mkdir(parents=True, exist_ok=True)
        (exported / "ndm_weights.h").write_text(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Select models, or show the selection; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m export.selection", description="Choose the models in tcp_ndm.")
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help="models, the default one first; without any, show the selection"
    )
    try:
        if models := parser.parse_args(arguments).models:
            select(models)
        for algorithm, name in algorithms(selected()).items():
            print(f"{algorithm}: model {name}, SHA-256 {sha256_of(name)}")
    except ExportError as error:
        print(f"export.selection: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
