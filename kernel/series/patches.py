# SPDX-License-Identifier: GPL-2.0
"""The patches of the series: what each adds, and why. The first four add headers that nothing includes yet."""

from __future__ import annotations

from dataclasses import dataclass

from kernel.series.mainline import FOLDER, KUNIT, LIMITS, MEASURES, PURE

COVER_SUBJECT = "tcp: ndm: a congestion control by a small recurrent network"
COVER = """\
NDM is a TCP congestion control whose window and pacing are decided by a recurrent network of 16 units, once per round
trip. The network was trained by reinforcement learning on the code of this series, in user-mode Linux with virtual
time. It runs on integers: int16 weights, 64-bit sums, tables for tanh and 2^x. An interval proof shows that no sum
overflows, whatever the weights, inputs and state are.

What protects others is not learned: slow start, drains, and a bound on the window after losses and marks.

A decision costs about 3,700 instructions per round trip on x86-64, any other ACK 66; BBR takes 356 for each ACK.

Where the delay varies by far more than its mean NDM has 53.9 Mbit/s (BBR 40.9, CUBIC 7.0), and over 1 Gbit/s of fiber
864 (BBR 834, CUBIC 728); both tests were among those that it was trained on. On 200 held-out paths it has the best
goodput per delay on 78 % of those with one flow. Beside CUBIC it takes half of its fair share, and CUBIC one and a
half: it gives way in deep buffers.

Patches 1 to 3 are pure functions of numbers, which patch 6 tests. Patch 5 is what works on sockets.
"""


@dataclass(frozen=True)
class Patch:
    """A patch.

    adds: files of mainline.files(). inserts: texts of files/ into the tree's own files, see build.py. ignore: types of
    checkpatch that it need not meet.
    """

    subject: str
    body: str
    adds: tuple[str, ...] = ()
    inserts: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def _headers(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{FOLDER}/ndm_{name}.h" for name in names)


PATCHES = (
    Patch(
        "tcp: ndm: add the integer network",
        "One step of a recurrent layer and its read-out, in integers. Row r of the weights has the scale\n"
        "2^-row_frac[r]. Sums have 64 bits, and no weights, inputs or state can make one overflow: the bound is at\n"
        "ndm_core_step().\n\n"
        "A multiplication of 64 bits computes two products of 16 bits each, which halves the time of a decision.",
        _headers(PURE),
        ("MAINTAINERS",),
    ),
    Patch(
        "tcp: ndm: measure an interval",
        "The ten inputs of the network, from the clock, counters and RTT samples of one control interval, and what\n"
        "its output does to the window. The inputs have no unit, so that one network fits links of any rate.\n\n"
        "The minimum RTT is the smallest smoothed one. A drain, two intervals with a smaller window, shows how much\n"
        "of the queue others keep.",
        _headers(MEASURES),
    ),
    Patch(
        "tcp: ndm: limit what a network can do",
        "What no network decides: slow start, which packet trains end before the queue is full; the bound on the\n"
        "window after losses and marks, which grows as Reno and CUBIC do; what a flow sees of a queue that it shares;\n"
        "and the guard, which takes a connection from a network that leaves the path unused.",
        _headers(LIMITS),
    ),
    Patch(
        "tcp: ndm: add tracepoints",
        "ndm_decision has each decision with its inputs and outputs, enough to compute it again to the bit. ndm_guard\n"
        "has each time that the guard takes a connection from its network.",
        _headers(("trace",)),
        ignore=("OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT"),  # TRACE_EVENT has a layout of its own
    ),
    Patch(
        "tcp: add the congestion control NDM",
        "The control loop on a socket: measure each ACK, decide once per round trip, act on losses, time-outs and\n"
        "idleness. The recurrent state and the bound are allocated with the connection; without memory for them Reno\n"
        "controls it.\n\n"
        "The model can be replaced while connections run, through the firmware loader, with CAP_NET_ADMIN. In a\n"
        "locked-down kernel only files are taken whose SHA-256 was given when the module was loaded.",
        (
            *_headers(("blob", "slot", "weights")),
            *(f"{FOLDER}/{name}.c" for name in ("ndm_main", "ndm_slot", "ndm_pin")),
            f"{FOLDER}/models/mixed.h",
        ),
        ("Kconfig", "Makefile", "subdirectory"),
    ),
    Patch(
        "tcp: ndm: add KUnit tests",
        "Tests of the tables, the inputs, the bound, the guard and the parser of model files.",
        tuple(f"{FOLDER}/tests/{name}_kunit.c" for name in KUNIT),
        ("Kconfig.kunit", "Makefile.kunit"),
    ),
    Patch(
        "Documentation: networking: describe NDM",
        "What NDM measures, what is learned and what is not, and the files in sysfs.",
        (),
        ("tcp_ndm.rst", "sysfs-module-tcp_ndm", "index"),
    ),
)
