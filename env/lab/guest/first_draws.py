"""Makes the kernel draw its one-time secrets before any run is seeded.

The kernel draws the keys of TCP's sequence numbers, time stamps and hash tables at their first use. A draw within a run
would shift all later random numbers, and the key of the hash of flows says which flows share a queue of cake: the first
run after a boot would differ from the same run later.
"""

from __future__ import annotations

import socket
import struct
import subprocess

DATAGRAM_BYTES = 60_000  # more than an MTU: the fragments need an IP identification, whose key is such a secret

# Each place in the kernel that hashes a flow draws the key anew: those of a queue that asks for a packet's hash, and of
# one that hashes addresses itself.
HASHING_QUEUES = ("fq_codel", "cake")


def draw_secrets() -> None:
    """Make a TCP connection over lo, and send a fragmented datagram through each queue that hashes flows."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        # the connection ends with a reset, so that the kernel stores no TCP metrics
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"x")
            accepted.recv(1)
            client.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        for queue in HASHING_QUEUES:
            subprocess.run(["tc", "qdisc", "replace", "dev", "lo", "root", queue], check=True)
            receiver.sendto(bytes(DATAGRAM_BYTES), receiver.getsockname())
            receiver.recv(DATAGRAM_BYTES)
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=True)
