"""Connections for the programs that tests run in the lab's guest: over lo, or between two namespaces with netem.

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
from collections.abc import Iterator
from contextlib import contextmanager

NEAR, FAR = "near", "far"
FAR_ADDRESS = "192.0.2.2"
BLOCK = bytes(itertools.islice(itertools.cycle(range(251)), 251 * 512))  # the byte at position p is p modulo 251
CHOSEN = "/tmp/chosen"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing is a reset
_CLONE_NEWNET = 0x40000000
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 32, 33, 35
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Make the sockets of the block in a namespace, given by its name or its path."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    target = os.open(os.path.join("/run/netns", namespace), os.O_RDONLY)
    try:
        if _libc.setns(target, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
        yield
    finally:
        _libc.setns(home, _CLONE_NEWNET)
        os.close(home)
        os.close(target)


def ip(namespace: str, command: str) -> None:
    """Run an ip command in a namespace, which must succeed."""
    subprocess.run(["ip", "-n", namespace, *command.split()], check=True)


def tc(command: str) -> None:
    """Run a tc qdisc command, which must succeed."""
    subprocess.run(f"tc qdisc {command}".split(), check=True)


def lo(options: str) -> None:
    """Set what netem does to the packets of lo."""
    tc(f"change dev lo root netem limit 10000 {options}")


def link(forward: str, back: str = "delay 10ms") -> None:
    """Set what netem does to the packets between the namespaces: from near to far, and back."""
    for namespace, options in ((NEAR, forward), (FAR, back)):
        command = f"tc -n {namespace} qdisc replace dev {namespace} root netem limit 10000 {options}"
        subprocess.run(command.split(), check=True)


def give_up_after(seconds: float) -> None:
    """If the program still runs then, print what its threads and connections do, and end it."""

    def give_up() -> None:
        time.sleep(seconds)
        for namespace in (NEAR, FAR):
            shown = subprocess.run(["ip", "netns", "exec", namespace, "ss", "-tanio"], capture_output=True, text=True)
            print(namespace, shown.stdout, file=sys.stderr)
        faulthandler.dump_traceback()
        os._exit(1)

    threading.Thread(target=give_up, daemon=True).start()


def choose(sender: socket.socket, algorithm: str) -> None:
    """Give a socket a congestion control. The size of the file CHOSEN counts how often it was ndm."""
    if algorithm == "ndm":
        with open(CHOSEN, "ab", buffering=0) as file:
            file.write(b".")
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())


def connect(algorithm: str) -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection over lo, the sender's first."""
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.socket()
    choose(sender, algorithm)
    sender.connect(listener.getsockname())
    receiver, _ = listener.accept()
    listener.close()
    # with a reset, no later decision of this connection falls into the next command
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    return sender, receiver


def connect_far(algorithm: str = "ndm", receive_bytes: int = 0) -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection from near to far. receive_bytes: the receiver's buffer, 0 for the kernel's.

    The link must let the handshake through: a receiver that does not get its last segment forgets the connection.
    """
    with inside(FAR):
        listener = socket.socket()
        if receive_bytes:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        listener.bind((FAR_ADDRESS, 0))
        listener.listen()
    with inside(NEAR):
        sender = socket.socket()
    choose(sender, algorithm)
    sender.connect(listener.getsockname())
    receiver, _ = listener.accept()
    listener.close()
    return sender, receiver


def send(sender: socket.socket, receiver: socket.socket, size: int) -> None:
    """Send bytes and wait until all have arrived."""
    sending = threading.Thread(target=sender.sendall, args=(bytes(size),))
    sending.start()
    drain(receiver, size)
    sending.join()


def measuring_socket(family: int, protocol: int = 0) -> socket.socket:
    """Return a datagram socket with time stamps, whose buffers hold all packets of a test."""
    datagrams = socket.socket(family, socket.SOCK_DGRAM, protocol)
    datagrams.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
        datagrams.setsockopt(socket.SOL_SOCKET, option, 1 << 26)
    return datagrams


def send_numbered(
    sender: socket.socket, address: tuple[object, ...], begin_ns: int, packets: list[tuple[float, int]]
) -> list[int]:
    """Send packets that carry their number; packets: ns since begin_ns, and bytes. Return when each was sent, in ns."""
    sent_ns = []
    for number, (at_ns, size) in enumerate(packets):
        wait_ns = begin_ns + at_ns - time.monotonic_ns()
        if wait_ns > 0:
            time.sleep(wait_ns / 1e9)
        sent_ns.append(time.monotonic_ns())
        try:
            sender.sendto(struct.pack("I", number) + bytes(size - 4), address)
        except OSError:
            pass  # a full queue has dropped it
    return sent_ns


def received_numbers(receiver: socket.socket) -> list[tuple[int, int]]:
    """Return the number and the time, ns of CLOCK_MONOTONIC, of each packet that has arrived."""
    receiver.setblocking(False)
    offset_ns = time.time_ns() - time.monotonic_ns()
    arrivals = []
    while True:
        try:
            data, ancillary, _, _ = receiver.recvmsg(2048, 64)
        except BlockingIOError:
            return arrivals
        seconds, ns = struct.unpack("qq", ancillary[0][2])
        arrivals.append((struct.unpack_from("I", data)[0], seconds * 10**9 + ns - offset_ns))


def fill_and_wait(sender: socket.socket, seconds: float) -> int:
    """Write until the socket's buffer is full, wait, and return how many bytes it took."""
    sender.setblocking(False)
    queued = 0
    try:
        while True:
            queued += sender.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    time.sleep(seconds)
    sender.setblocking(True)
    return queued


def drain(receiver: socket.socket, size: int) -> None:
    """Read so many bytes."""
    while size:
        size -= len(receiver.recv(min(size, 1 << 20)))


def rmmod(module: str) -> int:
    """Unload a module; return the exit status."""
    return subprocess.run(["rmmod", module], capture_output=True).returncode


def counter(name: str) -> int:
    """Return a counter of the kernel's TcpExt table."""
    with open("/proc/net/netstat") as file:
        names, values = (line.split() for line in file if line.startswith("TcpExt:"))
    return int(values[names.index(name)])


def ca_state(sender: socket.socket) -> str:
    """Return the name of the state that loss recovery is in."""
    states = ("Open", "Disorder", "CWR", "Recovery", "Loss")
    return states[sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[1]]


def info(sender: socket.socket) -> dict[str, int]:
    """Return fields of TCP_INFO."""
    data = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    words = struct.unpack_from("24I", data, 8)
    return {
        "backoff": data[4], "srtt_us": words[15], "ssthresh": words[17], "cwnd": words[18], "retransmits": words[23]
    }  # fmt: skip


class Flow:
    """A connection that sends all the time, and whose receiver checks every byte."""

    def __init__(self, sender: socket.socket, receiver: socket.socket) -> None:
        self.sender, self.receiver = sender, receiver
        self.sent = self.received = self.wrong = 0
        self.samples: list[tuple[int, int, int]] = []
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
        """Sample the window, ssthresh and the retransmissions for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(every_s)
            sample = info(self.sender)
            self.samples.append((sample["cwnd"], sample["ssthresh"], sample["retransmits"]))

    def finish(self) -> dict[str, object]:
        """Wait until everything has arrived, close both ends, and return the counts and samples."""
        self.stop()
        for thread in self._threads:
            thread.join()
        self.sender.close()
        self.receiver.close()
        return {"sent": self.sent, "received": self.received, "wrong": self.wrong, "samples": self.samples}
