"""Versions: constants of Python and C agree, the page states them, and CHANGELOG.md has an entry for each."""

from __future__ import annotations

import re

import pytest
import yaml

from env import schema
from env.checkout import DOCS, ROOT
from export.formats import blob
from export.integer import model
from studies.reference.versions import CHANGELOG, define_of, release, versioned

FORMATS = versioned()
PAGE = (DOCS / "reference" / "versions.md").read_text()


def released() -> list[tuple[str, str]]:
    """Version and date of each release of CHANGELOG.md, newest first."""
    return re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", CHANGELOG.read_text(), re.MULTILINE)


def newest_formats() -> dict[str, str]:
    """The newest version that CHANGELOG.md gives for each format."""
    newest: dict[str, str] = {}
    for line in re.findall(r"^Formats: (.+?)\n\n", CHANGELOG.read_text(), re.MULTILINE | re.DOTALL):
        for entry in " ".join(line.split()).split(", "):
            name, _, version = entry.rpartition(" ")
            newest.setdefault(name, version)
    return newest


def test_newest_release_is_that_of_the_module() -> None:
    assert released()[0][0] == release()


def test_releases_are_in_falling_order() -> None:
    numbers = [tuple(map(int, version.split("."))) for version, _ in released()]
    assert numbers == sorted(set(numbers), reverse=True)
    dates = [date for _, date in released()]
    assert dates == sorted(dates, reverse=True)


def test_every_version_has_an_entry_in_the_changelog() -> None:
    assert newest_formats() == {item.name: item.version for item in FORMATS}


@pytest.mark.parametrize("item", FORMATS, ids=lambda item: item.name)
def test_page_states_version_and_place(item) -> None:
    assert f"| {item.name} | **{item.version}** | `{item.where}` |" in PAGE
    assert (ROOT / item.where).is_file()


@pytest.mark.parametrize(
    ("header", "macro", "number"),
    [
        ("ndm/ndm_schema.h", "NDM_SCHEMA_VERSION", schema.SCHEMA_VERSION),
        ("ndm/ndm_schema.h", "NDM_INPUTS_MIN", schema.INPUTS_MIN),
        ("ndm/ndm_core.h", "NDM_MODEL_FORMAT", model.FORMAT),
        ("ndm/ndm_blob.h", "NDM_BLOB_LAYOUT", blob.LAYOUT),
    ],
)
def test_kernel_has_the_same_number(header: str, macro: str, number: int) -> None:
    assert define_of(header, macro) == number


def test_citation_is_of_the_newest_release() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    version, date = released()[0]
    assert (citation["version"], citation["date-released"]) == (version, date)
