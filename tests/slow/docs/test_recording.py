"""packaging/recording: a command in a terminal becomes an SVG that plays what it printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from env.checkout import ROOT

TOOLS = ROOT / "packaging" / "recording"
SVG = "{http://www.w3.org/2000/svg}"


def record(output: Path, script: str) -> int:
    program = [sys.executable, str(TOOLS / "record.py"), str(output), "bash", "-c", script]
    return subprocess.run(program, stdout=subprocess.DEVNULL, timeout=60, check=False).returncode


@pytest.fixture
def picture(tmp_path: Path) -> ElementTree.Element:
    """Two screens: a progress line that is overwritten, and a red word."""
    assert record(tmp_path / "a.cast", r"printf '10 %%'; sleep 1; printf '\r90 %%\n\033[31mred < blue\033[0m\n'") == 0
    files = [str(tmp_path / "a.cast"), str(tmp_path / "a.svg")]
    subprocess.run([sys.executable, str(TOOLS / "svg.py"), *files], check=True, timeout=60)
    return ElementTree.parse(tmp_path / "a.svg").getroot()


def test_each_screen_has_its_rows(picture: ElementTree.Element) -> None:
    rows = {row.get("id"): "".join(row.itertext()) for row in picture.iter(f"{SVG}g") if row.get("id")}
    strip = next(group for group in picture.iter(f"{SVG}g") if group.get("class") == "strip")
    shown = [rows[use.get("href", "#")[1:]] for use in strip]
    assert shown.count("10 %") == 1
    assert shown.count("90 %") == 1
    assert shown.index("10 %") < shown.index("90 %")
    assert shown[-1] == "red < blue"


def test_colours_are_those_of_the_terminal(picture: ElementTree.Element) -> None:
    fills = {text.text: text.get("fill") for text in picture.iter(f"{SVG}text")}
    assert fills["red < blue"] == "#f38ba8"
    assert fills["90 %"] is None


def test_status_of_a_failed_command_is_returned(tmp_path: Path) -> None:
    assert record(tmp_path / "a.cast", "echo no; exit 3") == 3
    assert '"no' in (tmp_path / "a.cast").read_text()
