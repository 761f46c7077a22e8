"""Labs in real time. They run paths only, without a seed, and check that the machine was fast enough for a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from env.checkout import BUILD
from env.lab.errors import LabError
from env.lab.lab import Lab
from env.network.clock import REAL
from env.network.path import Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from env.lab.result import RunResult
    from env.network.networks import Network

PULSE = BUILD / "pulse"

# A run in real time is valid if a bottleneck's burst covered the lateness of 99 % of the guest's timers, no timer was
# later than half of a usual round trip, and the guest's CPU had time left.
LATE_P99_US = REAL.burst_us
LATE_MAX_US = 20_000.0
IDLE_PCT = 20.0


class GuestTooSlow(LabError):
    """The machine was too slow or too busy for a run in real time; its result is not valid."""


class RealTimeLab(Lab):
    """A lab with a stock kernel, in the time of a machine's clock.

    Results also have `pulse`: how late the guest's timers were, and how idle its CPU was (env/lab/pulse). Racks are not
    possible, because their rates exceed what such a machine carries. Chains run in the virtual lab only.
    """

    def begin_run(self, path: Network, flows: Sequence[dict[str, Any]], duration_s: float, **options: Any) -> None:
        """As Lab.begin_run(). A seed has no effect. Raises LabError for a rack or a chain."""
        if not isinstance(path, Path):
            raise LabError("a lab in real time has no racks and no chains; use a scenario with a path")
        super().begin_run(path, flows, duration_s, pulse=str(PULSE), **options)

    def run(self, path: Network, flows: Sequence[dict[str, Any]], duration_s: float, **options: Any) -> RunResult:
        """As Lab.run(). Raises GuestTooSlow when the machine was too slow."""
        result = super().run(path, flows, duration_s, **options)
        check_kept_up(result.pulse)
        return result


def check_kept_up(pulse: dict[str, float]) -> None:
    """Raise GuestTooSlow for the pulse (env/lab/pulse) of a guest whose timers were late."""
    late_p99_us, late_max_us, idle_pct = pulse["late_p99_us"], pulse["late_max_us"], pulse["idle_pct"]
    if late_p99_us > LATE_P99_US or late_max_us > LATE_MAX_US or idle_pct < IDLE_PCT:
        raise GuestTooSlow(
            f"the machine did not keep up with a run in real time: 99 % of the guest's timers were at most "
            f"{late_p99_us:.0f} us late (allowed: {LATE_P99_US:.0f}), the latest {late_max_us:.0f} us (allowed: "
            f"{LATE_MAX_US:.0f}), and its CPU was idle for {idle_pct:.0f} % of the time (needed: {IDLE_PCT:.0f}); "
            f"run nothing else on the machine, or use a scenario with a lower rate"
        )
