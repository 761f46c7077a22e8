"""Has a lab play scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from env import schema
from env.network.clock import VIRTUAL
from tests.support.guest import shell

if TYPE_CHECKING:
    from env.lab import Lab

PLAY = Path(__file__).with_name("play.py")


def play(lab: Lab, script: str) -> dict[str, Any]:
    """Play a script's text and return what was seen: see verdict.py."""
    file = "/tmp/script"
    shell(lab, f"cat >{file} <<'END'\n{script}\nEND")
    played: dict[str, Any] = json.loads(shell(lab, f"/usr/bin/python3 {PLAY} {file} {VIRTUAL.grid_ns}"))
    for check in played["checks"]:
        values = check["values"]
        for numbers, fields, frac in (
            (values.pop("x", ()), schema.FEATURES, schema.FEATURE_FRAC),
            (values.pop("action", ()), schema.ACTIONS, schema.ACTION_FRAC),
        ):
            values |= {field.name: number / (1 << frac) for field, number in zip(fields, numbers, strict=False)}
    return played
