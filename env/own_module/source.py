"""What a user gives as a congestion control: a C file, a folder that Kbuild builds, or a module that is built."""

from __future__ import annotations

import fnmatch
import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from env.errors import UserError
from env.network.own_scheme import SOURCES

MAKEFILES = ("Kbuild", "Makefile")
# what Kbuild and version control leave in a folder
PRODUCTS = ("*.o", "*.ko", "*.a", "*.mod", "*.mod.c", "*.cmd", "modules.order", "Module.symvers", ".*")
CHOICE = "a C file (.c), a folder with a Kbuild, a built module (.ko) or a BPF object (.o)"
MOST_FILES, MOST_BYTES = 2000, 50 << 20  # more is some other folder, given by mistake


@dataclass(frozen=True)
class Source:
    """The source of one module. path: as given, absolute. files: those that are built, relative to folder."""

    path: Path
    folder: Path
    files: tuple[Path, ...]

    @property
    def is_built(self) -> bool:
        """True for a module that is built already, or a BPF object."""
        return self.path.suffix != ".c" and not self.path.is_dir()

    @property
    def is_bpf(self) -> bool:
        """True for a BPF object."""
        return self.path.suffix == ".o" and self.is_built

    @property
    def makefile(self) -> str:
        """Return the text of a Kbuild for sources that bring none, empty for others."""
        if any(str(file) in MAKEFILES for file in self.files):
            return ""
        (unit,) = _units(self.files)
        return f"obj-m := {unit.stem}.o\nccflags-y += -I{self.folder}\n"

    def sha256(self) -> str:
        """Return a hash of the names and bytes of all files."""
        digest = hashlib.sha256(self.makefile.encode())
        for file in self.files:
            content = (self.folder / file).read_bytes()
            digest.update(f"{file} {len(content)}\n".encode() + content)
        return digest.hexdigest()

    def copy_to(self, folder: Path) -> None:
        """Copy the files, so that nothing is written beside the user's."""
        for file in self.files:
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.folder / file, target)
        if self.makefile:
            (folder / MAKEFILES[0]).write_text(self.makefile)


def find_source(path: str) -> Source:
    """Return what is at a path, all of whose files can be read. Raises UserError."""
    try:
        source = _found(path)
        for file in source.files:
            (source.folder / file).open("rb").close()
    except PermissionError as error:
        raise UserError(f"{error.filename} cannot be read: {error.strerror}; its owner has to allow it") from error
    return source


def _found(path: str) -> Source:
    given = Path(path).expanduser().absolute()
    if " " in str(given):
        raise UserError(f"{given}: Kbuild takes no path with a space")
    if given.is_dir():
        return _of_folder(given)
    if not given.is_file():
        raise UserError(f"{given} does not exist; give {CHOICE}")
    if given.suffix not in SOURCES:
        raise UserError(f"{given} is no source: give {CHOICE}")
    headers = sorted(file.relative_to(given.parent) for file in given.parent.glob("*.h") if file.is_file())
    return Source(given, given.parent, (Path(given.name), *(headers if given.suffix == ".c" else ())))


def _of_folder(folder: Path) -> Source:
    files, size = [], 0
    for file in sorted(folder.rglob("*")):
        relative = file.relative_to(folder)
        if not file.is_file() or any(fnmatch.fnmatch(part, product) for part in relative.parts for product in PRODUCTS):
            continue
        files.append(relative)
        size += file.stat().st_size
        if len(files) > MOST_FILES or size > MOST_BYTES:
            raise UserError(
                f"{folder} has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB: give the module's own folder"
            )
    units = _units(files)
    if not any(str(file) in MAKEFILES for file in files) and len(units) != 1:
        raise UserError(
            f"{folder} has no Kbuild and no Makefile, and {len(units)} C files: give the C file, or write a Kbuild "
            "with obj-m := tcp_NAME.o"
        )
    return Source(folder, folder, tuple(files))


def _units(files: Sequence[Path]) -> list[Path]:
    """Return the C files that are not in a folder of their own."""
    return [file for file in files if file.suffix == ".c" and len(file.parts) == 1]
