"""The agent's end of the channel to the host: the virtual lab's gate, or a stream of bytes."""

from __future__ import annotations

import os
import struct

from env import schema

CHUNK = 1 << 16


class Gate:
    """/dev/lab_gate of the virtual lab (kernel/lab/lab_channel.c). Waiting for a command stops virtual time."""

    _LENGTH = struct.Struct("=I")

    def __init__(self, device: str) -> None:
        # the traffic programs must not inherit it
        self.fd = os.open(device, os.O_RDWR | os.O_CLOEXEC)

    def read_command(self) -> bytes:
        """Return the next COMMAND's payload. The gate halts the lab when the host has closed the channel."""
        data = os.read(self.fd, CHUNK)
        (length,) = self._LENGTH.unpack_from(data)
        while len(data) < self._LENGTH.size + length:
            data += os.read(self.fd, CHUNK)
        return data[self._LENGTH.size :]

    def write_reply(self, payload: bytes) -> None:
        """Send one REPLY."""
        os.write(self.fd, payload)


class Port:
    """A virtio-serial port that carries the frames of env/schema.py."""

    def __init__(self, device: str) -> None:
        self.fd = os.open(device, os.O_RDWR | os.O_CLOEXEC)

    def read_command(self) -> bytes:
        """Return the next COMMAND's payload. Raises EOFError when the host has closed the channel."""
        length, kind, _ = schema.FRAME_HEADER.unpack(self._read(schema.FRAME_HEADER.size))
        if kind != schema.FRAME_COMMAND:
            raise EOFError(f"the host sent a frame of kind {kind}; a command is {schema.FRAME_COMMAND}")
        return self._read(length)

    def write_reply(self, payload: bytes) -> None:
        """Send one REPLY."""
        data = memoryview(schema.FRAME_HEADER.pack(len(payload), schema.FRAME_REPLY, 0) + payload)
        while data:
            data = data[os.write(self.fd, data) :]

    def _read(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            piece = os.read(self.fd, min(CHUNK, length - len(data)))
            if not piece:
                raise EOFError("the host has closed the channel")
            data += piece
        return data


class Socket(Port):
    """The host lab's channel: an inherited socket."""

    def __init__(self, descriptor: str) -> None:
        self.fd = int(descriptor)
        os.set_inheritable(self.fd, False)
