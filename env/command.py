"""What every command does: start with the Python that has the packages, and end an error in one paragraph.

Standard library only: it runs before a package may turn out to be missing.
"""

from __future__ import annotations

import errno
import functools
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import ParamSpec

from env.checkout import ROOT
from env.errors import UserError

P = ParamSpec("P")
LEAST_FILES, FILES = 128, 1024  # descriptors: of two labs and of what is imported, and the usual limit
PIPE_CLOSED = 141  # as the shell says it
PYTHON = Path(os.environ.get("NDM_PYTHON") or ROOT / ".venv" / "bin" / "python")


def use_packages() -> None:
    """Let a program of this tree start again with PYTHON when a package is missing. Others end as usual."""
    program = sys.argv[0]  # "-m" while Python looks for the module
    if program == "-m" or (program and ROOT in Path(program).absolute().parents):
        sys.excepthook = _start_again
        words = sys.orig_argv if program == "-m" and "-m" in sys.orig_argv else ["-m", Path(program).name]  # not in -Im
        _open_descriptors(words[words.index("-m") + 1])


def _open_descriptors(name: str) -> None:
    """Let closed standard streams lead nowhere, and see that enough files can be opened."""
    for number, stream in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor, which is this one
            setattr(sys, stream, os.fdopen(number, "w" if number else "r"))
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < LEAST_FILES:
        sys.exit(f"{name}: `ulimit -n` is {most}; it must be at least {LEAST_FILES}")
    if limit < LEAST_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, FILES), most))


def _start_again(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, ModuleNotFoundError) or (ROOT / str(error.name).partition(".")[0]).is_dir():
        sys.__excepthook__(kind, error, trace)
    elif PYTHON.parent != Path(sys.executable).parent and os.access(PYTHON, os.X_OK):
        os.execv(PYTHON, [str(PYTHON), *sys.orig_argv[1:]])
    else:
        print(f"{error}: run `make setup` in {ROOT}, which installs it into .venv", file=sys.stderr)


def command(name: str, *kinds: type[Exception]) -> Callable[[Callable[P, int | None]], Callable[P, int]]:
    """Make a main function end as all do: 1 after UserError or one of `kinds`, 130 after Ctrl-C; 0 for None.

    name: comes before the message of an error. The standard output is written by then: PIPE_CLOSED where its reader
    has gone, 1 where it cannot be written.
    """
    ended: tuple[type[Exception], ...] = (UserError, *kinds)

    def decorate(main: Callable[P, int | None]) -> Callable[P, int]:
        @functools.wraps(main)
        def run(*arguments: P.args, **options: P.kwargs) -> int:
            try:
                try:
                    return main(*arguments, **options) or 0
                finally:
                    sys.stdout.flush()
            except ended as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 1
            except KeyboardInterrupt:
                print(f"{name}: interrupted", file=sys.stderr)
                return 130
            except OSError as error:
                if error.errno not in (errno.EPIPE, errno.ENOSPC, errno.EIO) or error.filename:
                    raise
                # the interpreter writes the rest at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                if error.errno == errno.EPIPE:
                    return PIPE_CLOSED
                print(f"{name}: the output cannot be written: {error.strerror}", file=sys.stderr)
                return 1

        return run

    return decorate
