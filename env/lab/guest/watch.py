"""Measures during a run whether the guest keeps up with real time, with the program env/lab/pulse."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

INTERVAL_NS = 5_000_000  # 200 pulses a second: enough for a percentile, at a negligible cost


class Watch:
    """A context manager around a run that begins at origin_ns; afterwards `pulse` has the program's output."""

    def __init__(self, program: str, origin_ns: int, duration_s: float) -> None:
        self._argv = [program, str(origin_ns), str(origin_ns + round(duration_s * 1e9)), str(INTERVAL_NS)]
        self.pulse: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if value is not None:
            self._process.kill()
        output, error = self._process.communicate()
        if value is None and self._process.returncode:
            raise RuntimeError(f"the pulse failed ({self._process.returncode}): {error}")
        self.pulse = json.loads(output) if value is None else {}
