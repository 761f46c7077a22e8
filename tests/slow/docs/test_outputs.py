"""Tutorial, README and guides: every command runs, in a copy of the checkout, and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.checkout import ROOT
from studies.documents.outputs import PAGES, page_of_today


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", PAGES)
def test_every_command_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    assert page_of_today(name, tmp_path / "checkout") == (ROOT / name).read_text()
