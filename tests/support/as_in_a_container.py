"""What a container's default seccomp profile forbids, for tests that run a lab without one."""

from __future__ import annotations

import ctypes
import struct

PERSONALITY = 135  # amd64
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
EPERM, ALLOW = 0x00050001, 0x7FFF0000


def forbid_personality() -> None:
    """Let personality(2) fail with EPERM in this process and in those that it starts."""
    program = [(LOAD_NUMBER, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, PERSONALITY), (RETURN, 0, 0, EPERM), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0)):
        if prctl(*arguments):
            raise OSError(ctypes.get_errno(), f"prctl{arguments[:2]}")
