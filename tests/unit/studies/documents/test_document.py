"""Documents with tables and pictures of stored comparisons: studies/documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from compare.errors import CompareError
from compare.experiment.store import Store
from compare.report import render_markdown
from studies.documents.__main__ import main, render_documents
from tests.support.report import comparison, made_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return made_store(tmp_path_factory.mktemp("results") / "made")


def written(folder: Path, text: str) -> Path:
    document = folder / "page.md"
    document.write_text(text)
    return document


def test_tables_equal_the_report_and_name_failures(store: Store, tmp_path: Path) -> None:
    page = written(tmp_path, f"before\n<!-- tables of {store.folder} -->\nstale\n<!-- end -->\nafter\n")
    [text] = render_documents([page])
    assert text.startswith(f"before\n<!-- tables of {store.folder} -->\n4 seeds: ")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "stale" not in text
    assert "**1 failed**, **1 missing**" in text
    assert "\nFailed: compete/cubic_1v1, NDM, seed 4: LabError: the guest panicked" in text
    assert "\nMissing: compete/requests, BBR, seed 4" in text
    report = set(render_markdown(comparison(store)).splitlines())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 20
    assert set(rows) <= report


def test_picture_shows_every_scenario_and_scheme(store: Store, tmp_path: Path) -> None:
    page = written(tmp_path, f"<!-- picture of {store.folder} -->\n<!-- end -->\n")
    [text] = render_documents([page])
    assert "](page-made.png)" in text
    assert "NDM, Cubic, BBR in stress, bottleneck, delay/rtt_50ms, compete/cubic_1v1, compete/requests" in text
    with Image.open(tmp_path / "page-made.png") as picture:
        assert picture.width > 1000
        # the schemes' colours are in it: lines and markers, not empty axes
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24) or []}
    for cell in comparison(store).cells:
        assert tuple(bytes.fromhex(cell.scheme.colour.removeprefix("#"))) in colours


def test_file_block_is_copied_unchanged(tmp_path: Path) -> None:
    (tmp_path / "table.md").write_text("| a |\n|---|\n")
    page = written(tmp_path, f"<!-- file of {tmp_path}/table.md -->\nstale\n<!-- end -->\n")
    assert render_documents([page]) == [f"<!-- file of {tmp_path}/table.md -->\n| a |\n|---|\n<!-- end -->\n"]
    page.write_text(f"<!-- file of {tmp_path}/none.md -->\n<!-- end -->\n")
    with pytest.raises(SystemExit, match=r"none\.md"):
        main([str(page)])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "<!-- table of {folder} -->",
            "block 'table' is unknown; the blocks are tables, picture, target NAME, runs",
        ),
        ("<!-- tables loss of {folder} -->", "block 'tables loss' is unknown"),
        ("<!-- target of {folder} -->", "block 'target' is unknown"),
        ("<!-- tables of {folder}/none -->", "is not the folder of a comparison"),
        ("<!-- target loss of {folder} -->", "holds no runs of a target"),
        ("<!-- goodput of {folder} -->", "holds no runs of a target"),
    ],
)
def test_impossible_block_is_named_and_nothing_written(line: str, message: str, store: Store, tmp_path: Path) -> None:
    good = written(tmp_path, f"<!-- tables of {store.folder} -->\n<!-- end -->\n")
    bad = tmp_path / "bad.md"
    bad.write_text(line.format(folder=store.folder) + "\n<!-- end -->\n")
    before = good.read_text()
    with pytest.raises(CompareError, match=message):
        render_documents([bad])
    with pytest.raises(SystemExit, match=message):
        main([str(good), str(bad)])
    assert good.read_text() == before
