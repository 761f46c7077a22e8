"""What a hostile network does to flows, for programs in the lab's guest: two namespaces, a veth, netem at both ends.

Standard library only.
"""

from __future__ import annotations

import ctypes
import faulthandler
import itertools
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NEAR, FAR = "near", "far"
ADDRESSES = {NEAR: "192.0.2.1", FAR: "192.0.2.2"}
BLOCK = bytes(itertools.islice(itertools.cycle(range(251)), 251 * 512))  # the byte at position p is p modulo 251
CHOSEN = "/tmp/chosen"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing is a reset
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Make the sockets of the block in a namespace."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if _libc.setns(there, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
        yield
    finally:
        _libc.setns(home, _CLONE_NEWNET)
        os.close(home)
        os.close(there)


def ip(namespace: str, command: str) -> None:
    """Run an ip command in a namespace, which must succeed."""
    subprocess.run(["ip", "-n", namespace, *command.split()], check=True)


def link(there: str, back: str = "delay 10ms") -> None:
    """Set what netem does on the way to the receiver, and on the way back."""
    for namespace, options in ((NEAR, there), (FAR, back)):
        command = f"tc -n {namespace} qdisc replace dev {namespace} root netem limit 10000 {options}"
        subprocess.run(command.split(), check=True)


def give_up_after(seconds: float) -> None:
    """End the program with what its threads and connections do, should it still run then: something is stuck."""

    def give_up() -> None:
        time.sleep(seconds)
        for namespace in (NEAR, FAR):
            shown = subprocess.run(["ip", "netns", "exec", namespace, "ss", "-tanio"], capture_output=True, text=True)
            print(namespace, shown.stdout, file=sys.stderr)
        faulthandler.dump_traceback()
        os._exit(1)

    threading.Thread(target=give_up, daemon=True).start()


def choose(sender: socket.socket, algorithm: str) -> None:
    """Give a socket another congestion control; how often it was ndm is what CHOSEN has bytes."""
    if algorithm == "ndm":
        with open(CHOSEN, "ab", buffering=0) as file:
            file.write(b".")
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())


def connect(algorithm: str = "ndm", receive_bytes: int = 0) -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection, the sender's first. receive_bytes: the receiver's buffer, 0 for the kernel's.

    Over a link that lets the handshake through: a receiver that never hears its end forgets the connection.
    """
    with inside(FAR):
        listener = socket.socket()
        if receive_bytes:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        listener.bind((ADDRESSES[FAR], 0))
        listener.listen()
    with inside(NEAR):
        sender = socket.socket()
    choose(sender, algorithm)
    sender.connect(listener.getsockname())
    receiver, _ = listener.accept()
    listener.close()
    return sender, receiver


def ca_state(sender: socket.socket) -> str:
    """Return the name of the state that loss recovery is in."""
    return ("Open", "Disorder", "CWR", "Recovery", "Loss")[
        sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[1]
    ]


def info(sender: socket.socket) -> dict[str, int]:
    """Return fields of TCP_INFO."""
    data = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    words = struct.unpack_from("24I", data, 8)
    return {"backoff": data[4], "srtt_us": words[15], "cwnd": words[18], "retransmits": words[23]}


class Flow:
    """A connection that sends all the time, and whose receiver checks every byte."""

    def __init__(self, algorithm: str = "ndm", receive_bytes: int = 0) -> None:
        self.sender, self.receiver = connect(algorithm, receive_bytes)
        self.sent = self.received = self.wrong = 0
        self.cwnds: list[int] = []
        self.retransmits = 0
        self._more = True
        self.reading = threading.Event()
        self.reading.set()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        while self._more:
            start = self.sent % 251
            self.sent += self.sender.send(BLOCK[start : start + 65536])
        self.sender.shutdown(socket.SHUT_WR)

    def _read(self) -> None:
        while True:
            self.reading.wait()
            data = self.receiver.recv(65536)
            if not data:
                return
            start = self.received % 251
            self.wrong += data != BLOCK[start : start + len(data)]
            self.received += len(data)

    def stop(self) -> None:
        """Let the sender write no more."""
        self._more = False

    def watch(self, seconds: float, every_s: float = 0.01) -> None:
        """Look at the window all the while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(every_s)
            seen = info(self.sender)
            self.cwnds.append(seen["cwnd"])
            self.retransmits = seen["retransmits"]

    def finish(self) -> dict[str, int]:
        """Send what is there, close both ends, and return what came of it."""
        self.stop()
        for thread in self._threads:
            thread.join()
        self.sender.close()
        self.receiver.close()
        return {
            "sent": self.sent,
            "received": self.received,
            "wrong": self.wrong,
            "least_cwnd": min(self.cwnds),
            "most_cwnd": max(self.cwnds),
            "retransmits": self.retransmits,
        }
