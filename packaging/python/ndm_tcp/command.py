"""The command ndm-tcp: runs the project's commands, from the unpacked source tree, on files of the current folder."""

from __future__ import annotations

import difflib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ndm_tcp.workspace import WorkspaceError, folder, prepare, version

HELP = """NDM-TCP: learned TCP congestion control, trained on the real Linux stack in virtual time

  ndm-tcp quickstart                    train a small model, export it, build the modules with it, compare it
  ndm-tcp setup                         install missing packages of the distribution (asks for root only then)
  ndm-tcp train profile=mixed           train; the run is in runs/ of the current folder
  ndm-tcp export RUN=runs/NAME          int16 weights, ONNX, model file; RUN= default: the latest in runs/
  ndm-tcp module                        build the lab kernel, and the modules with the exported models
  ndm-tcp compare scenario=stress       compare schemes; the report is in results/ of the current folder
  ndm-tcp lab run SCRIPT.py             run a Mininet script in a lab; once before: ndm-tcp make module
  ndm-tcp make [TARGET]                 a target of the Makefile, in the source tree; alone: all of them
  ndm-tcp python -m MODULE | FILE.py    Python with the project's packages: env, training, export, compare
  ndm-tcp --version

Where the documentation says `make X`, say `ndm-tcp make X`; for `python -m X`, `ndm-tcp python -m X`; for
`python train.py`, `ndm-tcp train`. Options of a command: ndm-tcp COMMAND --help.
"""

FILES = ("RUN", "KERNEL_SRC", "KDIR", "DESTDIR")  # variables of the Makefile that name a file or folder
Command = Callable[[Path, list[str]], list[str]]


def _python(_tree: Path, arguments: list[str]) -> list[str]:
    file = bool(arguments) and not arguments[0].startswith("-")
    # -P: a module env in the current folder is not the project's
    return [sys.executable, *([] if file else ["-P"]), *arguments]


def _export(tree: Path, arguments: list[str]) -> list[str]:
    options = {"RUN": "--run", "NAME": "--name"}
    words: list[str] = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        words += [options[key], value] if equals and key in options else [argument]
    return _python(tree, ["-m", "export", *words])


def _make(tree: Path, arguments: list[str]) -> list[str]:
    return ["make", "--no-print-directory", "-C", str(tree), *map(_absolute, arguments)]


def _absolute(argument: str) -> str:
    """Return VARIABLE=FILE with an absolute name: make works in the source tree."""
    key, equals, value = argument.partition("=")
    return f"{key}={Path(value).absolute()}" if equals and value and key in FILES else argument


def _quickstart(tree: Path, arguments: list[str]) -> list[str]:
    return ["env", *arguments, str(tree / "setup" / "quickstart.sh")]


COMMANDS: dict[str, Command] = {
    "quickstart": _quickstart,
    "setup": lambda tree, arguments: ["/usr/bin/python3", str(tree / "setup" / "packages.py"), *arguments],
    "train": lambda tree, arguments: [sys.executable, str(tree / "train.py"), *arguments],
    "export": _export,
    "module": lambda tree, arguments: _make(tree, ["module", *arguments]),
    "compare": lambda tree, arguments: [sys.executable, str(tree / "compare.py"), *arguments],
    "lab": lambda tree, arguments: _python(tree, ["-m", "env.lab", *arguments]),
    "make": _make,
    "python": _python,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command in place of this process. Returns an exit status only if no command runs."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help", "help"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ndm-tcp --help | head
        print(f"{HELP}The source tree, with docs/ and configs/: {folder()}")
        return 0
    if name == "--version":
        print(f"ndm-tcp {version()}")
        return 0
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(COMMANDS)}"
        print(f"ndm-tcp: {name!r} is no command; {hint}", file=sys.stderr)
        return 2
    if wrong := [word for word in rest if name == "quickstart" and not word.startswith("TRAIN_ARGS=")]:
        print(f"ndm-tcp: {wrong[0]!r} is no option of quickstart; the one is TRAIN_ARGS='OPTION ...'", file=sys.stderr)
        return 2
    try:
        tree = prepare()
    except WorkspaceError as error:
        print(f"ndm-tcp: {error}", file=sys.stderr)
        return 1
    command = COMMANDS[name](tree, rest)
    paths = [str(tree), *filter(None, [os.environ.get("PYTHONPATH")])]
    # NDM_PYTHON: the Makefile's Python, in place of a .venv in the source tree
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "NDM_PYTHON": sys.executable}
    try:
        os.execvpe(command[0], command, environment)
    except FileNotFoundError:
        print(f"ndm-tcp: {command[0]} is missing: call ndm-tcp setup, which installs it", file=sys.stderr)
        return 1
