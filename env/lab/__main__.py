"""Run a program of your own, such as a Mininet script, in a lab of its own.

    python -m env.lab run my_script.py [ARGUMENT ...]     run it; its exit status is this command's
    python -m env.lab shell                               a prompt in a lab

The program is root in a kernel of its own, with this machine's programs and files. In virtual time, computing takes no
time, waiting is skipped, and a seed always gives the same output. What the program writes below the working folder
comes back. Its other changes end with the lab, and it cannot reach this machine's network and processes.
"""

from __future__ import annotations

import argparse
import math
import os
import select
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from env.command import command
from env.errors import UserError, suggest
from env.lab.errors import GuestHung, LabError
from env.lab.kernels import LAB, lab_kernel
from env.lab.lab import Lab
from env.lab.script import INTERRUPTED, OUT_OF_TIME, Script, ScriptResult
from env.lab.stock.kernel import StockKernel
from env.lab.stock.vm import VmLab
from env.lab.surroundings import date_after
from env.lab.virtual import VirtualLab

PYTHON = "/usr/bin/python3"  # the one that has the distribution's Mininet
REFUSED = 2
STDIN_NOTICE_S = 2.0
MEMORY_MB = 1024
LEAST_MEMORY_MB = 128
REAL_KERNEL = "6.12"


@command("error")
def main(argv: Sequence[str] | None = None) -> int:
    """Run a program in a lab; returns its exit status, or REFUSED."""
    options = _parse(argv)
    try:
        command = _command(options)
        folder = _folder()
        lab = _lab(options)
        lab.start()
    except (UserError, LabError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    terminal = options.interactive and sys.stdin.isatty()
    stdin = b"" if sys.stdin.isatty() else _read_stdin()
    try:
        with lab:
            visible = [Path(word).parent for word in command if Path(word).is_file()]
            script = Script(
                lab,
                command,
                folder,
                visible=visible,
                stdin=stdin,
                terminal=terminal,
                time_limit_s=options.time_limit,
                date_s=options.date if options.date or options.real else date_after(folder),
            )
            result = script.run()
    except GuestHung as error:
        print(f"error: time limit: the program did not end, and its files are lost: {error}", file=sys.stderr)
        return OUT_OF_TIME
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: ended; the program's files are lost", file=sys.stderr)
        return INTERRUPTED
    if not options.quiet:
        print(_summary(result, options.real), file=sys.stderr)
    return result.status


class _Parser(argparse.ArgumentParser):
    """Refuses in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit."""
        self.exit(REFUSED, f"error: {message}\n")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser, known = _parser()
    options, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.error(f"option {unknown[0]} is unknown{suggest(unknown[0], known)}`--help` lists them all")
    return options


def _parser() -> tuple[_Parser, list[str]]:
    """Return the parser and the options that it knows."""
    common = _Parser(add_help=False, allow_abbrev=False)
    common.add_argument("--seed", type=_number(int, 0, 2**63 - 1), default=1, help="of all randomness (default 1)")
    common.add_argument(
        "--time-limit",
        type=_number(float, 0.1, math.inf),
        metavar="SECONDS",
        help="of this machine's time; then the program gets SIGINT, 10 s later SIGKILL, the files come back, and the "
        "status is 124",
    )
    common.add_argument(
        "--module",
        action="append",
        default=[],
        metavar="NAME|FILE.ko",
        help="load a kernel module: one that `make module` builds, such as tcp_ndm, or a file; can be repeated",
    )
    common.add_argument(
        "--kernel",
        metavar="NAME",
        help="another lab kernel (make lab-kernel KERNEL=NAME); with --real a version, such as 6.1 "
        f"(default {REAL_KERNEL})",
    )
    common.add_argument(
        "--memory-mb",
        type=_number(int, LEAST_MEMORY_MB, 2**20),
        default=MEMORY_MB,
        help=f"of the lab, taken as it is used; what the program writes is in it (default {MEMORY_MB})",
    )
    common.add_argument(
        "--date",
        type=_date,
        help="when the program begins, such as 2026-05-17 or 2026-05-17T12:00 (UTC); default: the midnight after the "
        "newest file below the working folder",
    )
    common.add_argument(
        "--real", action="store_true", help="the distribution's kernel under QEMU, in real time: `make vm-kernel`"
    )
    common.add_argument("--quiet", action="store_true", help="do not tell the time it took")
    parser = _Parser(
        prog="python -m env.lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run", parents=[common], allow_abbrev=False, help="run a program", description="Run a program in a lab."
    )
    run.add_argument(
        "-i", "--interactive", action="store_true", help="give it the terminal, for Mininet's CLI; clocks keep pace"
    )
    run.add_argument("program", help="a .py file, an executable file, or the name of a program, such as mn")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")
    shell = commands.add_parser(
        "shell", parents=[common], allow_abbrev=False, help="open a prompt", description="Open a prompt in a lab."
    )
    shell.set_defaults(interactive=True, program="bash", arguments=[])
    known = sorted({option for action in [*common._actions, *run._actions] for option in action.option_strings})
    return parser, known


def _number(kind: Callable[[str], float], least: float, most: float) -> Callable[[str], float]:
    """Return argparse's type of a number within limits."""

    def convert(text: str) -> float:
        expected = f"a number from {least} to {most}" if most < math.inf else f"a number from {least}"
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {expected}") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not {expected}")
        return value

    return convert


