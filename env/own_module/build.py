"""Builds a user's module against a kernel, once for each source and kernel."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from env.checkout import cache_folder
from env.errors import UserError
from env.files import sha256
from env.own_module.kernel_tree import KernelTree
from env.own_module.source import Source

SHOWN_LINES = 25
SUMS = "sha256.json"  # beside the modules in the cache
# What sources for older kernels usually have to change: what the compiler then mentions, and the change.
CHANGES = (
    (
        r"cong_control",
        "since Linux 6.10, cong_control takes four arguments: (struct sock *sk, u32 ack, int flag, const struct "
        "rate_sample *rs)",
    ),
    (r"prandom_u32_max", "since Linux 6.2, prandom_u32_max(n) is get_random_u32_below(n)"),
    (r"tso_segs", "this kernel's tcp_congestion_ops calls it u32 (*min_tso_segs)(struct sock *sk)"),
)


def build(source: Source, kernel: KernelTree, name: str) -> Path:
    """Return the module of a source: from the cache, or built.

    name: of the congestion control; it chooses among several modules of a folder. Raises UserError with the
    compiler's lines.
    """
    if source.is_built:
        return source.path
    key = hashlib.sha256(f"{source.sha256()} {kernel.release} {kernel.sha256}".encode()).hexdigest()
    if not (kernel.folder / "Makefile").is_file():
        raise UserError(f"{kernel.folder} has no headers of Linux {kernel.release} to build {source.path} with")
    folder = cache_folder("schemes") / key[:24]
    try:
        if not _is_whole(folder):
            _build_into(folder, source, kernel)
    except OSError as error:
        problem = f"{error.filename}: {error.strerror}"
        raise UserError(f"the cache cannot be used ({problem}); NDM_CACHE=FOLDER names another one") from error
    return _choose(sorted(folder.glob("*.ko")), source, name)


def _build_into(folder: Path, source: Source, kernel: KernelTree) -> None:
    """Build in a temporary folder, then rename it, because two comparisons may build the same source."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder.parent) as temporary:
        work, built = Path(temporary, "source"), Path(temporary, "built")
        work.mkdir()
        built.mkdir()
        source.copy_to(work)
        done = subprocess.run(
            [*kernel.make, f"M={work}", "modules"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        output = (done.stdout + done.stderr).replace(str(work), str(source.folder))
        if done.returncode:
            raise UserError(f"{source.path} does not build for Linux {kernel.release}:\n{_explain(output)}")
        for module in work.rglob("*.ko"):
            shutil.copy2(module, built / module.name)
        (built / SUMS).write_text(json.dumps(_sums(built)))
        if _is_whole(folder):
            return  # the other was faster
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one
        try:
            built.rename(folder)
        except OSError:
            if not _is_whole(folder):
                raise


def _sums(folder: Path) -> dict[str, str]:
    return {module.name: sha256(module) for module in folder.glob("*.ko")}


def _is_whole(folder: Path) -> bool:
    """Return whether a folder of the cache has the modules that were built, unchanged."""
    try:
        return bool(json.loads((folder / SUMS).read_text()) == _sums(folder))
    except (FileNotFoundError, ValueError):
        return False


def _explain(output: str) -> str:
    """Return the compiler's lines from the first error on, and the changes that they usually ask for."""
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if re.search(r"\berror\b|\bERROR\b", line)), 0)
    shown = [line for line in lines[first : first + SHOWN_LINES] if not re.match(r"make(\[\d+\])?: ", line)]
    hints = [change for mentioned, change in CHANGES if re.search(mentioned, "\n".join(lines[first:]))]
    return "\n".join([*shown, *hints])


def _choose(modules: list[Path], source: Source, name: str) -> Path:
    if not modules:
        raise UserError(f"{source.path} builds no module: its Kbuild needs obj-m := tcp_{name}.o")
    if len(modules) == 1:
        return modules[0]
    named = [module for module in modules if module.stem in (name, f"tcp_{name}")]
    if not named:
        names = ", ".join(module.stem.removeprefix("tcp_") for module in modules)
        raise UserError(f"{source.path} builds several modules: name the scheme after one of them: {names}")
    return named[0]
