"""Has the kernel draw what it draws only once, at the first use, before any run is seeded.

The keys of TCP's sequence numbers, time stamps and hash tables are such secrets. They decide nothing that a run shows,
but drawn within a run they would move all random numbers behind them: the first run of a boot would be another one than
the same run later on.
"""

from __future__ import annotations

import socket
import struct

DATAGRAM_BYTES = 60_000  # more than any MTU short of it: its fragments need an IP identification


def draw_secrets() -> None:
    """Make a TCP connection and send a fragmented datagram over lo."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        # it ends with a reset, so that the kernel keeps nothing of what it measured
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"x")
            accepted.recv(1)
            client.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.sendto(bytes(DATAGRAM_BYTES), receiver.getsockname())
        receiver.recv(DATAGRAM_BYTES)
