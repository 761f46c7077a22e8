"""What every command does: start with the Python that has the packages, and end an error in one paragraph.

Standard library only: it runs before a package may turn out to be missing.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import ParamSpec

from env.checkout import ROOT
from env.errors import UserError

P = ParamSpec("P")
PYTHON = Path(os.environ.get("NDM_PYTHON") or ROOT / ".venv" / "bin" / "python")


def use_packages() -> None:
    """Let a program of this tree start again with PYTHON when a package is missing. Others end as usual."""
    program = sys.argv[0]  # "-m" while Python looks for the module
    if program == "-m" or (program and ROOT in Path(program).absolute().parents):
        sys.excepthook = _start_again


def _start_again(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, ModuleNotFoundError) or (ROOT / str(error.name).partition(".")[0]).is_dir():
        sys.__excepthook__(kind, error, trace)
    elif PYTHON.parent != Path(sys.executable).parent and os.access(PYTHON, os.X_OK):
        os.execv(PYTHON, [str(PYTHON), *sys.orig_argv[1:]])
    else:
        print(f"{error}: run `make setup` in {ROOT}, which installs it into .venv", file=sys.stderr)


def command(name: str, *kinds: type[Exception]) -> Callable[[Callable[P, int | None]], Callable[P, int]]:
    """Make a main function end as all do: 1 after UserError or one of `kinds`, 130 after Ctrl-C; 0 for None.

    name: comes before the message of an error.
    """
    ended: tuple[type[Exception], ...] = (UserError, *kinds)

    def decorate(main: Callable[P, int | None]) -> Callable[P, int]:
        @functools.wraps(main)
        def run(*arguments: P.args, **options: P.kwargs) -> int:
            try:
                return main(*arguments, **options) or 0
            except ended as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 1
            except KeyboardInterrupt:
                print(f"{name}: interrupted", file=sys.stderr)
                return 130

        return run

    return decorate
