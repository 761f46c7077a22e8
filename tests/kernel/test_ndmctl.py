"""ndmctl without a kernel that has NDM: model files, messages, and that its documents name what it does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from env.checkout import BUILD, DATASETS, KERNEL, ROOT
from export.integer.native import Native

CTL = BUILD / "ndmctl"
MIXED = DATASETS / "models" / "mixed" / "policy.bin"


def ctl(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CTL, *arguments], capture_output=True, text=True, check=False)


def test_a_sound_model_is_described() -> None:
    done = ctl("verify", MIXED)
    assert done.returncode == 0, done.stderr
    assert f"{MIXED} is a sound model: mixed, 16 units" in done.stdout
    assert f"for pin=:           {MIXED.read_bytes()[-32:].hex()}\n" in done.stdout
    assert f"as status has it: {Native().shipped()[1]}\n" in done.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-1], "its SHA-256 does not match its content"),
        (lambda content: content[:300] + b"\0" + content[301:], "its SHA-256 does not match its content"),
        (lambda _: b"", "its size is not that of a model"),
        (lambda content: content * 9, "its size is not that of a model"),
    ],
    ids=["cut", "changed", "empty", "long"],
)
def test_a_bad_file_is_refused(tmp_path: Path, change: object, message: str) -> None:
    assert callable(change)
    file = tmp_path / "bad.bin"
    file.write_bytes(change(MIXED.read_bytes()))
    done = ctl("verify", file)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ndmctl: {file} is refused: {message}\n"


def test_commands_say_what_to_do() -> None:
    assert ctl("status").stderr == "ndmctl: NDM is not loaded: ndmctl load\n"
    assert ctl("verify").stderr == "ndmctl: verify: which file?\n"
    assert "there is no command stats" in ctl("stats").stderr
    assert ctl("stats").returncode == 2


def test_doctor_names_the_kernel() -> None:
    shown = ctl("doctor").stdout
    assert Path("/proc/sys/kernel/osrelease").read_text().strip() in shown
    assert re.search(r"^(ok|MISSING) +CAP_BPF", shown, re.MULTILINE)


def test_manual_and_completion_have_each_command() -> None:
    usage = ctl("--help").stdout
    commands = set(re.findall(r"^  ([a-z]+) ", usage, re.MULTILINE))
    assert len(commands) == 11
    manual = (KERNEL / "ctl" / "ndmctl.8").read_text()
    assert set(re.findall(r"^\.It Cm ([a-z]+)", manual, re.MULTILINE)) == commands
    completion = (KERNEL / "ctl" / "ndmctl.bash").read_text()
    words = re.search(r'COMP_CWORD" = 1.*?-W "([a-z ]+)"', completion, re.DOTALL)
    assert words is not None
    assert set(words[1].split()) == commands


def test_install_and_uninstall(tmp_path: Path) -> None:
    def make(target: str) -> None:
        subprocess.run(["make", "--no-print-directory", target, f"DESTDIR={tmp_path}"], cwd=ROOT, check=True)

    make("install-bpf")
    files = {str(file.relative_to(tmp_path / "usr")) for file in tmp_path.rglob("*") if file.is_file()}
    models = {f"lib/ndm/models/{folder.name}.bin" for folder in (DATASETS / "models").iterdir()}
    assert models
    assert files == models | {
        "sbin/ndmctl",
        "lib/ndm/ndm.bpf.o",
        "share/man/man8/ndmctl.8",
        "share/bash-completion/completions/ndmctl",
        "lib/systemd/system/ndm.service",
    }
    make("uninstall-bpf")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
