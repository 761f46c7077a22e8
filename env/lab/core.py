"""Chooses the CPU core on which a lab runs.

A lab has one host process for its kernel and one for each program in the guest. Exactly one of them runs at any time,
and they switch thousands of times a second. When the scheduler spreads them over cores, each switch wakes an idle core,
which costs more than the work itself. Pinned to one core each, two labs make nearly twice the decisions per second.
"""

from __future__ import annotations

import errno
import os
import socket
from itertools import count

NAME = "ndm-tcp-lab"  # prefix of the claims' socket names, the same for all labs of a machine


class Core:
    """A claim on a core that this process may use: the one with the fewest claims of all processes.

    The claim is a name in the abstract namespace of Unix sockets. All users of the machine share this namespace; a name
    leaves no file, and ends with close() or with the process, however the process dies.
    """

    def __init__(self) -> None:
        self._claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.number = self._choose()

    def _choose(self) -> int:
        cores = sorted(os.sched_getaffinity(0))
        for labs in count():
            for core in cores:
                try:
                    self._claim.bind(f"\0{NAME}/core-{core}/{labs}")
                except OSError as error:
                    if error.errno != errno.EADDRINUSE:
                        raise
                else:
                    return core
        raise AssertionError  # count() does not end

    def close(self) -> None:
        """Give the core back. Safe to call twice."""
        self._claim.close()
