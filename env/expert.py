"""A congestion control of the lab's kernel in the place of the policy, measured and judged exactly as the policy is."""

from __future__ import annotations

from dataclasses import dataclass

from env.lab import Lab, LabError

MODULE = "tcp_expert"
PARAMETER = f"/sys/module/{MODULE}/parameters/scheme"  # in the guest


@dataclass(frozen=True)
class Expert:
    """A congestion control: what people call it, its name in the kernel, its module ("" for none), its constant window.

    packets: 0 where the window is not constant.
    """

    name: str
    algorithm: str
    module: str = ""
    packets: int = 0

    @property
    def watched(self) -> str:
        """What it is called with NDM's inputs measured beside it."""
        return f"expert_{self.algorithm}"

    @property
    def sets_rate(self) -> bool:
        """False for a constant window, whose pacing rate nobody sets."""
        return not self.packets

    @property
    def modules(self) -> tuple[str, ...]:
        """What a lab needs for it."""
        return (*([self.module] if self.module else []), MODULE)

    def register(self, lab: Lab) -> None:
        """Have it watched in a lab, its modules loaded; once more changes nothing. Raises LabError."""
        for module in self.modules:
            lab.load(module)
        commands = [f"echo {self.algorithm} >{PARAMETER}"]
        if self.packets:
            commands.insert(0, f"echo {self.packets} >/sys/module/{self.module}/parameters/packets")
        done = lab.call("shell", command=" && ".join(commands))
        if done["status"]:
            why = lab.call("shell", command="dmesg | tail -n 1")["stdout"].strip()
            raise LabError(f"{self.name} cannot teach: {why}")
