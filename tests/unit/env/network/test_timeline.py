"""Steps of a path are taken in order while a run goes on, and a failure is raised at the end."""

from __future__ import annotations

import threading
import time
from pathlib import Path as FilePath
from typing import Any, cast

import pytest

from env.network.path import Path
from env.network.topology.timeline import Timeline

STEPS = [{"at_s": 0.02, "rate_mbps": 5}, {"at_s": 0.04, "rtt_ms": 80}, {"at_s": 60, "loss_pct": 1}]


class Recorder:
    """Takes the place of the topology, and records its steps."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.taken: list[tuple[int, Path, Path]] = []
        self.two = threading.Event()

    def step(self, before: Path, after: Path) -> None:
        if self.fails:
            raise RuntimeError("no such device")
        self.taken.append((time.monotonic_ns(), before, after))
        if len(self.taken) == 2:
            self.two.set()


def timeline(topology: Any, steps: list[dict[str, float]], origin_ns: int, duration_s: float = 100.0) -> Timeline:
    return Timeline(topology, Path.from_dict({"steps": steps}), origin_ns, duration_s)


def test_steps_are_taken_in_order_and_time() -> None:
    recorder, origin_ns = Recorder(), time.monotonic_ns()
    with timeline(recorder, STEPS, origin_ns):
        assert recorder.two.wait(10)
    # the third was not due
    (first_ns, start, first), (second_ns, between, second) = recorder.taken
    assert first_ns >= origin_ns + 20_000_000
    assert second_ns >= origin_ns + 40_000_000
    assert (start.rate_mbps, start.rtt_ms) == (20, 40)
    assert first == between
    assert (second.rate_mbps, second.rtt_ms, second.loss_pct) == (5, 80, 0)


def test_a_step_as_the_run_ends_is_left_out() -> None:
    recorder = Recorder()
    with timeline(recorder, STEPS, 0, duration_s=STEPS[1]["at_s"]) as played:
        played._thread.join(10)
    assert [after.rate_mbps for _, _, after in recorder.taken] == [5]


def test_failed_step_is_reported_after_the_run() -> None:
    with pytest.raises(RuntimeError, match="no such device"), timeline(Recorder(fails=True), STEPS, 0):
        time.sleep(0.05)


def test_the_runs_own_error_comes_first() -> None:
    with pytest.raises(ValueError, match="the run"), timeline(Recorder(fails=True), STEPS, 0):
        raise ValueError("the run")


def test_a_path_without_steps_needs_no_thread() -> None:
    before = threading.active_count()
    with timeline(Recorder(), [], 0):
        assert threading.active_count() == before


def test_a_delay_trace_is_played_beside_steps(tmp_path: FilePath) -> None:
    file = tmp_path / "mine.delay"
    file.write_text("5\n5\n8\n")
    done: list[object] = []
    enough = threading.Event()

    class Topology:
        def step(self, _before: Path, after: Path) -> None:
            done.append(after.rate_mbps)

        def change_delay(self, _path: Path, delay_ms: float) -> None:
            done.append(f"{delay_ms:g} ms")
            if len(done) >= 4:
                enough.set()

    path = Path.from_dict({"delay_trace": str(file), "steps": [{"at_s": 0.025, "rate_mbps": 3}]})
    with Timeline(cast("Any", Topology()), path, time.monotonic_ns(), duration_s=100.0):
        assert enough.wait(10)
    assert done[:4] == ["8 ms", 3, "5 ms", "8 ms"]
