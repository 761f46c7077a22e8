"""setup/pytorch.sh: PyTorch comes from the index that has it without CUDA, and setup goes on where there is none."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import pytest

from env.checkout import ROOT
from tests.support.release import run

VERSION = re.findall(r"^torch==(.+)$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)[0]
# only the index of the test
PIP = {"PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": "", "PIP_NO_CACHE_DIR": "1"}


@pytest.fixture
def python(tmp_path: Path) -> Path:
    run(tmp_path, sys.executable, "-m", "venv", "venv")
    return tmp_path / "venv" / "bin" / "python"


def test_the_build_of_the_index_is_taken(tmp_path: Path, python: Path) -> None:
    package = tmp_path / "index" / "torch"
    package.mkdir(parents=True)
    name = f"torch-{VERSION}+cpu"
    metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}+cpu\n"
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {"torch.py": "", f"{name}.dist-info/METADATA": metadata, f"{name}.dist-info/WHEEL": wheel}
    with zipfile.ZipFile(package / f"{name}-py3-none-any.whl", "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{name}.dist-info/RECORD", "".join(f"{file},,\n" for file in files))
    link = f"{name}-py3-none-any.whl"
    (package / "index.html").write_text(f'<a href="{link}">{link}</a>')
    index = {"TORCH_INDEX": f"file://{tmp_path}/index"}
    assert run(ROOT, "setup/pytorch.sh", python, **PIP, **index) == ""
    assert f"Version: {VERSION}+cpu" in run(ROOT, python, "-m", "pip", "show", "torch", **PIP)
    # what is there already is not looked for again
    assert run(ROOT, "setup/pytorch.sh", python, **PIP, TORCH_INDEX="file:///nowhere") == ""


def test_an_index_out_of_reach_does_not_end_setup(python: Path) -> None:
    printed = run(ROOT, "setup/pytorch.sh", python, **PIP, TORCH_INDEX="file:///nowhere")
    assert f"file:///nowhere has no torch=={VERSION}" in printed
