"""The documentation: links lead somewhere, modules and targets of commands exist, generated pages are up to date."""

from __future__ import annotations

import importlib.util
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest

from compare.report import metric_layout
from env.checkout import ROOT
from env.files import generate
from studies.leaderboard import __main__ as leaderboard
from studies.leaderboard import card
from studies.reference import __main__ as reference

CARDS = sorted((ROOT / "datasets" / "models").glob("*/README.md"))
PAGES = [*ROOT.glob("*.md"), ROOT / "datasets" / "README.md", *CARDS, *sorted((ROOT / "docs").rglob("*.md"))]
PICTURES = sorted(path for kind in ("png", "svg") for path in (ROOT / "docs").rglob(f"*.{kind}"))
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ (.*)", text, re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def make_targets(makefile: Path) -> set[str]:
    """The targets of a Makefile, and what its patterns make for the fuzzers."""
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile.read_text(), re.MULTILINE))
    fuzzers = re.search(r"^FUZZERS := (.*)", makefile.read_text(), re.MULTILINE)
    return targets | {f"fuzz-{name}" for name in fuzzers[1].split()} if fuzzers else targets


@by_page
def test_relative_links_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


@by_page
def test_modules_of_commands_exist(page: Path) -> None:
    for module in re.findall(r"python -m ([\w.]+)", page.read_text()):
        assert importlib.util.find_spec(module) is not None, module


@by_page
def test_make_targets_exist(page: Path) -> None:
    text = re.sub(r'"[^"]*"', "", page.read_text())
    commands = re.findall(r"(?:^\s{4}|^\$ |&& |`|sudo )make((?: -C \S+)?)((?: [^\s`#&|]+)+)", text, re.MULTILINE)
    for folder, words in commands:
        if (makefile := ROOT / folder.removeprefix(" -C ") / "Makefile").is_file():  # else another tree's
            named = [word for word in words.split() if re.fullmatch(r"[a-z][\w-]*", word)]
            assert set(named) <= make_targets(makefile), folder + words


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: str(picture.relative_to(ROOT)))
def test_a_command_makes_each_picture(picture: Path) -> None:
    texts = [ROOT / "Makefile", *(ROOT / "docs").rglob("*.md")]
    name = re.escape(str(picture.relative_to(ROOT)))
    commands = rf"(?:python|make|--picture|cp )[^!]{{0,200}}{name}"
    assert any(re.search(commands, text.read_text(), re.IGNORECASE) for text in texts), "no command writes it"


def test_quickstart_in_the_readme_is_todays() -> None:
    """The README shows the steps of setup/quickstart.sh, and its comparison as the terminal prints it."""
    script = (ROOT / "setup" / "quickstart.sh").read_text()
    block = re.search(r"^    \$ make quickstart\n((?:    .*\n)+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert block is not None
    shown = textwrap.dedent(block[1])
    assert re.findall(r"^== (\d)/6  (.*)", shown, re.MULTILINE) == re.findall(
        r'^step (\d) "(.*)"', script, re.MULTILINE
    )
    head, rows = re.split(r"^ ─+\n", shown, flags=re.MULTILINE)
    names = re.findall(r"\w+", head[head.index("...") :].replace("Mbit/s", "").replace("1/MB", ""))
    columns = [*metric_layout.FIRST[:4], "utilisation"]  # what 80 columns have room for
    assert sorted(names) == sorted([*["scheme", "ms", "ms"], *(word for name in columns for word in name.split("_"))])
    schemes = re.search(r"scenario=bottleneck \"schemes=\[(.*?)\]", script)
    assert schemes is not None
    assert [row.split()[0] for row in rows.splitlines() if "±" not in row] == schemes[1].split(",")


def test_generated_pages_are_up_to_date() -> None:
    assert generate(reference.COMMAND, reference.PAGES, ["--check"]) == 0
    assert generate(card.COMMAND, card.cards(), ["--check"]) == 0
    assert generate(leaderboard.COMMAND, leaderboard.PAGES, ["--check"]) == 0
