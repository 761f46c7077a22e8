"""Which core a lab runs on.

Of a lab's host processes, the kernel and one per program in it, exactly one runs at any time, and they hand over to
each other thousands of times a second. Where the scheduler spreads them over cores, each hand-over wakes an idle core,
which costs more than the work itself: kept on one core each, two labs make nearly twice the decisions per second.
"""

from __future__ import annotations

import errno
import os
import socket
from itertools import count

NAME = "ndm-tcp-lab"  # of the claims: all labs of a machine count together


class Core:
    """A claim on one of the cores that this process may use, the one with the fewest labs of all processes on it.

    The claim is a name in the abstract namespace of Unix sockets: it is shared by all users of the machine, leaves no
    file, and ends with close() or with the process, however that dies.
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
