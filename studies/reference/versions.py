"""docs/reference/versions.md: the version of each format and interface, what is refused, and what is converted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from compare.experiment import experiment, oracle
from env import ENV_ID, schema
from env.checkout import KERNEL, ROOT
from env.markdown import markdown_table
from export import checkpoint
from export.formats import blob, golden, onnx_model
from export.integer import model

CHANGELOG = ROOT / "CHANGELOG.md"
INPUTS = len(schema.FEATURES)


@dataclass(frozen=True)
class Versioned:
    """A format or interface with a version of its own.

    name: as CHANGELOG.md and the page call it. version: the one that this revision writes. where: the file that defines
    it. The other fields say what happens to data of another version.
    """

    name: str
    version: str
    where: str
    refused: str
    converted: str


def release() -> str:
    """Return the version of the project, that of kernel/VERSION."""
    return (KERNEL / "VERSION").read_text().strip()


def define_of(header: str, name: str) -> int:
    """Return the number of a C macro. header: its path below kernel/. Raises ValueError when it is missing."""
    match = re.search(rf"^#define {name} (\d+)$", (KERNEL / header).read_text(), re.MULTILINE)
    if match is None:
        raise ValueError(f"kernel/{header} has no number {name}")
    return int(match[1])


def versioned() -> tuple[Versioned, ...]:
    """Return all formats and interfaces with a version of their own."""
    return (
        Versioned(
            "schema",
            str(schema.SCHEMA_VERSION),
            "env/schema.py",
            f"models, checkpoints and golden vectors of another schema; models with more than {INPUTS} "
            f"inputs or fewer than {schema.INPUTS_MIN}",
            "a model without the newest inputs: it has weight 0 for them",
        ),
        Versioned(
            "model format",
            str(model.FORMAT),
            "kernel/ndm/ndm_core.h",
            "model files, C headers and golden vectors of another format; a header does not compile",
            "nothing: export the checkpoint again",
        ),
        Versioned(
            "model file",
            str(blob.LAYOUT),
            "kernel/ndm/ndm_blob.h",
            "another layout, a wrong size, a changed bit: by module, `ndmctl` and Python. The model in use stays",
            "nothing: export the checkpoint again",
        ),
        Versioned(
            "ONNX opset",
            str(onnx_model.OPSET),
            "export/formats/onnx_model.py",
            "left to the program that reads `policy.onnx`. Its metadata has schema and model format",
            "nothing",
        ),
        Versioned(
            "golden vectors",
            str(golden.VERSION),
            "export/formats/golden.py",
            "another version, model format or schema",
            "nothing: `python -m export.formats.golden` writes them anew",
        ),
        Versioned(
            "checkpoint",
            str(checkpoint.FORMAT),
            "export/checkpoint.py",
            f"another format; formats 1 to {checkpoint.FORMAT - 1} are read by commit {checkpoint.OLD_FORMATS_READ_BY}",
            "a policy without the newest inputs can be exported, compared and begun with, and not resumed",
        ),
        Versioned(
            "results store",
            str(experiment.FORMAT),
            "compare/experiment/experiment.py",
            "`experiment.json` of another format; a run whose files do not have their SHA-256 is measured again",
            "an experiment without chains, sweeps or other later keys: it has their defaults",
        ),
        Versioned(
            "oracle windows",
            str(oracle.FORMAT),
            "compare/experiment/oracle.py",
            "`oracle.json` of another format",
            "nothing: delete the file, and the windows are searched again",
        ),
        Versioned(
            "environment",
            ENV_ID,
            "env/__init__.py",
            "by Gymnasium: another version is unknown to `gymnasium.make`",
            "nothing",
        ),
    )


_UNVERSIONED = (
    (
        "wire frames",
        "the checkout",
        "host, guest and lab modules are built from one checkout. A frame of a wrong kind or size ends the lab",
    ),
    (
        "module",
        "the release",
        "`modinfo -F version tcp_ndm`. Each module belongs to one kernel. The parameters `slots` and `pin`, "
        "`/sys/module/tcp_ndm/ndm/` and the tracepoints are stable within a major version",
    ),
    (
        "BPF program",
        "the release",
        "`ndmctl` and the object come from the same release: after an upgrade run `ndmctl unload` and `ndmctl load`",
    ),
    (
        "traces",
        "Mahimahi's, LeoCC's",
        "text without a version. A malformed line is refused with its number",
    ),
    (
        "scenario, profile, rule",
        "the release",
        "an unknown key is refused with the known ones; a missing key has its default",
    ),
    (
        "command line, Python interface",
        "the release",
        "an unknown option is refused with near matches. Stable: options in "
        "[the reference](options.md), `compare.compare`, `env.lab.Lab` and the environment",
    ),
)


def render() -> str:
    """Return the page."""
    formats = [
        [item.name, f"**{item.version}**", f"`{item.where}`", item.refused, item.converted] for item in versioned()
    ]
    return f"""# Versions

This is NDM-TCP {release()} (`kernel/VERSION`). Module, BPF program, Python package and distribution packages have this
version. It follows [semantic versioning](https://semver.org):

- The major number rises when something is refused that the release before took: an option, a file, a model, a kernel;
  or a format below rises without a conversion.
- The minor number rises when something is new and all that worked goes on. Results may change where CHANGELOG.md says
  so.
- The patch number rises when a fault is mended.

Not covered: figures of a comparison, which belong to a commit and a model, modules of `studies/`, and everything
whose name begins with an underscore.

## Formats with a version of their own

A reader refuses what it does not know with an error that names both versions. It never guesses. A version rises when
the layout changes, or when a key or number changes its meaning or goes; the environment's when returns before and after
cannot be compared.

{markdown_table(["format", "version", "defined in", "refused", "converted"], formats)}

## The others

{markdown_table(["interface", "version", "compatibility"], [list(row) for row in _UNVERSIONED])}

## To raise a version

Change the constant, describe the change under *Unreleased* in `CHANGELOG.md` with a line `Formats: NAME VERSION`, and
run `make generate`. A test compares constants, this page and `CHANGELOG.md`. A release renames *Unreleased* to the
version in `kernel/VERSION` and gives it the date.
"""
