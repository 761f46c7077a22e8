"""The Debian packages' files fit the project's own."""

from __future__ import annotations

import importlib.util
import re

from env.checkout import ROOT

DEBIAN = ROOT / "packaging" / "debian"
# debhelper's virtual packages
REAL = {"debhelper-compat": "debhelper", "dh-sequence-dkms": "dh-dkms"}


def test_setup_installs_what_the_packages_are_built_with() -> None:
    lines = re.findall(r"^Build-Depends[^:]*: (.*)$", (DEBIAN / "control").read_text(), re.MULTILINE)
    needed = {re.sub(r" \(.*\)", "", name) for line in lines for name in line.split(", ")}
    spec = importlib.util.spec_from_file_location("packages", ROOT / "setup" / "packages.py")
    assert spec is not None
    assert spec.loader is not None
    packages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(packages)
    assert {REAL.get(name, name) for name in needed} <= set(packages.BESIDES["deb"])


def test_overrides_have_a_reason() -> None:
    for file in DEBIAN.glob("*.lintian-overrides"):
        lines = file.read_text().splitlines()
        overrides = [number for number, line in enumerate(lines) if not line.startswith("#")]
        assert overrides
        assert all(number > 0 and lines[number - 1].startswith("#") for number in overrides), file.name
