"""What a script finds in a lab besides the machine's files: its variables and a date."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

from env.checkout import ROOT

# the lab's own programs first, then the system's, which find the distribution's Mininet
PATH = "/run/lab:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ALWAYS = {
    "USER": "root",
    "LOGNAME": "root",
    "LC_ALL": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
# folders, displays, services, networks and a surrounding make that a lab lacks, and what changes which programs run and
# how they print
KEPT_BACK = re.compile(
    "LANG(UAGE)?|LC_.*|PYTHONHOME|VIRTUAL_ENV.*|TMPDIR|TMP|TEMP|XDG_RUNTIME_DIR|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY"
    "|DBUS_.*|SSH_.*|SUDO_.*|MAKE(FLAGS|LEVEL|OVERRIDES|_TERM.*)|MFLAGS|(?i:(ftp|http|https|all|no)_proxy)"
)
DAY_S = 86400


def environment(term: str) -> dict[str, str]:
    """Return the script's variables: the caller's, but for KEPT_BACK. term: the kind of its terminal."""
    given = {name: value for name, value in os.environ.items() if not KEPT_BACK.fullmatch(name)}
    searched = [folder for folder in given.get("PATH", "").split(":") if folder != f"{sys.prefix}/bin"]
    modules = [folder for folder in given.pop("PYTHONPATH", "").split(":") if folder and Path(folder).resolve() != ROOT]
    given |= {"PYTHONPATH": ":".join(modules)} if modules else {}
    return given | ALWAYS | {"PATH": ":".join(dict.fromkeys([*PATH.split(":"), *searched])), "TERM": term}


def date_after(folder: Path) -> int:
    """Return the first midnight, UTC, after all files below a folder, in seconds since 1970. Hidden folders do not
    count. A certificate that was made there is valid then, and make does not build again what is built."""
    newest_s = 0.0
    for parent, children, files in os.walk(folder):
        children[:] = [name for name in children if not name.startswith(".")]
        with contextlib.suppress(FileNotFoundError):
            newest_s = max(newest_s, *(os.lstat(f"{parent}/{name}").st_mtime for name in files), 0.0)
    return (int(newest_s) // DAY_S + 1) * DAY_S
