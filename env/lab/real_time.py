"""What the labs in real time share: no seed, no racks, and runs that do not count when the machine was late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from env.checkout import BUILD
from env.lab.errors import LabError
from env.lab.virtual import VirtualLab
from env.network.clock import REAL
from env.network.path import Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from env.network.rack import Rack

PULSE = BUILD / "pulse"

# A run in real time counts when 99 % of the guest's timers came within the time that a bottleneck's burst makes up for,
# all within half of a usual round trip, and its CPU had time to spare.
LATE_P99_US = REAL.burst_us
LATE_MAX_US = 20_000.0
IDLE_PCT = 20.0


class NotKeptUp(LabError):
    """A run in real time for which the machine was too slow, or too busy; its result does not count."""


class RealTimeLab(VirtualLab):
    """A lab whose kernel is not ours and whose clock is a machine's.

    Results have `pulse` besides: how late the guest's timers came, and how idle its CPU was (env/lab/pulse). A run that
    was not kept up with is refused. Racks are not possible: their rates are beyond such a machine.
    """

    def _seed_of_run(self, seed: int | None) -> int | None:  # noqa: ARG002 (as the virtual lab's)
        """A stock kernel's randomness cannot be chosen."""
        return None

    def begin_run(self, path: Path | Rack, flows: Sequence[dict[str, Any]], duration_s: float, **options: Any) -> None:
        """Send a `run` command, as the virtual lab does; a seed is taken and not used."""
        if not isinstance(path, Path):
            raise LabError(
                "a rack cannot be run in real time: no machine carries its rates; take a scenario with a path"
            )
        super().begin_run(path, flows, duration_s, pulse=str(PULSE), **options)

    def run(
        self, path: Path | Rack, flows: Sequence[dict[str, Any]], duration_s: float, **options: Any
    ) -> dict[str, Any]:
        """Run flows to their end, as the virtual lab does. Raises NotKeptUp when the guest was not in time."""
        result = super().run(path, flows, duration_s, **options)
        check_kept_up(result["pulse"])
        return result


def check_kept_up(pulse: dict[str, float]) -> None:
    """Raise NotKeptUp for a pulse (env/lab/pulse) of a guest that was not in time."""
    late_p99_us, late_max_us, idle_pct = pulse["late_p99_us"], pulse["late_max_us"], pulse["idle_pct"]
    if late_p99_us > LATE_P99_US or late_max_us > LATE_MAX_US or idle_pct < IDLE_PCT:
        raise NotKeptUp(
            f"the machine did not keep up with a run in real time: of the guest's timers 99 % came within "
            f"{late_p99_us:.0f} us (allowed: {LATE_P99_US:.0f}), the latest after {late_max_us:.0f} us (allowed: "
            f"{LATE_MAX_US:.0f}), and its CPU was idle for {idle_pct:.0f} % of the time (needed: {IDLE_PCT:.0f}); "
            f"run nothing else beside it, or a scenario with a lower rate"
        )
