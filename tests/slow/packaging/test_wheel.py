"""`make -C packaging wheel`: the same bytes from two folders; installed, the project's commands work in any folder.

The fresh environment finds the checkout's .venv besides its own packages, so that nothing is downloaded. pip still
checks there that every version that the wheel names is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from env.checkout import DOCS
from export import checkpoint
from tests.support.release.clones import cloned, commit_of, outside, run

pytestmark = pytest.mark.timeout(1200)
EPOCH = "1767323045"
THEIRS = ("env", "export", "training", "compare")
SCRIPT = """from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import MinimalTopo

net = Mininet(MinimalTopo(), switch=LinuxBridge, controller=None)
net.start()
net.pingAll()
net.stop()
open("written.txt", "w").write("in the lab")
"""


class Built(NamedTuple):
    """What make -C packaging wheel and make -C packaging dist wrote, and the clone."""

    clone: Path
    files: dict[str, bytes]


class Installed:
    """The wheel in an environment of its own."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        run(folder, sys.executable, "-m", "venv", "--without-pip", folder / "venv")  # with it comes an old setuptools
        self.bin = folder / "venv" / "bin"
        purelib = run(folder, self.bin / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
        Path(purelib.strip(), "packages-of-the-checkout.pth").write_text(sysconfig.get_path("purelib"))
        run(folder, self.bin / "python", "-m", "pip", "install", "--no-index", wheel)
        self.home = folder / "home"

    def command(self, folder: Path, *words: str, status: int = 0, **environment: str) -> str:
        """Call ndm-tcp in a folder."""
        return run(folder, self.bin / "ndm-tcp", *words, status=status, **{"NDM_HOME": str(self.home)} | environment)

    def python(self, folder: Path, code: str, status: int = 0) -> str:
        """Run Python in a folder."""
        return run(folder, self.bin / "python", "-c", code, status=status, NDM_HOME=str(self.home))

    @property
    def tree(self) -> Path:
        """The unpacked source tree."""
        (tree,) = self.home.iterdir()
        return tree


def build(folder: Path) -> Built:
    clone = cloned(folder)
    run(clone, "make", "-C", "packaging", "wheel", "dist", SOURCE_DATE_EPOCH=EPOCH)
    return Built(clone, {file.name: file.read_bytes() for file in (clone / "build" / "dist").iterdir()})


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("built") / "clone")


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    (wheel,) = (built.clone / "build" / "dist").glob("*.whl")
    return Installed(tmp_path_factory.mktemp("installed"), wheel)


