"""Scenarios of files and folders anywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from env.errors import UserError
from env.network import scenario as scenarios
from env.network.scenario import load_scenario
from env.network.scenario_files import find_scenarios


def write(file: Path, name: str, path: str = "{rate_mbps: 80}") -> str:
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"name: {name}\nclaim: none\nduration_s: 5\npath: {path}\n")
    return str(file)


def test_files_folders_and_names_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    single = write(tmp_path / "one.yaml", "office")
    write(tmp_path / "several" / "b.yaml", "lab/b")
    write(tmp_path / "several" / "a.yml", "lab/a")
    references = [single, "stress", str(tmp_path / "several")]
    assert [scenario.name for scenario in find_scenarios(references)] == ["office", "stress", "lab/a", "lab/b"]
    assert find_scenarios([single])[0].network_path().rate_mbps == 80
    monkeypatch.chdir(tmp_path)
    assert [scenario.name for scenario in find_scenarios(["one.yaml", "several"])] == ["office", "lab/a", "lab/b"]
    assert len(find_scenarios(["nv"])) > 5


def test_a_shipped_file_is_the_shipped_scenario() -> None:
    assert find_scenarios([str(scenarios.FOLDER / "stress.yaml")]) == [load_scenario("stress")]
    assert find_scenarios([str(scenarios.FOLDER / "nv.yaml")]) == find_scenarios(["nv"])


def test_a_relative_trace_begins_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.trace").write_text("1\n2\n")
    file = write(tmp_path / "one.yaml", "office", "{trace: mine.trace}")
    assert find_scenarios([file])[0].network_path().trace == str(tmp_path / "mine.trace")


def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    def refused(message: str, *references: object) -> None:
        with pytest.raises(UserError, match=message):
            find_scenarios([str(reference) for reference in references])

    refused(r"cannot read .*none\.yaml: No such file", tmp_path / "none.yaml")
    refused(r"none does not exist; give a \.yaml file", tmp_path / "none")
    (tmp_path / "a.txt").write_text("name: a")
    refused(r"a\.txt is no scenario: its name must end in \.yaml or \.yml", tmp_path / "a.txt")
    refused(
        r"'botleneck' is unknown: did you mean bottleneck.* those of the folders access, .*a \.yaml file", "botleneck"
    )
    refused(r"'loss/3pct' is unknown: .*The scenarios of loss are .*loss/5pct", "loss/3pct")
    (tmp_path / "empty").mkdir()
    refused("has no scenario", tmp_path / "empty")
    refused("wrong_key.yaml: durations_s is unknown: did you mean duration_s", wrong_key(tmp_path))
    refused(
        "'rat_mbps' is not a field of a path: did you mean rate_mbps", write(tmp_path / "a.yaml", "a", "{rat_mbps: 3}")
    )
    refused("its name is 'stress', which is a scenario of configs/scenario", write(tmp_path / "b.yaml", "stress"))
    refused("its name is '../x'; it may have letters", write(tmp_path / "c.yaml", "../x"))
    refused("n.yaml: name is read as False, which is no text", write(tmp_path / "n.yaml", "no"))
    refused("o.yaml: name is read as 1.1, which is no text", write(tmp_path / "o.yaml", "1.10"))
    os.mkfifo(tmp_path / "fifo.yaml")
    refused("fifo.yaml is no regular file", tmp_path / "fifo.yaml")
    (tmp_path / "fifo.yaml").unlink()
    (tmp_path / "g.yaml").write_text("name: g", encoding="utf-16")
    refused("g.yaml is not in UTF-8: save it as UTF-8", tmp_path / "g.yaml")
    (tmp_path / "h.yaml").write_text("name: h\n---\nname: i\n")
    refused(
        r"h.yaml: expected a single document .*, line 1, column 1 but found another document, line 2",
        tmp_path / "h.yaml",
    )
    first, second = write(tmp_path / "d.yaml", "d"), write(tmp_path / "e.yaml", "d")
    refused(r"scenario d is given twice \(.*d\.yaml and .*e\.yaml\)", first, second)
    refused("scenario stress is given twice", "stress", "stress")
    refused("trace '.*none.trace' does not exist", write(tmp_path / "f.yaml", "f", "{trace: none.trace}"))


def wrong_key(folder: Path) -> Path:
    file = folder / "wrong_key.yaml"
    file.write_text("name: x\nclaim: none\ndurations_s: 5\npath: {}\n")
    return file
