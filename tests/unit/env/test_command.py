"""Every command starts again with the Python that has the packages, or says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from env.checkout import ROOT
from env.command import command
from env.errors import UserError

ROOMS = ("env", "export", "training", "compare", "studies", "kernel")
# these run with the system's Python, and need only its standard library
WITHOUT_PACKAGES = {"env/lab/guest/agent.py", "kernel/lab/uml/build.py"}


def entry_points() -> list[str]:
    """Return what follows `python3` on the command line of each command of the tree."""
    files = [file.relative_to(ROOT) for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    starting = {file for file in files if 'if __name__ == "__main__":' in (ROOT / file).read_text()}
    names = sorted(str(file) for file in starting if str(file) not in WITHOUT_PACKAGES)
    modules = [name.removesuffix(".py").removesuffix("/__main__").replace("/", ".") for name in names]
    return ["train.py", "compare.py", *(f"-m {module}" for module in modules)]


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python without any package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree's Python files."""
    folder = tmp_path_factory.mktemp("tree").resolve()
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, ignore=lambda at, names: [
            name for name in names if not name.endswith(".py") and not Path(at, name).is_dir()
        ])  # fmt: skip
    for name in ("train.py", "compare.py"):
        shutil.copy(ROOT / name, folder)
    return folder


def start(python: Path, words: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("NDM_PYTHON", "PYTHONPATH")}
    return subprocess.run([python, *words], cwd=folder, env=inherited | environment, capture_output=True, text=True)


@pytest.mark.parametrize("words", entry_points())
def test_missing_package_names_make_setup(words: str, tree: Path, bare_python: Path) -> None:
    done = start(bare_python, words.split(), tree)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("No module named '")
    assert done.stderr.endswith(f"': run `make setup` in {tree}, which installs it into .venv\n")


@pytest.mark.parametrize("words", ["train.py", "-m export", "-m env.lab", "-m studies.learning.precision"])
def test_missing_package_starts_venv(words: str, tree: Path, bare_python: Path, tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text('#!/bin/sh\necho "$@"\n')
    other.chmod(0o755)
    done = start(bare_python, [*words.split(), "a=b", "c d"], tree, NDM_PYTHON=str(other))
    assert (done.stdout, done.stderr, done.returncode) == (f"{words} a=b c d\n", "", 0)


def test_real_command_starts_with_packages(bare_python: Path, tmp_path: Path) -> None:
    done = start(bare_python, [str(ROOT / "train.py"), "nosuch=1"], tmp_path, NDM_PYTHON=sys.executable)
    assert done.stderr.startswith("train.py: nosuch is unknown.")
    assert done.returncode == 1


def test_venv_without_package_does_not_loop(tree: Path, bare_python: Path) -> None:
    (tree / ".venv").symlink_to(bare_python.parents[1])
    try:
        done = start(tree / ".venv" / "bin" / "python3", ["compare.py"], tree)
    finally:
        (tree / ".venv").unlink()
    assert done.stderr == (f"No module named 'gymnasium': run `make setup` in {tree}, which installs it into .venv\n")


def test_missing_own_module_keeps_traceback(tree: Path) -> None:
    (tree / "mine.py").write_text("import env.nosuch\n")
    done = start(Path(sys.executable), ["mine.py"], tree)
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("No module named 'env.nosuch'\n")


def test_script_elsewhere_is_not_repeated(tree: Path, bare_python: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('begun', flush=True)\nimport env\n")
    done = start(bare_python, ["mine.py"], tmp_path, NDM_PYTHON=sys.executable, PYTHONPATH=str(tree))
    assert done.stdout == "begun\n"
    assert done.stderr.endswith("No module named 'gymnasium'\n")


def test_command_ends_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    @command("mine", OSError)
    def main(error: BaseException | None) -> None:
        if error:
            raise error

    assert main(None) == 0
    assert [main(error) for error in (UserError("bad"), OSError("full"), KeyboardInterrupt())] == [1, 1, 130]
    assert capsys.readouterr().err == "mine: bad\nmine: full\nmine: interrupted\n"
    with pytest.raises(ZeroDivisionError):
        main(ZeroDivisionError())


@pytest.mark.parametrize("words", entry_points())
def test_few_descriptors_are_refused(words: str) -> None:
    done = shell(f"ulimit -n 24; {sys.executable} {words}")
    assert done.returncode == 1
    name = words.removeprefix("-m ").split(".")[-1 if words.startswith("-m kernel") else 0]
    assert done.stderr.startswith(name)
    assert done.stderr.endswith(": `ulimit -n` is 24; it must be at least 128\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["compare.py --help", "train.py --help", "-m env.network.traces list"])
def test_output_may_be_full_or_closed(words: str) -> None:
    command = f"{sys.executable} {words}"
    full = shell(f"{command} >/dev/full")
    name = words.removeprefix("-m ").partition(" ")[0]
    assert full.stderr == f"{name}: the output cannot be written: No space left on device\n"
    assert full.returncode == 1
    gone = shell(f"{command} | exec 0<&- sleep 0; exit ${{PIPESTATUS[0]}}")
    assert (gone.returncode in (0, 141), gone.stderr) == (True, "")
    closed = shell(f"{command} <&- >&-")
    assert (closed.returncode, closed.stderr) == (0, "")


def test_low_limit_is_raised() -> None:
    done = shell(f"ulimit -Sn 24; {sys.executable} -m env.network.traces list")
    assert (done.returncode, done.stderr) == (0, "")


def shell(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", text], cwd=ROOT, capture_output=True, text=True)


def test_errors_write_control_characters_out() -> None:
    assert str(UserError("caf\u00e9 \x1b]0;x\x07\n\u202e\tend")) == "caf\u00e9 \\x1b]0;x\\x07\n\\u202e\tend"


def test_compare_has_no_multirun(tmp_path: Path) -> None:
    done = start(Path(sys.executable), [str(ROOT / "compare.py"), "-m", "scenario=bottleneck"], tmp_path)
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr.startswith("compare.py: there is no -m: one call makes all runs of a sweep such as ")
    assert list(tmp_path.iterdir()) == []
