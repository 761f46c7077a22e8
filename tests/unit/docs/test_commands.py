"""The commands of the documents: their options, configurations, scenarios, models and files exist."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

from env.checkout import CONFIGS, ROOT
from env.network.scenario import scenario_names

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "datasets/**/*.md", "packaging/**/*.md", "kernel/**/*.md")
    for path in ROOT.glob(pattern)
)
GROUPS = ("profile", "algo", "lab", "debug")
NETWORKS = ("path", "rack", "chain")
FOLDERS = "compare|configs|datasets|docs|env|export|kernel|packaging|setup|studies|tests|training"
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def options() -> set[str]:
    """The options that docs/reference/options.md lists, which is generated and compared."""
    return set(re.findall(r"^\| `([\w.]+)` \|", (ROOT / "docs/reference/options.md").read_text(), re.MULTILINE))


def commands(page: Path, program: str) -> list[str]:
    """The arguments of a page's calls of `python train.py` or `python compare.py`, without comments."""
    text = page.read_text().replace("\\\n", " ")
    return re.findall(rf"python {program}\.py((?: [^#`\n]*)?)", text)


def values(command: str, key: str) -> list[str]:
    """The values of an argument KEY=VALUE or KEY=[VALUE,VALUE]; those in capitals stand for others."""
    found = re.findall(rf"(?:^|[\s\"'])\+?{key}=(\[[^]]*\]|[^\s\"']*)", command)
    names = [name for text in found for name in text.strip("[]").split(",")]
    return [name for name in names if name and not re.search(r"[A-Z]{2,}", name)]


@by_page
def test_options_of_commands_exist(page: Path) -> None:
    known = options()
    for program, groups in (("train", GROUPS), ("compare", NETWORKS)):
        for command in commands(page, program):
            for key in re.findall(r"(?:^|[\s\"'])\+?([a-z_][\w.]*)=", command):
                first = key.partition(".")[0]
                own = key in groups or first in ("hydra", *NETWORKS) or key.startswith("profile.paths.")
                assert own or key in known, f"{program}.py has no option {key}"


@by_page
def test_configurations_of_commands_exist(page: Path) -> None:
    own = set(re.findall(r"^name: (\w+)", page.read_text(), re.MULTILINE))  # files that the page itself shows
    for command in commands(page, "train"):
        for group in GROUPS:
            for name in values(command, group):
                assert name in own or (CONFIGS / group / f"{name}.yaml").is_file(), f"{group}={name}"


@by_page
def test_scenarios_and_models_of_commands_exist(page: Path) -> None:
    known = {*scenario_names(), *(name.rpartition("/")[0] for name in scenario_names())}
    for command in commands(page, "compare"):
        for name in values(command, "scenario"):
            assert name in known or name.endswith(".yaml"), f"scenario={name}"
        for model in re.findall(r"\bndm@(\w+)(?![\w/])", command):
            folder = ROOT / "datasets" / "models" / model
            assert folder.is_dir() or model.isupper() or model == "untrained", f"ndm@{model}"


@by_page
def test_files_of_commands_exist(page: Path) -> None:
    text = page.read_text()
    for name in re.findall(rf"(?:^|[\s`=(\[,])((?:{FOLDERS})/[\w./-]*[\w/])(?![\w{{<$*])", text, re.MULTILINE):
        stands_for_others = re.search(r"[A-Z]{3,}", re.sub("README|RECORD|CONTRIBUTING", "", name))
        assert stands_for_others or "..." in name or (ROOT / name).exists(), name


@pytest.mark.parametrize("page", sorted((ROOT / "docs/reference/python").glob("*.md")), ids=lambda page: page.stem)
def test_names_whose_docstrings_are_shown_exist(page: Path) -> None:
    for name in re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE):
        pkgutil.resolve_name(name)
