"""Programs that a test runs inside the lab's guest."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from env.lab import Lab

# Both ends of a connection over the guest's `lo`, as the first lines of a program that the guest runs.
CONNECTION = """
import socket, struct, subprocess, threading, time
def connect(scheme):
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, scheme.encode())
    sender.connect(listener.getsockname())
    receiver, _ = listener.accept()
    listener.close()
    # closing is a reset: no later decision of this connection falls into the next command
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return sender, receiver
def send(sender, receiver, size):
    sending = threading.Thread(target=sender.sendall, args=(bytes(size),))
    sending.start()
    while size:
        size -= len(receiver.recv(min(size, 1 << 20)))
    sending.join()
def tc(command):
    subprocess.run(("tc qdisc " + command).split(), check=True)
def tcp_info(sender):
    # options, then from byte 8 on unsigned ints: number 17 is ssthresh, 18 is cwnd, 23 all retransmissions
    return struct.unpack_from("24I", sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 8)
"""


def program(text: str) -> str:
    """Return a shell command that runs a Python program in the guest, behind CONNECTION."""
    return f"/usr/bin/python3 - <<'END'\n{CONNECTION}{textwrap.dedent(text)}\nEND"


def shell(lab: Lab, command: str) -> str:
    """Run a command in the guest, which must succeed, and return what it printed."""
    done = lab.call("shell", command=command)
    assert done["status"] == 0, done
    return str(done["stdout"]).strip()


def pids(lab: Lab, program: str) -> list[str]:
    """Return the processes of a program in the guest."""
    return shell(
        lab, f'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" != {program} ] || echo ${{p#/proc/}}; done'
    ).split()


def kill(lab: Lab, program: str) -> None:
    """Kill the processes of a program in the guest."""
    shell(lab, f"kill -9 {' '.join(pids(lab, program))}")
