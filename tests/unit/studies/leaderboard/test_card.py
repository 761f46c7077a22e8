"""The cards of the models of the zoo."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from env.errors import UserError
from export.pipeline import build_model, write_artefacts
from export.zoo import ZOO, zoo_names
from studies.leaderboard import card
from studies.leaderboard.stored_scores import read_scores

by_model = pytest.mark.parametrize("name", zoo_names())


def front_matter(text: str) -> dict[str, Any]:
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert match is not None
    data = yaml.safe_load(match[1])
    assert isinstance(data, dict)
    return data


def copied(name: str, tmp_path: Path) -> Path:
    shutil.copytree(ZOO / name, tmp_path / name)
    return tmp_path


@by_model
def test_front_matter_is_yaml_and_the_page_is_short(name: str) -> None:
    text = (ZOO / name / card.FILE_NAME).read_text()
    data = front_matter(text)
    assert (data["license"], data["library_name"]) == ("gpl-2.0", "ndm-tcp")
    assert all(isinstance(tag, str) for tag in data["tags"])
    assert len(text.split()) <= 400


@by_model
def test_results_are_the_stored_scores_of_the_weights(name: str) -> None:
    text = (ZOO / name / card.FILE_NAME).read_text()
    weights = json.loads((ZOO / name / "report.json").read_text())["provenance"]["sha256"]
    assert f"SHA-256 `{weights}`" in text
    own = [score for score in read_scores() if score.model_sha256 == weights]
    for score in own:
        assert f"| `{score.target}` | {score.text()} | {score.met} of {score.requirements} |" in text


@by_model
def test_files_are_those_that_an_export_writes(name: str, tmp_path: Path) -> None:
    """A change of the export or of a format must not leave the zoo's files behind."""
    write_artefacts(build_model(ZOO / name), tmp_path / "files", tmp_path / "headers")
    for file in ("golden.json", "policy.bin", "policy.onnx", "report.json"):
        assert (tmp_path / "files" / file).read_bytes() == (ZOO / name / file).read_bytes(), file


def test_other_weights_have_no_results(tmp_path: Path) -> None:
    zoo = copied("mixed", tmp_path)
    report = json.loads((zoo / "mixed" / "report.json").read_text())
    report["provenance"]["sha256"] = "0" * 64  # a new training
    (zoo / "mixed" / "report.json").write_text(json.dumps(report))
    text = card.render("mixed", zoo)
    assert "These weights are not on the leaderboard" in text


def test_missing_file_is_named(tmp_path: Path) -> None:
    zoo = copied("mixed", tmp_path)
    (zoo / "mixed" / "about.yaml").unlink()
    with pytest.raises(UserError, match=r"card of mixed needs .*about\.yaml"):
        card.render("mixed", zoo)


def test_changed_card_is_found(tmp_path: Path) -> None:
    zoo = copied("mixed", tmp_path)
    assert card.cards(zoo)[zoo / "mixed" / card.FILE_NAME]() == (zoo / "mixed" / card.FILE_NAME).read_text()
    with (zoo / "mixed" / "about.yaml").open("a") as file:
        file.write("  - Nothing else.\n")
    assert card.cards(zoo)[zoo / "mixed" / card.FILE_NAME]() != (zoo / "mixed" / card.FILE_NAME).read_text()
