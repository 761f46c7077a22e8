"""Which models are in the module: ``make module MODELS="mixed fiber"``.

Exported models lie in kernel/models, one header each. kernel/ndm_weights.h names those that are compiled into tcp_ndm:
the first is the congestion control ``ndm``, every further one ``ndm_NAME``::

    python -m export.selection mixed fiber
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from env.checkout import KERNEL
from env.near import did_you_mean
from export.model import ExportError

ALGORITHM = "ndm"
ALGORITHM_MAX = 15  # letters: TCP_CA_NAME_MAX of the kernel, less the zero at the end
_INCLUDE = re.compile(r'^#include "models/(\w+)\.h"$', re.MULTILINE)
_SHA256 = re.compile(r"^\s*/\* SHA-256 of the float policy: ([0-9a-f]{64}) \*/$", re.MULTILINE)


def model_name(text: str) -> str:
    """Return what a model is called in C and in the kernel: small letters, digits and underscores.

    Raises ExportError where nothing of the text is left.
    """
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not name:
        raise ExportError(f"{text!r} is no name for a model: it takes letters or digits")
    return name


def header_of(name: str, kernel: Path = KERNEL) -> Path:
    """Return where the header of a model is."""
    return kernel / "models" / f"{name}.h"


def selection_file(kernel: Path = KERNEL) -> Path:
    """Return the header that names the models in the module."""
    return kernel / "ndm_weights.h"


def selected(kernel: Path = KERNEL) -> list[str]:
    """Return the names of the models in the module, the default one first; ExportError where there is none."""
    file = selection_file(kernel)
    names = _INCLUDE.findall(file.read_text()) if file.is_file() else []
    if not names:
        raise ExportError(f"{file} names no model: run `make export-weights`")
    return list(names)


def algorithms(names: Sequence[str]) -> dict[str, str]:
    """Return congestion control to model, of models in a module in this order."""
    return {ALGORITHM if i == 0 else f"{ALGORITHM}_{name}": name for i, name in enumerate(names)}


def further_algorithms() -> list[str]:
    """Return the congestion controls of tcp_ndm besides ndm (``make module MODELS="mixed fiber"``)."""
    try:
        return list(algorithms(selected()))[1:]
    except ExportError:  # nothing was exported yet
        return []


def sha256_of(name: str, kernel: Path = KERNEL) -> str:
    """Return the SHA-256 of a model's float policy, as its header says; ExportError where there is none."""
    file = header_of(name, kernel)
    found = _SHA256.search(file.read_text()) if file.is_file() else None
    if found is None:
        raise ExportError(f"{file} holds no model: run `make export-weights`")
    return found[1]


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


def select(names: Sequence[str], kernel: Path = KERNEL) -> None:
    """Make these the models in the module; a file that says so already is left alone.

    Raises ExportError for a model that was not exported, one given twice, and a name too long for the kernel.
    """
    known = sorted(file.stem for file in (kernel / "models").glob("*.h"))
    if not names:
        raise ExportError(f"no model is given; there are {', '.join(known) or 'none yet: run `make export-weights`'}")
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, most=1) or f"there are {', '.join(known) or 'none yet'}"
            raise ExportError(f"there is no model {name!r} in {kernel / 'models'}; {hint.strip()}")
        if names.count(name) > 1:
            raise ExportError(f"model {name!r} is given twice")
    for algorithm, name in algorithms(names).items():
        if len(algorithm) > ALGORITHM_MAX:
            raise ExportError(
                f"{algorithm} is longer than the {ALGORITHM_MAX} letters that a congestion control's name may have; "
                f"export {name} under a shorter one: make export-weights RUN=runs/... NAME=..."
            )
    file = selection_file(kernel)
    text = render_selection(names)
    if not file.is_file() or file.read_text() != text:
        file.write_text(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Select models, or show the selection; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m export.selection", description="Choose the models in tcp_ndm.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="the default one first; none: show what is selected")
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
