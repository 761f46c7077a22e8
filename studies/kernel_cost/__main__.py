# SPDX-License-Identifier: GPL-2.0
"""Measure the cost of the module: `make -C studies bench-kernel`, or `python -m studies.kernel_cost`.

The last line is `decision_ns=... per_ack_vs_bbr=... cpu_per_gb_vs_cubic=...`; the lines above it have the spread of
each figure and the conditions of the measurement. The exit status is 1 if a figure that does not depend on the machine
misses its target: the instructions, the size of the state, the tracepoint.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from env.command import command
from env.lab import LabError
from kernel.lab.uml.build import BuildError
from studies.kernel_cost import acks, bpf, counted, cpu, decision, instructions
from studies.kernel_cost.build import Kernel, build, has_bbr, lab_kernel, stock_kernels
from studies.kernel_cost.state import state

PER_ACK_TARGET = 1.10  # of BBR's instructions
DECISION_TARGET_NS = 300
CPU_TARGET = 1.03  # of Cubic's CPU time
BPF_ACK_TARGET, BPF_DECISION_TARGET = 1.3, 2  # of the module's instructions
COLD_CALLS = 500
SAMPLED_ACKS = 200  # ACKs whose instructions are counted individually, for the spread


def spread(values: Sequence[float], digits: int) -> str:
    """Return median, quartiles, range and number of the values as text."""
    if len(values) < 2:
        return f"{values[0]:.{digits}f} (n = 1)"
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    figures = [f"{value:.{digits}f}" for value in (median, low, high, min(values), max(values))]
    return "median {}, quartiles {} to {}, range {} to {}, n = {}".format(*figures, len(values))


def verdict(good: bool) -> str:
    """Return whether a figure meets its target, as text."""
    return "met" if good else "MISSED"


def show_state(kernels: Sequence[Kernel]) -> bool:
    """Print the state of a connection; False if it is too large for one of the kernels."""
    states = {kernel: state(kernel) for kernel in kernels}
    first = states[kernels[0]]
    print(f"State of one connection, in inet_csk_ca(sk), as laid out for {kernels[0].release}:")
    for field in first.fields:
        size, unit = (field.bits // 8, "byte") if field.bits % 8 == 0 else (field.bits, "bit")
        print(f"  {field.offset:4d}  {field.type + ' ' + field.name:28} {size} {unit}{'s' * (size > 1)}")
    fits = True
    for kernel, one in states.items():
        same = "the same fields at the same places" if one.fields == first.fields else "OTHER FIELDS OR PLACES"
        good = one.size <= one.room
        print(f"  {kernel.release}: {one.size} of {one.room} bytes, {same}: target {verdict(good)}")
        fits &= good
    return fits


def show_tracepoint(kernel: Kernel, events: Path) -> bool:
    """Print the cost of the tracepoint while it is off; False if it is not a nop then."""
    places = decision.tracepoint_places(kernel)
    nops = bool(places) and all(map(decision.is_nop, places))
    traced, untraced = (instructions.count(kernel, scheme, events) for scheme in ("ndm", "ndm_untraced"))
    print(f"\nThe tracepoint while it is off, {kernel.release}:")
    print(f"  its branch: {'; '.join(places) or 'no jump label'}: {'a nop' if nops else 'NO NOP'}")
    print(
        f"  instructions per decision: {traced.per_decision:.1f} with it, {untraced.per_decision:.1f} compiled without "
        f"it; per other ACK: {traced.per_ack:.1f} and {untraced.per_ack:.1f} (one of them is the nop; further ones "
        f"come from the compiler's other code layout)"
    )
    return nops


def show_decision(kernel: Kernel, events: Path, batches: int) -> float:
    """Print the time of a decision; returns the median, ns."""
    times = decision.decisions(kernel, events, batches)
    median = statistics.median(times.decision)
    print(f"\nA decision, {kernel.release}, ns, warm cache (a batch: all decisions of {acks.STEADY.name}):")
    print(f"  cong_control() that decides: {spread(times.decision, 0)}")
    print(f"    target under {DECISION_TARGET_NS} ns: {verdict(median < DECISION_TARGET_NS)}")
    print(f"    subtracted for setting the socket: {times.overhead:.0f}")
    cold = decision.cold_decisions(kernel, events, COLD_CALLS)
    print(f"  with cold caches, one by one: {spread(cold.decision, 0)}")
    print(f"    subtracted for the clock: {cold.overhead:.0f}")
    for hidden in decision.HIDDEN:
        print(f"  ndm_core_step() alone, H = {hidden:2d}: {spread(decision.core(kernel, hidden, batches), 0)}")
    return median


def show_instructions(kernel: Kernel, recorded: dict[acks.Connection, Path], sampled: int) -> dict[str, float]:
    """Print instructions per ACK of NDM and BBR; returns their ratio outside decisions, by name of the connection."""
    print(f"\nInstructions of cong_control() for the same ACKs, {kernel.release}:")
    ratios = {}
    for connection, events in recorded.items():
        ndm, bbr = (instructions.count(kernel, scheme, events) for scheme in ("ndm", "bbr"))
        ratio = ndm.per_ack / bbr.per_ack_and_decisions
        ratios[connection.name] = ratio
        print(f"  {connection.name}: {ndm.acks} ACKs, {ndm.decisions} decisions")
        print(f"    ndm {ndm.per_ack:.1f} an ACK without a decision, {ndm.per_decision:.1f} with one")
        print(f"    bbr {bbr.per_ack_and_decisions:.1f} an ACK")
        print(
            f"    ndm / bbr = {ratio:.3f} outside decisions (target at most {PER_ACK_TARGET:.2f}: "
            f"{verdict(ratio <= PER_ACK_TARGET)}); with decisions, per ACK: "
            f"{ndm.per_ack_and_decisions:.1f} / {bbr.per_ack_and_decisions:.1f} = "
            f"{ndm.per_ack_and_decisions / bbr.per_ack_and_decisions:.3f}"
        )
        if sampled:
            every = max(1, ndm.acks // sampled)
            waiting, deciding = instructions.steps(kernel, "ndm", events, every)
            print(f"    spread, of one ACK in {every}: ndm without a decision {spread(waiting, 0)}")
            if deciding:
                print(f"      ndm with one {spread(deciding, 0)}")
            print(f"      bbr {spread(instructions.steps(kernel, 'bbr', events, every)[0], 0)}")
    return ratios


def show_counted(repetitions: int) -> float:
    """Print the instructions of a stock kernel per gigabyte; returns the ratio of NDM's to Cubic's."""
    costs_by_scheme: dict[str, list[counted.Counted]] = {scheme: [] for scheme in counted.SCHEMES}
    with counted.machine() as lab:
        for repetition in range(repetitions):
            for scheme in counted.SCHEMES if repetition % 2 == 0 else reversed(counted.SCHEMES):
                costs_by_scheme[scheme].append(counted.cost(lab, scheme))
    print(f"\nInstructions, 10^9, of a stock {counted.KERNEL} per gigabyte; sender, network and receiver:")
    for scheme, costs in costs_by_scheme.items():
        print(
            f"  {scheme:11} {spread([one.instructions for one in costs], 3)}; "
            f"{statistics.median(one.mbps for one in costs):.1f} Mbit/s, "
            f"{max(one.retransmits for one in costs)} retransmits"
        )
    for scheme, to in ((bpf.NAME, "ndm"), ("ndm", "cubic")):
        shares = [
            one.instructions / other.instructions
            for one, other in zip(costs_by_scheme[scheme], costs_by_scheme[to], strict=True)
        ]
        print(f"  {scheme} / {to}, pair by pair: {spread(shares, 3)}")
    ratio = statistics.median(shares)
    print(f"    target at most {CPU_TARGET:.2f}: {verdict(ratio <= CPU_TARGET)}")
    return ratio


def show_bpf(version: str, module: instructions.Count) -> None:
    """Print what the BPF program costs in a stock kernel, beside the module."""
    cost = bpf.measure(version)
    ack, deciding = cost.ack - cost.empty, cost.decision - cost.empty
    print(f"\nThe BPF program on {version}, instructions beyond an empty program's {cost.empty:.0f}:")
    print(
        f"  an ACK {ack:.0f}, {ack / module.per_ack:.2f} of the module's {module.per_ack:.1f} (target at most "
        f"{BPF_ACK_TARGET}: {verdict(ack <= BPF_ACK_TARGET * module.per_ack)})"
    )
    print(
        f"  a decision {deciding:.0f}, {deciding / module.per_decision:.2f} of {module.per_decision:.0f} (target "
        f"at most {BPF_DECISION_TARGET}: {verdict(deciding <= BPF_DECISION_TARGET * module.per_decision)})"
    )
    print(
        f"  {cost.size} instructions, {cost.code} bytes of machine code; the verifier follows {cost.verified}; "
        f"loaded in {cost.load_s:.2f} s at 10^9 instructions/s"
    )


def show_cpu(bulk: cpu.Bulk, repetitions: int) -> None:
    """Print CPU time per gigabyte of a bulk transfer in the virtual lab."""
    costs = cpu.measure(bulk, repetitions)
    print(f"\nCPU time of the lab per gigabyte, {bulk.name}, s:")
    for scheme, of_scheme in costs.items():
        print(
            f"  {scheme:11} {spread([cost.cpu_s for cost in of_scheme], 3)}; "
            f"{statistics.median(cost.mbps for cost in of_scheme):.1f} Mbit/s, "
            f"{max(cost.retransmits for cost in of_scheme)} retransmits, "
            f"{statistics.median(cost.packet_segments for cost in of_scheme):.1f} segments a packet"
        )
    for scheme, to in (("ndm", "cubic"), ("bbr", "cubic"), ("cubic_paced", "cubic"), ("ndm", "cubic_paced")):
        print(f"  {scheme} / {to}, pair by pair: {spread(cpu.ratios(costs, scheme, to), 3)}")
    # other work on the machine can only add to a cost, so the minima are compared too
    minima = {scheme: min(cost.cpu_s for cost in of_scheme) for scheme, of_scheme in costs.items()}
    print(f"  minima: ndm / cubic {minima['ndm'] / minima['cubic']:.3f}")


@command("bench-kernel", BuildError, LabError)
def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--batches", type=int, default=300, help="batches of decisions to time (default 300)")
    parser.add_argument("--repetitions", type=int, default=5, help="repetitions of the bulk transfers (default 5)")
    parser.add_argument(
        "--sampled", type=int, default=SAMPLED_ACKS, help="ACKs counted individually, 0 for none (default 200)"
    )
    arguments = parser.parse_args(argv)
    if arguments.batches < 1 or arguments.repetitions < 1 or arguments.sampled < 0:
        parser.error("--batches and --repetitions must be 1 or more, --sampled 0 or more")
    stock = stock_kernels()
    kernels = [lab_kernel(), *stock]
    for kernel in kernels:
        build(kernel)
    recorded = dict(zip(acks.CONNECTIONS, acks.record(acks.CONNECTIONS), strict=True))
    good = show_state(kernels)
    main_kernel = kernels[-1]  # the newest stock kernel, or the lab's without any headers
    for kernel in stock:
        good &= show_tracepoint(kernel, recorded[acks.STEADY])
    ratios = {kernel: show_instructions(kernel, recorded, arguments.sampled) for kernel in kernels if has_bbr(kernel)}
    good &= all(ratio <= PER_ACK_TARGET for of_kernel in ratios.values() for ratio in of_kernel.values())
    decision_ns = show_decision(main_kernel, recorded[acks.STEADY], arguments.batches)
    for kernel in stock:
        show_bpf(kernel.name, instructions.count(kernel, "ndm", recorded[acks.STEADY]))
    cpu_ratio = show_counted(arguments.repetitions)
    for bulk in cpu.BULKS:  # CPU time of the virtual lab, which shows the cost of pacing
        show_cpu(bulk, arguments.repetitions)
    per_ack = ratios[list(ratios)[-1]][acks.STEADY.name]
    print(f"\ndecision_ns={decision_ns:.0f} per_ack_vs_bbr={per_ack:.3f} cpu_per_gb_vs_cubic={cpu_ratio:.3f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