def _date(text: str) -> int:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2026-05-17 or 2026-05-17T12:00") from None
    return int(date.replace(tzinfo=date.tzinfo or UTC).timestamp())


def _command(options: argparse.Namespace) -> list[str]:
    """Return the program's command line with its absolute path. Raises UserError."""
    file = Path(options.program)
    if not file.exists() and "/" not in options.program and (found := shutil.which(options.program)):
        return [found, *options.arguments]
    if not file.is_file():
        state = "is a folder" if file.is_dir() else "does not exist"
        raise UserError(f"{file} {state}: name a .py file, an executable file, or a program such as mn")
    if file.suffix == ".py":
        return [PYTHON, str(file.absolute()), *options.arguments]
    if not os.access(file, os.X_OK):
        raise UserError(f"{file} is neither a .py file nor executable: run `chmod +x {file}`")
    return [str(file.absolute()), *options.arguments]


def _folder() -> Path:
    """Return the working folder. Raises UserError for the root, whose every change would come back."""
    folder = Path.cwd()
    if folder == folder.parent:
        raise UserError("the working folder is /: run it in the folder whose files the program may change")
    return folder


def _read_stdin() -> bytes:
    """Return all of the input, so that its timing cannot change the program's run."""
    if not select.select([sys.stdin], [], [], STDIN_NOTICE_S)[0]:
        print("lab: reading the standard input to its end; `</dev/null` gives an empty one", file=sys.stderr)
    return sys.stdin.buffer.read()


def _lab(options: argparse.Namespace) -> Lab:
    """Return the lab that the options ask for. Raises LabError, ValueError for an unknown module."""
    stock = StockKernel(options.kernel or REAL_KERNEL) if options.real else None
    kernel = lab_kernel(LAB if stock or not options.kernel else options.kernel)
    folder = kernel.modules if stock is None else stock.modules
    known = sorted(file.stem for file in folder.glob("*.ko"))
    for module in options.module:
        if not module.endswith(".ko") and known and module not in known:
            make = f"; `make -C {kernel.tree} ARCH=um M=FOLDER modules` builds one" if stock is None else ""
            raise UserError(
                f"module {module} is unknown; it is one of {', '.join(known)}, or a file that ends in .ko{make}"
            )
    common: dict[str, Any] = {"modules": options.module, "memory_mb": options.memory_mb, "ipv6": True}
    if stock is not None:
        return VmLab(kernel=stock.version, **common)
    return VirtualLab(seed=options.seed, variant=kernel.name, **common)


def _summary(result: ScriptResult, real: bool) -> str:
    files = f"; files that came back: {len(result.written)}" if result.written else ""
    if real:
        return f"lab: {result.guest_s:.1f} s{files}"
    times = f"{result.guest_s:.1f} s of virtual time in {result.wall_s:.1f} s"
    return f"lab: {times}, {result.guest_s / result.wall_s:.3g} times as fast as real time{files}"


if __name__ == "__main__":
    sys.exit(main())
