"""`make paper`: the PDF is built, and each of its numbers has a source."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest

from compare.paper import __main__ as paper
from env.checkout import DOCS
from tests.support.tools import require


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for program in ("pandoc", "weasyprint"):
        require(shutil.which(program), f"no {program}: run setup/packages.py paper")
    monkeypatch.setattr(paper, "OUTPUT", tmp_path)
    assert paper.main([]) == 0
    return tmp_path


def test_pdf_has_pages_and_pictures(built: Path) -> None:
    content = (built / "ndm-tcp.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(content) > 100_000  # three of the five figures alone are more
    assert len(re.findall(rb"/Type /Page\b", content)) >= 7, "text is lost"


def test_each_number_of_the_text_has_a_source(built: Path) -> None:
    with (built / "sources.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    template = paper.TEMPLATE.read_text()
    assert len(rows) >= len(re.findall(r"{{ (?:cell|number)\(", template))
    text = (built / "paper.md").read_text()
    for row in rows:
        page = row["where"].split(",")[0]
        assert (DOCS / page).is_file() or ":" in page, row
        assert row["text"]
    in_part = ("fresh", "attribution", "leaderboard", "history", "targets")  # in figures, or columns of a table
    assert all(row["text"] in text for row in rows if row["name"].split(" / ")[0] not in in_part)


def test_unknown_citation_is_refused(built: Path) -> None:
    (built / "paper.md").write_text("As [@nobody] says.\n")
    with pytest.raises(paper.PaperError, match="nobody"):
        paper.make_pdf(built / "paper.md", built / "other.pdf")


def test_missing_picture_is_refused(built: Path) -> None:
    (built / "paper.md").write_text("![A picture](results/nothing.png)\n")
    with pytest.raises(paper.PaperError, match=r"no picture results/nothing.png"):
        paper.make_pdf(built / "paper.md", built / "other.pdf")
