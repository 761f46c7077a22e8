"""What a BPF object needs of a kernel and of the distribution."""

from __future__ import annotations

import shutil
from pathlib import Path

from env.errors import UserError
from env.own_module.kernel_tree import KernelTree

PROGRAMS = "/usr/sbin:/sbin:/usr/bin:/bin"  # of the guest


def check_bpf(file: Path, parameters: str, kernel: KernelTree) -> None:
    """Raise UserError for an object that cannot be registered."""
    if kernel.is_user_mode:
        raise UserError(f"{file} is a BPF object, and user-mode Linux has no BPF: add lab=vm")
    if parameters:
        raise UserError(f"{file} is a BPF object, which has no parameters: leave out {parameters}")
    if shutil.which("bpftool", path=PROGRAMS) is None:
        raise UserError("bpftool is missing, which registers BPF objects: install the package bpftool")
    sections = file.read_bytes()
    if b".struct_ops.link" in sections or b".struct_ops" not in sections:
        raise UserError(f'{file} needs its tcp_congestion_ops in SEC(".struct_ops"), which bpftool registers')
