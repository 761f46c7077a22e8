"""Write the paper: ``python -m compare.paper [--markdown]``; `make paper` runs it.

build/paper/ndm-tcp.pdf is the paper, paper.md the text with its numbers, sources.csv the source of each number. With
--markdown no PDF is made, so that neither pandoc nor weasyprint is needed.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jinja2

from compare.paper import figures
from compare.paper.stored import Numbers, PaperError, load
from env.checkout import DOCS, ROOT
from env.files import write_atomically
from env.schema import FEATURES

PAPER = DOCS / "paper"
TEMPLATE = PAPER / "paper.md.j2"
NUMBERS = PAPER / "numbers.yaml"
OUTPUT = ROOT / "build" / "paper"
# what may have digits without a source: expressions of the template, code, citations, links and pictures, names
_SOURCED = re.compile(
    r"{{.*?}}|{#.*?#}|{%.*?%}|^ {4}.*?$|`[^`]*`|\[-?@[^]]*\]|@[\w:]+|(?:Figure|Section|Table) \d|\]\([^)]*\)|"
    r"\A---.*?^---$",
    re.DOTALL | re.MULTILINE,
)
_METADATA = re.compile(r"---\n.*?^---\n", re.DOTALL | re.MULTILINE)
_WIDE = re.compile(r"^(::: wide\n.*?^:::)$", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"\]\(([\w/.-]+\.(?:png|svg))\)")
_NUMBER = re.compile(r"(?<![\w.-])\d[\d.,]*(?<![.,])")


def unsourced(template: str, literals: dict[str, str]) -> list[str]:
    """Return the numbers that stand in the text of a template itself and are not declared as literals."""
    text = _SOURCED.sub(" ", template)
    return [number for number in _NUMBER.findall(text) if number not in literals]


def render(numbers: Numbers, template: str) -> str:
    """Return the text with its numbers. Raises PaperError for an unknown name and for a number without a source."""
    literal = unsourced(template, numbers.names["literals"])
    if literal:
        raise PaperError(f"numbers without a source: {', '.join(literal)}; name them in {NUMBERS.name}")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)
    try:
        names = {"cell": numbers.cell, "number": numbers.number, "rows": numbers.rows, "inputs": FEATURES}
        return environment.from_string(template).render(names)
    except jinja2.TemplateError as error:
        raise PaperError(f"{TEMPLATE.name}: {error}") from error


def sources(numbers: Numbers) -> str:
    """Return a CSV table of the numbers that were used."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "text", "where"])
    writer.writerows([source.name, source.text, source.where] for source in numbers.used)
    return text.getvalue()


def _picture(name: str) -> Path:
    """Return the file of a picture: drawn for the paper, or below docs/. Raises PaperError for a missing one."""
    for folder in (OUTPUT, DOCS):
        if (folder / name).is_file():
            return folder / name
    raise PaperError(f"there is no picture {name}, neither below docs/ nor of compare/paper/figures.py")


def in_columns(markdown: str) -> str:
    """Return the text with a block of class `text`, which has two columns, before, between and after the wide blocks.

    One block with wide ones that span its columns would be simpler, but weasyprint 57 then loses what comes after a
    wide block that does not fit on the page.
    """
    metadata = _METADATA.match(markdown)
    head = metadata[0] if metadata else ""
    parts = (part.strip() for part in _WIDE.split(markdown.removeprefix(head)))
    blocks = (part if part.startswith("::: wide") else f"::::: text\n{part}\n:::::" for part in parts if part)
    return f"{head}\n" + "\n\n".join(blocks) + "\n"


def make_pdf(markdown: Path, pdf: Path) -> None:
    """Turn the text into a PDF. Raises PaperError when a program is missing or fails."""
    missing = [program for program in ("pandoc", "weasyprint") if not shutil.which(program)]
    if missing:
        raise PaperError(f"{' and '.join(missing)} missing: run `make paper`, which installs them, or use --markdown")
    text = _PICTURE.sub(lambda match: f"]({_picture(match[1])})", in_columns(markdown.read_text()))
    command = [
        *("pandoc", "--from=markdown+smart", "--citeproc", "--number-sections", "--standalone", "--to=html5"),
        *(f"--bibliography={PAPER / 'references.bib'}", f"--css={PAPER / 'paper.css'}"),
        *("--pdf-engine=weasyprint", f"--output={pdf}"),
    ]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    # pandoc names an unknown citation in a warning; weasyprint complains about pandoc's own CSS
    problems = [line for line in done.stderr.split("\n") if line.startswith("[WARNING]")]
    if done.returncode or problems:
        raise PaperError("\n".join(problems) or done.stderr)


def main(arguments: list[str]) -> int:
    """Write the paper; returns the exit status."""
    if arguments not in ([], ["--markdown"]):
        print("usage: python -m compare.paper [--markdown]", file=sys.stderr)
        return 2
    OUTPUT.mkdir(parents=True, exist_ok=True)
    try:
        numbers = load(DOCS, NUMBERS)
        markdown = OUTPUT / "paper.md"
        text = render(numbers, TEMPLATE.read_text())
        for name, draw in figures.FIGURES.items():
            write_atomically(OUTPUT / name, draw(numbers))
        write_atomically(markdown, text.encode())
        write_atomically(OUTPUT / "sources.csv", sources(numbers).encode())
        if not arguments:
            make_pdf(markdown, OUTPUT / "ndm-tcp.pdf")
    except PaperError as error:
        print(f"make paper: {error}", file=sys.stderr)
        return 1
    print(OUTPUT / ("paper.md" if arguments else "ndm-tcp.pdf"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
