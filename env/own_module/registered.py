"""Loads a user's module into a lab to see which congestion controls it registers."""

from __future__ import annotations

from pathlib import Path

from env.errors import UserError, first_line
from env.lab import GuestDied, GuestFailed, GuestHung, Lab, ModuleInTheWay
from env.own_module.module_info import described_parameters

AVAILABLE = "cat /proc/sys/net/ipv4/tcp_available_congestion_control"
MAX_NAME = 15  # characters: TCP_CA_NAME_MAX without the byte at the end
HANGS_AFTER_S = 60.0  # wall time; a virtual machine boots meanwhile


def registered_algorithm(lab: Lab, module: Path, parameters: str, name: str) -> str:
    """Return the kernel's name of a module's congestion control.

    lab: one that is not needed any more, as the module stays loaded. parameters: for the module. name: chooses among
    several. Raises UserError when the kernel does not take the module, or the module registers none.
    """
    before = _available(lab)
    lab.timeout_s = HANGS_AFTER_S
    try:
        lab.load(module, parameters)
    except ModuleInTheWay as error:
        raise UserError(
            f"{module.name}: the kernel has a module or a congestion control of this name: rename it; the congestion "
            f"controls are {', '.join(before)}"
        ) from error
    except GuestFailed as error:
        reason = first_line(error)
        if parameters and "Invalid parameters" in reason:
            reason += f". It has the parameters {described_parameters(module)}; a value may also be out of its range"
        raise UserError(f"the kernel does not load {module.name}: {reason}") from error
    except GuestHung as error:
        raise UserError(f"{module.name} hangs the kernel when it is loaded: {error}") from error
    except GuestDied as error:
        raise UserError(f"{module.name} crashes the kernel when it is loaded: {error}") from error
    added = [algorithm for algorithm in _available(lab) if algorithm not in before]
    for algorithm in added:
        if len(algorithm) > MAX_NAME:  # the kernel prints what lies behind it in memory, too
            raise UserError(
                f"{module.name}: the name of its congestion control, {algorithm[: MAX_NAME + 1]!a}..., has more "
                f"than {MAX_NAME} characters: give .name in its tcp_congestion_ops a shorter one"
            )
    if len(added) == 1:
        return added[0]
    if not added:
        raise UserError(f"{module.name} registers no congestion control (tcp_register_congestion_control)")
    if name not in added:
        raise UserError(f"{module.name} registers several: name the scheme after one of them: {', '.join(added)}")
    return name


def _available(lab: Lab) -> list[str]:
    return str(lab.call("shell", command=AVAILABLE)["stdout"]).split()
