"""`make -C studies bench-kernel`: what does not depend on the machine is held to its targets, times are only taken."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

import pytest

from studies.kernel_cost import __main__ as bench
from studies.kernel_cost import acks, bpf, cpu, decision, instructions
from studies.kernel_cost.build import Kernel, build, has_bbr, lab_kernel, stock_kernels
from studies.kernel_cost.state import state
from tests.support.tools import find_tool, require

if TYPE_CHECKING:
    from pathlib import Path

STATE_BYTES = 104
# Of a decision: the nop, and what the compiler arranges otherwise in a function that has it.
TRACEPOINT_SHARE = 0.02


@pytest.fixture(scope="module")
def kernels() -> list[Kernel]:
    for tool in ("valgrind", "pahole"):
        find_tool(tool, "slow")
    available = [lab_kernel(), *stock_kernels()]
    for kernel in available:
        build(kernel)
    return available


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[acks.Connection, Path]:
    connections = (acks.STEADY, acks.LOSSY)
    folder = tmp_path_factory.mktemp("acks")
    return dict(zip(connections, acks.record(connections, folder), strict=True))


def test_ack_takes_no_more_instructions_than_with_bbr(
    kernels: list[Kernel], recorded: dict[acks.Connection, Path]
) -> None:
    played = [kernel for kernel in kernels if has_bbr(kernel)]
    assert played[0].name == "lab"
    for kernel in played:
        for events in recorded.values():
            ndm, bbr = (instructions.count(kernel, scheme, events) for scheme in ("ndm", "bbr"))
            assert ndm.acks == bbr.acks > 10_000
            # a round trip is 48 ms with the queue of this window, or 40 ms
            assert 400 < ndm.decisions < 650
            assert bbr.decisions == 0
            assert bbr.per_ack > 100, "BBR measures a rate for every ACK"
            assert ndm.per_decision > 3 * 416, "a decision loads, multiplies and adds for each weight"
            assert ndm.per_ack / bbr.per_ack <= bench.PER_ACK_TARGET, (kernel.name, ndm, bbr)


@pytest.mark.parametrize("scheme", ["ndm", "bbr"])
def test_the_processor_counts_what_callgrind_counts(kernels: list[Kernel], scheme: str, tmp_path: Path) -> None:
    kernel = kernels[-1] if has_bbr(kernels[-1]) else kernels[0]
    # some 300 ACKs: the processor stops after each instruction, which is slow
    (events,) = acks.record([dataclasses.replace(acks.LOSSY, duration_s=0.5)], tmp_path)
    counted = instructions.count(kernel, scheme, events)
    waiting, deciding = instructions.steps(kernel, scheme, events, 1)
    assert len(waiting) + len(deciding) == counted.acks > 200
    assert len(deciding) == counted.decisions
    assert sum(waiting) == counted.instructions - counted.decision_instructions
    assert sum(deciding) == counted.decision_instructions


def test_connection_state_fits_on_every_kernel(kernels: list[Kernel]) -> None:
    states = [state(kernel) for kernel in kernels]
    for one in states:
        assert one.room == STATE_BYTES
        assert one.size <= one.room
        names = [field.name for field in one.fields]
        assert len(names) == len(set(names)) > 10
        assert {"delay_ring", "cwnd_fp", "memory"} <= set(names)
        assert sum(field.bits for field in one.fields) <= 8 * one.size
        assert max(field.offset + field.bits // 8 for field in one.fields) <= one.size
    assert all(one.fields == states[0].fields for one in states)


def test_a_tracepoint_that_is_off_is_a_nop(kernels: list[Kernel], recorded: dict[acks.Connection, Path]) -> None:
    require(kernels[1:], "user-mode Linux has no jump labels, and no headers of a stock kernel are installed")
    for kernel in kernels[1:]:
        places = decision.tracepoint_places(kernel)
        assert places
        assert all(map(decision.is_nop, places)), places
        traced, untraced = (
            instructions.count(kernel, scheme, recorded[acks.STEADY]) for scheme in ("ndm", "ndm_untraced")
        )
        assert traced.decisions == untraced.decisions
        assert abs(traced.per_decision - untraced.per_decision) < TRACEPOINT_SHARE * untraced.per_decision
        assert abs(traced.per_ack - untraced.per_ack) <= 2


def test_times_are_taken(
    kernels: list[Kernel], recorded: dict[acks.Connection, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.show_decision(kernels[-1], recorded[acks.STEADY], 3) > 0
    bench.show_cpu(dataclasses.replace(cpu.OFFLOAD, long_s=12.0), 1)
    assert all(ns > 0 for ns in decision.cold_decisions(kernels[-1], recorded[acks.STEADY], 20).decision)
    shown = capsys.readouterr().out
    assert re.search(r"H = 16: median [\d.]+, quartiles [\d.]+ to [\d.]+, range [\d.]+ to [\d.]+, n = 3", shown)
    assert re.search(r"cubic +[\d.]+ \(n = 1\); 9\d\d\.\d Mbit/s, 0 retransmits, 4\d\.\d segments a packet", shown)


def test_the_bpf_program_decides_for_less_than_twice_the_modules_cost(
    kernels: list[Kernel], recorded: dict[acks.Connection, Path]
) -> None:
    module = instructions.count(kernels[-1], "ndm", recorded[acks.STEADY])
    cost = bpf.measure(kernels[-1].name)
    assert cost.decision - cost.empty <= bench.BPF_DECISION_TARGET * module.per_decision
    # the target of 1.3 is missed (docs/results/cost.md): it shall not become worse
    assert cost.ack - cost.empty <= 2.2 * module.per_ack
    assert 100_000 < cost.verified < 500_000, "of a million"
    assert cost.load_s < 3
