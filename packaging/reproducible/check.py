#!/usr/bin/python3
"""Build everything that a release ships in two folders, and compare the bytes: `make -C packaging reproducible`.

packaging/reproducible/check.py [NAME...]   only these builds, of: lab stock bpf model dist wheel deb

Each folder is a copy of the checkout, changes that are not committed included. They differ in their path, the time
zone, the locale and the time at which files are written. Modules for the lab are built for the checkout's lab kernel.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted(
    path for path in Path("/usr/src").glob("linux-headers-*-amd64") if not re.search(r"-(rt|cloud)-", path.name)
)
# name -> shell command, files that it makes
BUILDS = {
    "lab": (f"kernel/build.sh build/reproducible/lab {ROOT}/build/lab-kernel/tree", "build/reproducible/lab/*.ko"),
    "stock": (
        f"kernel/build.sh build/reproducible/stock {HEADERS[0]}" if HEADERS else "",
        "build/reproducible/stock/*.ko",
    ),
    "bpf": ("kernel/bpf/build.sh build/reproducible/bpf", "build/reproducible/bpf/*.o"),
    "model": (
        "mkdir -p runs && cp -r datasets/models/mixed runs && "
        ".venv/bin/python -m export --run runs/mixed --name mixed && "
        "cp build/exported/models/mixed.h runs/mixed/export",
        "runs/mixed/export/*",
    ),
    "dist": ("make -C packaging dist", "build/dist/*.tar.*"),
    "wheel": ("make -C packaging wheel", "build/dist/ndm_tcp-*"),
    "deb": ("make deb", "build/deb/*.deb"),
}
PLACES = (("a", "UTC", "C"), ("another-folder/of-a-longer-name", "Asia/Tokyo", "C.UTF-8"))


def run(command: str, folder: Path, zone: str = "UTC", locale: str = "C") -> None:
    """Run a shell command, quietly unless it fails; ends the program then."""
    inherited = {name: value for name, value in os.environ.items() if name != "NDM_MODEL_BUILD"}  # another folder
    environment = inherited | {"TZ": zone, "LC_ALL": locale, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(f"make -C packaging reproducible: `{command}` failed:\n{done.stdout[-4000:]}")


def copy_checkout(folder: Path) -> None:
    """Make a copy of the checkout with its history, as a fresh clone has it, and with what is not committed."""
    run(f"git clone --quiet {ROOT} {folder}", ROOT)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--modified", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
        else:
            (folder / name).unlink()
    (folder / ".venv").symlink_to((ROOT / ".venv").resolve())
    for requirements in folder.glob("requirements*.txt"):
        os.utime(requirements, (1, 1))  # .venv is up to date


def hashes(folder: Path, pattern: str) -> dict[str, str]:
    """Return the SHA-256 of each file that a build has made, by its path in the copy."""
    files = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def main(names: list[str]) -> int:
    """Build and compare; returns the exit status."""
    unknown = [name for name in names if name not in BUILDS]
    if unknown:
        print(
            f"make -C packaging reproducible: unknown build {', '.join(unknown)}; there are {', '.join(BUILDS)}",
            file=sys.stderr,
        )
        return 2
    wanted = list(names or BUILDS)
    if "stock" in wanted and not HEADERS:
        wanted.remove("stock")
        print("stock: left out, no linux-headers-amd64")
    different = 0
    with tempfile.TemporaryDirectory(prefix="reproducible-") as work:
        folders = [Path(work) / place for place, _, _ in PLACES]
        for folder in folders:
            copy_checkout(folder)
        for name in wanted:
            command, pattern = BUILDS[name]
            for folder, (_, zone, locale) in zip(folders, PLACES, strict=True):
                run(command, folder, zone, locale)
            first, second = (hashes(folder, pattern) for folder in folders)
            if not first:
                print(f"{name}: `{command}` made no {pattern}", file=sys.stderr)
                different += 1
            for file in sorted(first | second):
                same = first.get(file) == second.get(file)
                different += not same
                print(f"{name}: {file}: {first[file][:16] if same else 'DIFFERENT'}", flush=True)
    print(f"{different} of the files differ" if different else "all files are the same bytes in both folders")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