def test_two_folders_give_the_same_bytes(built: Built, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        other = build(tmp_path / "another-name")
    finally:
        os.umask(before)
    assert sorted(built.files) == sorted(other.files)
    assert [name.rpartition(".")[2] for name in sorted(built.files)] == ["xz", "whl", "gz"]
    assert [name for name, content in built.files.items() if other.files[name] != content] == []


def test_wheel_has_one_package_and_the_tarball(built: Built, tmp_path: Path) -> None:
    (wheel,) = (built.clone / "build" / "dist").glob("*.whl")
    (tarball,) = (content for name, content in built.files.items() if name.endswith(".xz"))
    with zipfile.ZipFile(wheel) as archive:
        folders = {name.partition("/")[0] for name in archive.namelist()}
        assert {name for name in folders if not name.endswith(".dist-info")} == {"ndm_tcp"}
        assert archive.read("ndm_tcp/source.tar.xz") == tarball


def test_env_is_importable_only_after_the_package_is_used(installed: Installed, tmp_path: Path) -> None:
    code = f"""
from importlib.util import find_spec
names = {THEIRS!r}
assert not any(map(find_spec, names))
import ndm_tcp
assert ndm_tcp.__version__
assert not any(map(find_spec, names))
from ndm_tcp import Lab, VirtualLab, Path, compare
assert all(map(find_spec, names))
assert issubclass(VirtualLab, Lab) and callable(compare)
import gymnasium
assert "NdmTcp-v1" in gymnasium.registry
"""
    installed.python(tmp_path, code)


@pytest.mark.parametrize("name", THEIRS)
def test_own_module_of_that_name_is_named(installed: Installed, tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("mine = True\n")
    code = f"import {name}; assert {name}.mine\nfrom ndm_tcp import compare"
    printed = installed.python(tmp_path, code, status=1)
    assert f"{name} is {tmp_path / name}.py: rename that" in printed
    (tmp_path / f"{name}.py").unlink()
    (tmp_path / name).mkdir()  # such as a virtual environment called env
    installed.python(tmp_path, "from ndm_tcp import compare")


def test_quickstart_runs_in_any_folder_beside_such_modules(installed: Installed, built: Built, tmp_path: Path) -> None:
    folder = tmp_path / "a folder of mine"
    folder.mkdir()
    for name in THEIRS:
        (folder / f"{name}.py").write_text("raise RuntimeError\n")
    printed = installed.command(folder, "quickstart", "TRAIN_ARGS=algo.total_decisions=5000")
    assert "\n== 6/6" in printed
    assert len(list(folder.glob("results/bottleneck-*/report.html"))) == 1
    assert checkpoint.load(folder / "runs" / "quickstart")["git_revision"] == commit_of(built.clone)
    assert not (installed.tree / "runs").exists()
    assert not (installed.tree / "results").exists()

    installed.command(folder, "train", "resume=runs/quickstart", "algo.total_decisions=9000")
    assert "ndm in the next `make module`: mine" in installed.command(
        folder, "export", "RUN=runs/quickstart", "NAME=mine"
    )
    printed = installed.command(folder, "make", "export-weights", "RUN=runs/quickstart", "NAME=other")
    assert "ndm in the next `make module`: other" in printed
    installed.command(folder, "module", "MODEL=mixed")
    schemes = "schemes=[ndm,ndm@quickstart,cubic]"
    installed.command(folder, "compare", "scenario=bottleneck", schemes, "seeds=1", "duration_s=2", "output_dir=mine")
    assert (folder / "mine" / "report.html").is_file()
    installed.command(folder, "python", "-m", "export.verify_model", "runs/quickstart")


def test_mininet_script_writes_into_the_current_folder(installed: Installed, tmp_path: Path) -> None:
    installed.command(tmp_path, "make", "module")
    (tmp_path / "script.py").write_text(SCRIPT)
    assert "0% dropped" in installed.command(tmp_path, "lab", "run", "script.py")
    assert (tmp_path / "written.txt").read_text() == "in the lab"


def test_examples_of_the_documentation_run_once_activated(installed: Installed, tmp_path: Path) -> None:
    installed.command(tmp_path, "module", "MODEL=mixed")
    for example in sorted((DOCS / "examples").glob("*.py")):
        code = f"import ndm_tcp, runpy; runpy.run_path(str(ndm_tcp.activate() / 'docs/examples/{example.name}'))"
        assert installed.python(tmp_path, code)
    code = "from ndm_tcp import compare; print(compare(schemes=['cubic'], seeds=1, duration_s=2).folder)"
    folder = Path(installed.python(tmp_path, code).splitlines()[-1])
    assert not folder.is_absolute()
    assert (tmp_path / folder / "report.html").is_file()


def test_processes_that_unpack_at_once_share_one_tree(installed: Installed, tmp_path: Path) -> None:
    command = [installed.bin / "ndm-tcp", "python", "-c", "import env.schema"]
    environment = outside() | {"NDM_HOME": str(tmp_path / "home")}
    processes = [subprocess.Popen(command, cwd=tmp_path, env=environment) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    (tree,) = (tmp_path / "home").iterdir()
    assert (tree / "env" / "schema.py").is_file()


def test_interrupted_unpacking_leaves_no_tree(installed: Installed, tmp_path: Path) -> None:
    limited = 'ulimit -f 100; trap "" XFSZ; exec "$0" python -c "import env"'  # in blocks of 1024 bytes
    printed = run(tmp_path, "bash", "-c", limited, installed.bin / "ndm-tcp", status=1, NDM_HOME=str(tmp_path / "home"))
    assert "cannot unpack the source tree into" in printed
    assert "File too large" in printed
    assert list((tmp_path / "home").iterdir()) == []


def test_refuses_in_one_line(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cases = [
        (["trian"], {}, 2, "'trian' is no command; did you mean train?"),
        (["quickstart", "seeds=3"], {}, 2, "'seeds=3' is no option of quickstart"),
        (["make"], {"NDM_HOME": str(tmp_path / "two words")}, 1, "has ' ' in its name"),
        (["make"], {"NDM_HOME": str(tmp_path / "file")}, 1, "cannot unpack the source tree"),
    ]
    for words, environment, status, text in cases:
        printed = installed.command(tmp_path, *words, status=status, **environment)
        assert text in printed
        assert printed.count("\n") == 1, printed


def test_help_and_version_unpack_nothing(installed: Installed, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert installed.command(tmp_path, "--version", NDM_HOME=str(home)).startswith("ndm-tcp ")
    assert str(home) in installed.command(tmp_path, "--help", NDM_HOME=str(home))
    assert not home.exists()
