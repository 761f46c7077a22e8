"""An expert: a congestion control of the kernel that takes the policy's place, with the same measurements and
rewards."""

from __future__ import annotations

from dataclasses import dataclass

from env.lab import Lab, LabError

MODULE = "tcp_expert"
PARAMETER = f"/sys/module/{MODULE}/parameters/scheme"  # in the guest
DEFAULT_EXPERTS = ("bbr", "cubic", "illinois")  # of recordings and of a curriculum's contests


@dataclass(frozen=True)
class Expert:
    """A congestion control.

    name: in tables and files. algorithm: name in the kernel. module: the kernel module with it, a name or a file; "" if
    the lab's kernel contains it. packets: the window of a scheme with a constant window, 0 for others. parameters: of
    the module.
    """

    name: str
    algorithm: str
    module: str = ""
    packets: int = 0
    parameters: str = ""

    @property
    def measured_algorithm(self) -> str:
        """The kernel's name of the algorithm under tcp_expert, which measures NDM's inputs while it runs."""
        return f"expert_{self.algorithm}"

    @property
    def sets_rate(self) -> bool:
        """False for a constant window, which leaves the pacing rate alone."""
        return not self.packets

    @property
    def modules(self) -> tuple[str, ...]:
        """The kernel modules that a lab needs for it."""
        return (*([self.module] if self.module else []), MODULE)

    def register(self, lab: Lab) -> None:
        """Load its modules and make `measured_algorithm` available in a lab; idempotent. Raises LabError."""
        if self.module:
            lab.load(self.module, self.parameters)
        lab.load(MODULE)
        commands = [f"echo {self.algorithm} >{PARAMETER}"]
        if self.packets:
            commands.insert(0, f"echo {self.packets} >/sys/module/{self.module}/parameters/packets")
        reply = lab.call("shell", command=" && ".join(commands))
        if reply["status"]:
            reason = lab.call("shell", command="dmesg | tail -n 1")["stdout"].strip()
            raise LabError(f"{self.name} cannot be recorded as an expert: {reason}")
