"""Sets a link's rate: an htb class, sent by netlink. Runs in the guest; on the host, tests read the classes.

tc rounds a burst of less than a few microseconds differently from one iproute2 to the next (6.1: down to whole
microseconds; 6.15: up to the kernel's unit), and results would depend on it. So the class goes to the kernel without
tc: rtnetlink(7), struct tc_htb_opt of <linux/pkt_sched.h>.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from dataclasses import dataclass

TICK_NS = 64  # the kernel's unit of a burst: /proc/net/psched

_RTM_NEWTCLASS = 40
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_CREATE = 0x1, 0x4, 0x400
_NLMSG_ERROR = 2
_TCA_KIND, _TCA_OPTIONS = 1, 2
_TCA_HTB_PARMS, _TCA_HTB_RATE64, _TCA_HTB_CEIL64 = 1, 6, 7
_MAX_RATE32 = 0xFFFF_FFFF
_LINKLAYER_ETHERNET = 1  # the kernel then needs no table of transmission times
_SIOCGIFINDEX = 0x8933
_CLONE_NEWNET = 0x4000_0000


@dataclass(frozen=True)
class Shaper:
    """The only class, MAJOR:1, of a device's htb qdisc MAJOR:, created or changed.

    rate_bits: per second. burst_bytes: what a link may send at once after a pause. quantum_bytes: without effect, since
    the class has no sibling; without it the kernel warns.
    """

    device: str
    major: int
    rate_bits: int
    burst_bytes: int
    quantum_bytes: int

    @property
    def burst_ticks(self) -> int:
        """The burst's time at the rate, in units of TICK_NS: rounded down to whole microseconds first, as tc of
        iproute2 6.1 does, with which the published results were measured."""
        burst_us = int(1e6 * (self.burst_bytes / (self.rate_bits // 8)))
        return burst_us * 1000 // TICK_NS

    def request(self, interface: int) -> bytes:
        """Return the message without its header. interface: the device's index."""
        rate = self.rate_bits // 8
        rate32 = min(rate, _MAX_RATE32)
        # struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate
        spec = struct.pack("=BBHhHI", 0, _LINKLAYER_ETHERNET, 0, 0, 0, rate32)
        ticks = self.burst_ticks
        # struct tc_htb_opt: rate, ceil, buffer, cbuffer, quantum, level, prio
        options = _attribute(_TCA_HTB_PARMS, spec + spec + struct.pack("=5I", ticks, ticks, self.quantum_bytes, 0, 0))
        if rate > _MAX_RATE32:
            options += _attribute(_TCA_HTB_RATE64, struct.pack("=Q", rate))
            options += _attribute(_TCA_HTB_CEIL64, struct.pack("=Q", rate))
        # struct tcmsg: family, interface, handle, parent, info
        message = struct.pack("=BxxxiIII", socket.AF_UNSPEC, interface, self.major << 16 | 1, self.major << 16, 0)
        return message + _attribute(_TCA_KIND, b"htb\0") + _attribute(_TCA_OPTIONS, options)


class ShaperSocket:
    """A netlink socket in a network namespace. It stays open: the kernel draws a number for a second one."""

    def __init__(self, namespace: str) -> None:
        """namespace: the path of one. Raises OSError."""
        self._socket = _netlink_socket(namespace)
        self._sequence = 0

    def set(self, shaper: Shaper) -> None:
        """Create or change the class; raises OSError with the kernel's reason."""
        query = struct.pack("16sixxxxxxxxxxxx", shaper.device.encode(), 0)
        (interface,) = struct.unpack_from("i", fcntl.ioctl(self._socket, _SIOCGIFINDEX, query), 16)
        request = shaper.request(interface)
        self._sequence += 1
        flags = _NLM_F_REQUEST | _NLM_F_ACK | _NLM_F_CREATE
        self._socket.send(struct.pack("=IHHII", 16 + len(request), _RTM_NEWTCLASS, flags, self._sequence, 0) + request)
        answer = self._socket.recv(1 << 16)
        _, kind, _, sequence, _, error = struct.unpack_from("=IHHIIi", answer)
        if kind != _NLMSG_ERROR or sequence != self._sequence:
            raise OSError(f"netlink answered with message {kind} of request {sequence}")
        if error:
            raise OSError(-error, os.strerror(-error))


def _attribute(kind: int, value: bytes) -> bytes:
    """Return a netlink attribute, padded to 4 bytes."""
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _netlink_socket(namespace: str) -> socket.socket:
    """Return a route socket of the namespace, which this thread enters for as long as the call takes."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(descriptor: int) -> None:
        if libc.setns(descriptor, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}: {os.strerror(ctypes.get_errno())}")

    own, there = os.open("/proc/thread-self/ns/net", os.O_RDONLY), os.open(namespace, os.O_RDONLY)
    try:
        enter(there)
        try:
            return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        finally:
            enter(own)
    finally:
        os.close(own)
        os.close(there)
