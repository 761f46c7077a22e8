"""Export a trained policy: ``python -m export [--run NAME | --checkpoint FILE] [--name NAME] [--output DIR]``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from env.command import command
from env.errors import UserError
from export import pipeline
from export.checks import agreement as verify
from export.formats.blob import check_texts
from export.selection import EXPORTED, model_name


@command("export")
def main(argv: list[str]) -> int:
    """Run the export and return the exit status: 0, or 1 with one paragraph on stderr."""
    parser = argparse.ArgumentParser(prog="python -m export", description="Quantize a policy to int16 and export it.")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--run",
        help="run folder, its name in runs/, model of the zoo such as mixed, or rule, rules/NAME.yaml "
        "(default: the newest checkpoint)",
    )
    source.add_argument("--checkpoint", type=Path, help="a checkpoint file")
    parser.add_argument(
        "--output",
        type=Path,
        help="folder for the files (default: export/ beside the checkpoint; build/exported/rules/NAME)",
    )
    parser.add_argument("--name", help="name of the exported model (default: the run's name)")
    parser.add_argument("--headers", type=Path, default=EXPORTED, help="folder for C headers (default: build/exported)")
    arguments = parser.parse_args(argv)
    try:
        path = arguments.checkpoint
        if path is None:
            path = pipeline.find_policy(arguments.run) if arguments.run else pipeline.latest_run()
        exported = pipeline.measure(path)
        if arguments.name:
            exported = replace(exported, provenance=replace(exported.provenance, name=arguments.name))
        provenance = exported.provenance
        check_texts(provenance)
        print(
            f"{provenance.name}: {exported.model.hidden} units, profile {provenance.profile}, "
            f"{provenance.decisions} decisions, SHA-256 {provenance.sha256}"
        )
        output = arguments.output or pipeline.default_output(exported.source, arguments.headers)
        for file in pipeline.write_artefacts(exported, output, arguments.headers):
            print(f"wrote {file}")
        print(_verdict(exported))
        print(f"ndm in the next `make module`: {model_name(provenance.name)}")
    except OSError as error:
        raise UserError(f"cannot write {error.filename or 'a file'}: {error.strerror or error}") from error
    return 0


def _verdict(exported: pipeline.Exported) -> str:
    error = max(row.max_error_pct for row in exported.agreement)
    return f"float against int16: at most {error:.4f} % of the output range apart; {verify.MAX_LIMIT_PCT} is allowed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
