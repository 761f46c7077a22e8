"""The cards of the models of the zoo."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from env.files import sha256
from export.integer.model import ExportError
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
def test_front_matter_is_a_model_index(name: str) -> None:
    data = front_matter((ZOO / name / card.FILE_NAME).read_text())
    assert (data["license"], data["library_name"]) == ("gpl-2.0", "ndm-tcp")
    assert all(isinstance(tag, str) for tag in data["tags"])
    [model] = data["model-index"]
    assert model["name"] == f"ndm-tcp-{name}"
    for result in model["results"]:
        # what huggingface_hub's parser of evaluation results requires
        assert {"type", "name"} <= result["task"].keys()
        assert {"type", "name"} <= result["dataset"].keys()
        for metric in result["metrics"]:
            assert {"type", "name", "value"} <= metric.keys()
            value = metric["value"]
            assert isinstance(value, float) or re.fullmatch(r"-?[\d.e+-]+ \+/- [\d.e+-]+", value), value


@by_model
def test_results_are_the_stored_scores_of_the_weights(name: str) -> None:
    weights = json.loads((ZOO / name / "report.json").read_text())["provenance"]["sha256"]
    stored = {score.target: score for score in read_scores() if score.model_sha256 == weights}
    [model] = front_matter((ZOO / name / card.FILE_NAME).read_text())["model-index"]
    values = {result["dataset"]["type"]: result["metrics"][0]["value"] for result in model["results"]}
    assert values.keys() == {f"ndm-tcp/{target}" for target in stored}
    for target, score in stored.items():
        mean, _, deviation = str(values[f"ndm-tcp/{target}"]).partition(" +/- ")
        assert float(mean) == pytest.approx(score.score, rel=1e-3)
        assert float(deviation or 0) == pytest.approx(score.sd or 0, rel=0.06)


@by_model
def test_hashes_are_those_of_the_files(name: str) -> None:
    text = (ZOO / name / card.FILE_NAME).read_text()
    for file in card.CONTENTS:
        assert f"`{sha256(ZOO / name / file)}`" in text, file


@by_model
def test_files_are_those_that_an_export_writes(name: str, tmp_path: Path) -> None:
    """A change of the certificates or of a format must not leave the zoo's files behind."""
    write_artefacts(build_model(ZOO / name), tmp_path / "files", tmp_path / "headers")
    for file in ("golden.json", "policy.bin", "policy.onnx", "report.json"):
        assert (tmp_path / "files" / file).read_bytes() == (ZOO / name / file).read_bytes(), file


def test_other_weights_have_no_results(tmp_path: Path) -> None:
    zoo = copied("mixed", tmp_path)
    report = json.loads((zoo / "mixed" / "report.json").read_text())
    report["provenance"]["sha256"] = "0" * 64  # a new training
    (zoo / "mixed" / "report.json").write_text(json.dumps(report))
    text = card.render("mixed", zoo)
    assert front_matter(text)["model-index"][0]["results"] == []
    assert "These weights are not on the leaderboard" in text


def test_missing_file_is_named(tmp_path: Path) -> None:
    zoo = copied("mixed", tmp_path)
    (zoo / "mixed" / "about.yaml").unlink()
    with pytest.raises(ExportError, match=r"card of mixed needs .*about\.yaml"):
        card.render("mixed", zoo)


def test_changed_card_is_found(tmp_path: Path) -> None:
    zoo = copied("mixed", tmp_path)
    assert card.cards(zoo)[zoo / "mixed" / card.FILE_NAME]() == (zoo / "mixed" / card.FILE_NAME).read_text()
    with (zoo / "mixed" / "config.yaml").open("a") as file:
        file.write("# changed\n")
    assert card.cards(zoo)[zoo / "mixed" / card.FILE_NAME]() != (zoo / "mixed" / card.FILE_NAME).read_text()
