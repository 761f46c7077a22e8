"""Hatchling's hooks: the dependencies are requirements.txt, and wheel and sdist have the files of the release.

Both packages have the files that git tracks, or that the release lists (packaging/dist/archive.py), whatever else lies
in the folder. The sdist has them as they are, the wheel as the tarball of `make -C packaging dist`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Dependencies(MetadataHookInterface):
    """Takes the dependencies from requirements.txt."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies."""
        lines = Path(self.root, "requirements.txt").read_text().splitlines()
        metadata["dependencies"] = [line for line in lines if line and not line.startswith("#")]


class SourceTree(BuildHookInterface[Any]):
    """Puts the files of the release into the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files that do not exist as such, and list all of them."""
        if version == "editable":
            raise RuntimeError("an editable install would put a module called env on the path: use the checkout itself")
        sys.path.insert(0, str(Path(self.root, "packaging", "dist")))
        import archive

        self._written = tempfile.TemporaryDirectory()
        release = archive.describe()
        if self.target_name == "wheel":
            content = {"ndm_tcp/source.tar.xz": archive.tarball(release)}
        else:
            files = archive.files(release)
            content = {name: files[name][0] for name in (archive.RELEASE, archive.CHECKSUMS)}
            build_data["force_include"] |= {str(Path(self.root, name)): name for name in files if name not in content}
        for number, (name, data) in enumerate(content.items()):
            file = Path(self._written.name, str(number))
            file.write_bytes(data)
            build_data["force_include"][str(file)] = name

    def finalize(self, *_arguments: Any) -> None:
        """Delete the written files."""
        self._written.cleanup()
