"""Checkouts in which parts of the control law are off, to measure what each of them does.

The modules have no options for this, because nobody would ship without these parts. Edits of the source switch them
off, in a checkout of its own, build/laws/NAME. A test checks that each edit still finds its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from env.checkout import BUILD, ROOT
from env.errors import UserError
from studies.speed.revisions import add_worktree, output_of

FOLDER = BUILD / "laws"


class Edit(NamedTuple):
    """A line or a part of a line, which a file has once, and what takes its place."""

    file: str
    old: str
    new: str


PARTS: dict[str, tuple[Edit, ...]] = {
    "slow start": (
        Edit(
            "kernel/ndm/tcp/ndm_sock.h",
            "tcp_in_initial_slowstart(tcp_sk(sk)) ? NDM_STARTING : NDM_STEADY;",
            "NDM_STEADY;",
        ),
        Edit("kernel/ndm/tcp/ndm_control.h", "\tndm->phase = NDM_STARTING;", "\tndm->phase = NDM_STEADY;"),
    ),
    "drains": (
        Edit("kernel/ndm/ndm_drain.h", "\tif (v->cwnd_fp < NDM_DRAIN_CWND_MIN << NDM_CWND_FRAC ||", "\tif (true ||"),
    ),
    "contest": (Edit("kernel/ndm/ndm_contest.h", "\tc->on = on;\n", "\tc->on = false && on;\n"),),
}


def changed_checkout(name: str, parts: Sequence[str]) -> Path:
    """Return a checkout of the last commit without these parts, build/laws/NAME, with its modules built.

    Raises UserError for a command that fails, and for an edit that does not find its line once.
    """
    folder = FOLDER / name
    head = output_of(["git", "rev-parse", "HEAD"], ROOT).strip()
    add_worktree(folder, head)
    output_of(["git", "checkout", "--force", "--detach", head], folder)
    for part in parts:
        for edit in PARTS[part]:
            text = (folder / edit.file).read_text()
            (folder / edit.file).write_text(apply_edit(text, edit))
    output_of(["make", "module"], folder)
    return folder


def apply_edit(text: str, edit: Edit) -> str:
    """Return a file's text with an edit; raises UserError unless the text has its line once."""
    if text.count(edit.old) != 1:
        raise UserError(f"{edit.file} has {edit.old!r} {text.count(edit.old)} times; the edit is for one")
    return text.replace(edit.old, edit.new)
