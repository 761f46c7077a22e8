"""Print the proof that a model cannot overflow (export/checks/proof.py).

python -m export.verify_model              # the model in the module, as built by `make module`
python -m export.verify_model RUN ...      # other models: of the zoo (mixed), run folders, checkpoint files or rules
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from env.command import command
from export.checks.proof import Proof, prove
from export.formats.manifest import compiled_in
from export.pipeline import build_model, find_policy


def _table(name: str, proof: Proof) -> Table:
    table = Table(title=f"{name}: any int16 inputs and state", title_justify="left")
    for column, justify in (("expression", "left"), ("from", "right"), ("to", "right"), ("type", "left")):
        table.add_column(column, justify="right" if justify == "right" else "left")
    table.add_column("spare bits", justify="right")
    for step in proof.steps:
        values = step.values
        table.add_row(
            escape(step.expression), f"{values.low:,}", f"{values.high:,}", f"s{step.bits}", str(step.spare_bits)
        )
    return table


@command("export.verify_model")
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the proof of each model; return 1 if one cannot be proved."""
    parser = argparse.ArgumentParser(prog="python -m export.verify_model", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "runs", nargs="*", help="models of the zoo, run folders, checkpoints or rules (default: the shipped model)"
    )
    console = Console()
    if runs := parser.parse_args(arguments).runs:
        models = [(str(run), build_model(find_policy(run)).model) for run in runs]
    else:
        model, provenance = compiled_in()
        models = [(f"the first model of `make module`, {provenance.sha256[:16]}", model)]
    for name, model in models:
        proof = prove(model)
        console.print(_table(name, proof))
        bits = proof.accumulator.bit_length()
        console.print(
            f"proved: no accumulator exceeds {proof.accumulator:,} (2^{bits}), outputs lie in -1 to 1",
            highlight=False,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
