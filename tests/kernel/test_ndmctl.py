"""ndmctl without a kernel that has NDM: model files, messages, and that its documents name what it does."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from env.checkout import BUILD, DATASETS, KERNEL, ROOT
from tests.support.kernel.native import Native
from tests.support.models import model_file

CTL = BUILD / "ndmctl"
VERSION = (KERNEL / "VERSION").read_text().strip()
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


@pytest.fixture(scope="module")
def signing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an ndmctl whose keys lie in keys/ and its models beside it, two secret keys and a model."""
    folder = tmp_path_factory.mktemp("signing")
    (folder / "keys").mkdir()
    printed = subprocess.run(
        ["make", "--always-make", "--dry-run", "--silent", "build/ndmctl"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    line = next(line for line in printed.replace("\\\n", " ").splitlines() if " -lcrypto" in line)
    folders = f"-DNDM_KEYS_FOLDER='\"{folder}/keys\"' -DNDM_MODELS_FOLDER='\"{folder}\"'"
    other = line.replace("-o build/ndmctl", f"-o {folder}/ndmctl {folders}")
    subprocess.run(other, shell=True, cwd=ROOT, check=True)
    for name in ("mine", "other"):
        openssl("genpkey", "-algorithm", "ed25519", "-out", folder / f"{name}.pem")
    return folder


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@pytest.fixture
def signed(signing: Path) -> Path:
    """A model with a signature of the key in keys/."""
    model = signing / "model.bin"
    model.write_bytes(MIXED.read_bytes())
    openssl("pkey", "-in", signing / "mine.pem", "-pubout", "-out", signing / "keys" / "mine.pem")
    sign(model, "mine")
    return model


def sign(model: Path, key: str) -> None:
    """As the manual says."""
    secret, signature = model.with_name(f"{key}.pem"), model.with_name("model.bin.sig")
    openssl("pkeyutl", "-sign", "-rawin", "-inkey", secret, "-in", model, "-out", signature)


def verified(model: Path, name: str = "") -> tuple[int, str]:
    """Return the exit status and the last line that ndmctl prints, for a model file or an installed model."""
    program = [model.with_name("ndmctl"), "verify", name or model]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()[-1] if done.returncode == 0 else done.stderr.rstrip()


def test_a_signed_model_names_its_key(signed: Path) -> None:
    assert verified(signed) == (0, "Signature:                               mine.pem")


def test_a_model_without_signature_and_keys_is_taken(signed: Path) -> None:
    signed.with_name("model.bin.sig").unlink()
    (signed.parent / "keys" / "mine.pem").unlink()
    assert verified(signed) == (0, "Signature:                               none")


@pytest.mark.parametrize("name", ["model", "ndm@model"])
def test_an_installed_model_has_a_name(signed: Path, name: str) -> None:
    assert verified(signed, name) == (0, "Signature:                               mine.pem")
    assert verified(signed, "ndm@other") == (
        1, "ndmctl: ndm@other: No such file or directory; the installed models are model"
    )  # fmt: skip


def test_installed_model_comes_before_a_file_of_its_name(signed: Path, tmp_path: Path) -> None:
    planted = tmp_path / "model"
    planted.write_bytes(model_file("planted"))
    program = [signed.with_name("ndmctl"), "verify"]
    for name, status in (("model", 0), ("./model", 1)):
        done = subprocess.run([*program, name], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
    assert "./model is refused: it has no signature ./model.sig" in done.stderr


@pytest.mark.parametrize("name", ["fifo.bin", "model.bin.sig", "keys/mine.pem"])
def test_fifo_does_not_hang(signed: Path, name: str) -> None:
    fifo = signed.with_name(name) if "/" not in name else signed.parent / name
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    try:
        program = [signed.with_name("ndmctl"), "verify", fifo if name == "fifo.bin" else signed]
        done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=20)
    finally:
        fifo.unlink()
    assert (done.returncode, done.stderr) == (1, f"ndmctl: {fifo} is no regular file\n")


def test_full_output_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([CTL, "verify", MIXED], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "ndmctl: the standard output: No space left on device\n")


@pytest.mark.parametrize("name", ["mine.pub", "mine.PEM", "mine"])
def test_a_key_by_another_name_switches_nothing_off(signed: Path, name: str) -> None:
    keys = signed.parent / "keys"
    (keys / "mine.pem").rename(keys / name)
    for _ in ("with", "without"):
        status, text = verified(signed)
        assert (status, text) == (
            1,
            f"ndmctl: {keys}/{name} is no key, whose name ends in .pem: rename it, or move it to another folder",
        )
        signed.with_name("model.bin.sig").unlink(missing_ok=True)
    (keys / name).rename(keys / ".backup")
    assert verified(signed) == (0, "Signature:                               none")


def test_signatures_are_refused(signed: Path) -> None:
    signature = signed.with_name("model.bin.sig")
    good = signature.read_bytes()
    signature.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert verified(signed) == (1, f"ndmctl: {signed} is refused: no key in {signed.parent}/keys has signed it")
    signature.write_bytes(good + b"\0")
    assert verified(signed) == (1, f"ndmctl: {signature} is refused: an Ed25519 signature has 64 bytes")
    sign(signed, "other")
    assert verified(signed) == (1, f"ndmctl: {signed} is refused: no key in {signed.parent}/keys has signed it")
    signature.unlink()
    assert verified(signed) == (
        1, f"ndmctl: {signed} is refused: it has no signature {signature}, and {signed.parent}/keys has keys"
    )  # fmt: skip


def test_a_signature_without_a_key_is_refused(signed: Path) -> None:
    key = signed.parent / "keys" / "mine.pem"
    key.write_text("no key")
    assert verified(signed) == (1, f"ndmctl: {key} is no public key of Ed25519 in PEM")
    key.unlink()
    assert verified(signed) == (
        1, f"ndmctl: {signed}.sig cannot be checked: put the public key into {signed.parent}/keys"
    )  # fmt: skip


def test_a_signature_of_another_model_is_refused(signed: Path) -> None:
    signed.write_bytes(model_file("other"))
    assert "has signed it" in verified(signed)[1]


def test_commands_say_what_to_do() -> None:
    assert ctl("status").stderr == "ndmctl: NDM is not loaded: ndmctl load\n"
    assert ctl("verify").stderr == "ndmctl: verify: which file?\n"
    assert "there is no command stats" in ctl("stats").stderr
    assert ctl("stats").returncode == 2


def test_an_old_kernel_is_refused() -> None:
    done = subprocess.run(["setarch", "--uname-2.6", CTL, "load"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"ndmctl: Linux 2\.6\.\S+ is too old: NDM needs 6\.1 or later\n", done.stderr)


def test_doctor_names_the_kernel() -> None:
    shown = ctl("doctor").stdout
    assert Path("/proc/sys/kernel/osrelease").read_text().strip() in shown
    assert re.search(r"^(ok|MISSING) +CAP_BPF", shown, re.MULTILINE)


def test_manual_and_completion_have_each_command() -> None:
    usage = ctl("--help").stdout
    commands = set(re.findall(r"^  ([a-z]+) ", usage, re.MULTILINE))
    assert len(commands) == 12
    manual = (KERNEL / "ctl" / "ndmctl.8").read_text()
    assert set(re.findall(r"^\.It Cm ([a-z]+)", manual, re.MULTILINE)) == commands
    completion = (KERNEL / "ctl" / "ndmctl.bash").read_text()
    words = re.search(r'COMP_CWORD" = 1.*?-W "([a-z ]+)"', completion, re.DOTALL)
    assert words is not None
    assert set(words[1].split()) == commands


@pytest.mark.parametrize(
    ("script", "file"),
    [("ctl/install.sh", "/usr/sbin/ndmctl"), ("install.sh", f"/usr/src/ndm-tcp-{VERSION}/dkms.conf")],
)
@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_files_of_a_package_stay(tmp_path: Path, script: str, file: str, action: str) -> None:
    database = tmp_path / "var" / "lib" / "dpkg"
    (database / "info").mkdir(parents=True)
    (database / "info" / "mine.list").write_text(f"{file}\n")
    (database / "status").write_text(
        "Package: mine\nStatus: install ok installed\nVersion: 1\nArchitecture: all\nMaintainer: me\nDescription: it\n"
    )
    (tmp_path / file[1:]).parent.mkdir(parents=True)
    (tmp_path / file[1:]).touch()
    environment = os.environ | {"DESTDIR": str(tmp_path)}
    done = subprocess.run([KERNEL / script, action], env=environment, capture_output=True, text=True)
    assert "is a package's, nothing was changed: apt remove ndm-tcp" in done.stderr
    assert (done.stderr.count("\n"), done.returncode) == (1, 1)
    assert [file.name for file in (tmp_path / "usr").rglob("*") if file.is_file()] == [file.rpartition("/")[2]]


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
