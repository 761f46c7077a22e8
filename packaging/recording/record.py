"""Record a command in a terminal, as an asciicast (version 2)::

    python packaging/recording/record.py build/quickstart.cast make quickstart

The command runs in a pseudo-terminal of 120 columns and 32 lines, and shows on this one as well. The recording is kept
when the command fails, and its exit status is returned.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

COLUMNS, LINES = 120, 32


def record(output: Path, command: Sequence[str]) -> int:
    """Run a command and write what it prints to `output`; return its exit status."""
    output.parent.mkdir(parents=True, exist_ok=True)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(LINES))
        os.execvp(command[0], list(command))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begin = time.monotonic()
    with output.open("w") as file:
        header = {"version": 2, "width": COLUMNS, "height": LINES, "command": " ".join(command)}
        file.write(json.dumps(header) + "\n")
        while data := _read(terminal):
            os.write(sys.stdout.fileno(), data)
            file.write(json.dumps([round(time.monotonic() - begin, 3), "o", decoder.decode(data)]) + "\n")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux reports the end of the other side as EIO
        return b""


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(record(Path(sys.argv[1]), sys.argv[2:]))
