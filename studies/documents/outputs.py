"""The outputs that documents show below their commands: run the commands and write what they print.

    python -m studies.documents.outputs                    # all of PAGES: 10 minutes
    python -m studies.documents.outputs docs/tutorial.md

The commands of a page run in their order, in a copy of the checkout that is set up, 80 columns wide. A command is a
line with a ``$``. A block of Python runs when an output block follows it; a block that begins with a comment of a
file's name is written to that file. A shown line is compared with the next printed line of the same words, and takes
its numbers; ``...`` stands for any lines. So a page chooses the lines, and the command chooses the numbers. Only times
that depend on the machine (MEASURED) may differ.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from env.checkout import ROOT
from env.errors import UserError
from env.files import write_atomically

PAGES = ("README.md", "docs/tutorial.md", "docs/guides/own-script.md")
ELISION = "..."
COLUMNS = 80
NUMBER = re.compile(r"[*±]?\b[\d,.]*\d(?:e-\d+)?\b|\b[0-9a-f]{64}\b")
MEASURED = re.compile(
    r"[\d.]+ s of wall time \([\d.]+ times real time\)|virtual time in [\d.]+ s, [\d.]+ times as fast"
    r"|(?<=wall time \| )[\d.]+ min|(?<=per wall second \| )\d+"
)
FENCED = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```\n", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^(?P<text>    \$ .*\n(?:(?: {4}.*)?\n)*)", re.MULTILINE)
COMMAND = re.compile(r"^\$ (?P<command>[^\n]*)\n(?P<output>.*?)(?=^\$ |\Z)", re.MULTILINE | re.DOTALL)

Run = Callable[[list[str]], str]  # a program, as words, to what it prints


def shape(line: str) -> str:
    """Return a line without numbers and spacing."""
    return re.sub(r"[\s─━-]+", " ", NUMBER.sub("0", line)).strip()


def refreshed(shown: str, printed: str, command: str) -> str:
    """Return the shown output with the numbers of the printed one. Raises UserError for a line that is not printed."""
    lines, rest = [], iter(line.rstrip() for line in printed.splitlines())
    for line in shown.splitlines():
        if line == ELISION:
            lines.append(line)
            continue
        found = next((other for other in rest if shape(other) == shape(line)), None)
        if found is None:
            raise UserError(f"{command}: no line such as {line!r} in\n{printed}")
        same = MEASURED.sub("", found) == MEASURED.sub("", line)
        lines.append(line if same else found)
    return "".join(f"{line}\n" for line in lines)


def refreshed_page(text: str, run: Run, folder: Path) -> str:
    """Return a page with the outputs of its commands. folder: for the files that the page shows."""
    pieces, end, python = [], 0, ""
    blocks = sorted([*FENCED.finditer(text), *INDENTED.finditer(text)], key=lambda block: block.start())
    for block in blocks:
        language = block.groupdict().get("language")
        content, new = block["text"], None
        if language == "python":
            python = content
            if named := re.match(r"# (\w+\.py)\n", content):
                (folder / named[1]).write_text(content)
            continue
        if language == "console":
            new = COMMAND.sub(lambda each: _again(each, run), content)
        elif language is None:
            new = _indented(COMMAND.sub(lambda each: _again(each, run), re.sub("^ {4}", "", content, flags=re.M)))
        elif language == "text" and python and text[end : block.start()].count("```python") == 1:
            new = refreshed(content, run([sys.executable, "-c", python]), "the program")
        python = ""
        if new is not None:
            pieces += [text[end : block.start("text")], new]
            end = block.end("text")
    return "".join([*pieces, text[end:]])


def _again(each: re.Match[str], run: Run) -> str:
    shown = each["output"]
    trailing = shown[len(shown.rstrip("\n")) + 1 :]
    new = refreshed(shown.removesuffix(trailing), run(["bash", "-c", each["command"]]), each["command"])
    return f"$ {each['command']}\n{new}{trailing}"


def _indented(text: str) -> str:
    return re.sub(r"^(?=.)", "    ", text, flags=re.M)


def copied_checkout(folder: Path) -> None:
    """Copy what git tracks, and link the lab kernel and the Python packages of this checkout."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.splitlines()):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to((ROOT / ".venv").resolve())
    (folder / "build").mkdir()
    (folder / "build" / "lab-kernel").symlink_to((ROOT / "build" / "lab-kernel").resolve())


def runner(folder: Path) -> Run:
    """Return what runs programs in a copied checkout, in the environment of a user's shell there."""
    environment = {name: value for name, value in os.environ.items() if name != "NDM_MODEL_BUILD"}
    environment |= {
        "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "COLUMNS": str(COLUMNS),
    }

    def run(program: list[str]) -> str:
        ended = subprocess.run(
            program,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise UserError(f"{' '.join(program)}: status {ended.returncode}\n{ended.stdout}")
        return ended.stdout

    run(["make", "module"])
    return run


def page_of_today(name: str, folder: Path) -> str:
    """Return a page with what its commands print in a copy of the checkout. Raises UserError."""
    copied_checkout(folder)
    return refreshed_page((ROOT / name).read_text(), runner(folder), folder)


def main(names: list[str]) -> int:
    """Write the pages; return the exit status."""
    for name in names or PAGES:
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            try:
                write_atomically(ROOT / name, page_of_today(name, Path(folder, "checkout")).encode())
            except UserError as error:
                print(f"studies.documents.outputs: {error}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
