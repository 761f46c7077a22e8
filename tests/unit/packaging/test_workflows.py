"""The workflows: what zizmor does not see. Only make targets are called, and the names in expressions exist."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from env.checkout import ROOT

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = {
    folder: set(re.findall(r"^([a-z][a-z-]*):", (ROOT / folder / "Makefile").read_text(), re.MULTILINE))
    for folder in ("", "packaging")
}
# what README asks for before the first make
BEFORE = "apt-get update -q && apt-get install --yes --no-install-recommends ca-certificates git make python3"
MAKE = re.compile(r"make (?:--silent )?(?:-C (packaging) )?([a-z-]+)(?: >>\"\$GITHUB_OUTPUT\")?")
JOBS = [
    pytest.param(job, id=f"{file.stem}-{name}")
    for file in FILES
    for name, job in yaml.safe_load(file.read_text())["jobs"].items()
]


@pytest.mark.parametrize("job", JOBS)
def test_a_job_calls_make_targets_only(job: dict[str, Any]) -> None:
    commands = [step["run"] for step in job["steps"] if "run" in step]
    called = [line for line in commands if line != BEFORE]
    assert called
    for line in called:
        match = MAKE.fullmatch(line)
        assert match, line
        assert match[2] in TARGETS[match[1] or ""], line


def test_the_whole_check_calls_make_targets() -> None:
    called = re.findall(r"^make (.*)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert called
    assert {word for line in called for word in line.split() if "=" not in word} <= TARGETS[""]


@pytest.mark.parametrize("job", JOBS)
def test_every_name_in_an_expression_exists(job: dict[str, Any]) -> None:
    text = yaml.safe_dump(job, width=10**6)
    known = {f"steps.{step['id']}.outputs.key" for step in job["steps"] if "id" in step} | {"github.ref"}
    for row in job.get("strategy", {}).get("matrix", {}).get("include", []):
        known |= {f"matrix.{name}" for name in row}
    assert set(re.findall(r"\${{ *(.*?) *}}", text)) <= known


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_workflow_may_only_read(file: Any) -> None:
    workflow = yaml.safe_load(file.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in workflow["jobs"].values())


def test_the_matrix_has_the_distributions_of_the_readme() -> None:
    named = "Debian 12, Debian 13 or Ubuntu 24.04"
    assert named in " ".join((ROOT / "README.md").read_text().split())
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "hosts.yml").read_text())["jobs"]
    debian = {f"Debian {row['version']}" for row in jobs["debian"]["strategy"]["matrix"]["include"]}
    assert debian | {jobs["ubuntu"]["name"]} == set(re.split(", | or ", named))
