"""Defines the policy's inputs and outputs, the wire frames between host and guest, and the tables of a run's result.

Everything that another language needs is generated from here::

    python -m env.schema            # writes kernel/ndm/ndm_schema.h and env/network/traffic/flow/tables.h
    python -m env.schema --check    # exits with 1 if a committed header is not up to date

Only the standard library is used: the guest agent imports this module too.
"""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass

from env.checkout import KERNEL, ROOT

# The version counts incompatible changes. Raise it, and set INPUTS_MIN to the number of inputs, when an input or output
# changes its meaning, range or place, or goes: no model made before fits then. An input appended to FEATURES is
# compatible: models made before go on, with weight 0 for it.
SCHEMA_VERSION = 4
INPUTS_MIN = 10  # inputs with which this version began; a model of this version has at least these
HEADER = KERNEL / "ndm" / "ndm_schema.h"
TABLES_HEADER = ROOT / "env" / "network" / "traffic" / "flow" / "tables.h"

# Fixed-point formats: a value v is carried as the integer round(v * 2**FRAC).
FEATURE_FRAC = 12  # inputs, int16: -8 to 8 in steps of 0.00024
ACTION_FRAC = 14  # outputs, int16: -2 to 2 in steps of 0.00006; only -1 to 1 is used
HIDDEN_FRAC = 15  # recurrent state, int16: -1 to 1
HIDDEN_MAX = 32  # recurrent units of a model, at most
FEATURE_LIMIT = 32767 / 2**FEATURE_FRAC  # 7.9998: the largest magnitude of an input


@dataclass(frozen=True)
class Field:
    """One input or output of the policy, a number without unit."""

    name: str
    low: float
    high: float
    meaning: str


FEATURES = (
    Field("rtt_ratio", 0.0, FEATURE_LIMIT, "smoothed RTT without the wait in bursts over the minimum RTT, minus 1"),
    Field("entropy", 0.0, 1.0, "0.6 loss entropy + 0.4 delay entropy, Shannon, last 16 samples"),
    Field("queue_floor", 0.0, 3.75, "log2 of the smallest mean RTT of the last 16 intervals over min RTT, in quarters"),
    Field("congestion", -1.0, 1.0, "1 when entropy is low and delay or loss is rising, else -1"),
    Field("plasticity", 0.0, 1.0, "rises on loss or time-out, decays otherwise (NDM v1)"),
    Field("loss_rate", 0.0, 1.0, "lost over sent in the interval, beyond twice what the path loses at any window"),
    Field("rtt_variation", 0.0, FEATURE_LIMIT, "RTT mean deviation over smoothed RTT"),
    Field("rtt_gradient", -FEATURE_LIMIT, FEATURE_LIMIT, "change of mean RTT since the last interval, over min RTT"),
    Field("delivery_ratio", 0.0, 1.0, "delivery rate over its windowed maximum"),
    Field(
        "inflight_ratio",
        0.0,
        FEATURE_LIMIT,
        "in flight at the interval's beginning over the BDP with the wait",
    ),
)
ACTIONS = (
    Field("growth", -1.0, 1.0, "log2 of the factor on the packets that a decision adds (kernel/ndm/ndm_window.h)"),
    Field("pacing", -1.0, 1.0, "log2 of the factor on the neutral pacing gain (1.25 cwnd / srtt)"),
)

# Every frame on the channel between host and guest: u32 payload length, u16 kind, u16 zero; little endian.
FRAME_HEADER = struct.Struct("<IHH")
FRAME_COMMAND = 1  # host to agent, JSON
FRAME_REPLY = 2  # agent to host, JSON
FRAME_OBSERVATION = 3  # tcp_ndm_gym to host, ndm_wire_observation
FRAME_ACTION = 4  # host to tcp_ndm_gym, ndm_wire_action
FRAME_PLAN = 5  # host to the lab's kernel: ndm_wire_plan, model files and noise, for the next COMMAND's flows
FRAME_RECORD = 6  # the lab's kernel to host: any number of ndm_wire_step, those flows' decisions
FRAME_MAX = 1 << 26  # a longer payload is a broken frame

FIRST_SOURCE_PORT = 40000  # of the sender of a run's first flow; the next flow has the next port

Layout = tuple[tuple[str, str, str, str], ...]

# (C type, struct code, name, comment); ordered by size so that C adds no padding.
OBSERVATION_LAYOUT: Layout = (
    ("__u64", "Q", "now_us", "monotonic clock of the lab"),
    ("__u64", "Q", "bytes_acked", "since the connection began"),
    ("__u64", "Q", "pacing_rate", "bytes per second"),
    ("__u32", "I", "flow", "which connection: counts from 1 as they open"),
    ("__u32", "I", "decision", "counts from 0 within the connection"),
    ("__u32", "I", "interval_us", "length of the control interval that just ended"),
    ("__u32", "I", "rtt_us", "mean RTT of the interval; 0 without a sample"),
    ("__u32", "I", "srtt_us", "smoothed RTT"),
    ("__u32", "I", "min_rtt_us", "filtered minimum RTT"),
    ("__u32", "I", "cwnd", "packets"),
    ("__u32", "I", "inflight", "packets"),
    ("__u32", "I", "delivered", "packets, since the connection began"),
    ("__u32", "I", "lost", "packets, since the connection began"),
    ("__u32", "I", "retransmitted", "packets, since the connection began"),
    ("__u32", "I", "mss", "bytes"),
    ("__s16", f"{len(FEATURES)}h", f"features[{len(FEATURES)}]", f"policy inputs, {FEATURE_FRAC} fraction bits"),
    ("__u16", "H", "ca_state", "enum tcp_ca_state"),
    ("__u16", "H", "port", "the sender's, FIRST_SOURCE_PORT and the place among the run's flows"),
)


def _struct(layout: Layout) -> struct.Struct:
    return struct.Struct("<" + "".join(code for _, code, _, _ in layout))


def _padding(layout: Layout) -> Layout:
    """Return the zeros behind the layout, up to a multiple of 8 bytes, the alignment of its u64."""
    count = -_struct(layout).size % 8 // 2
    return (("__u16", f"{count}H", f"zero[{count}]", ""),) if count > 1 else (("__u16", "H", "zero", ""),) * count


OBSERVATION_LAYOUT += _padding(OBSERVATION_LAYOUT)
ACTION_LAYOUT = (
    ("__s16", f"{len(ACTIONS)}h", f"actions[{len(ACTIONS)}]", f"policy outputs, {ACTION_FRAC} fraction bits"),
    ("__u16", "H", "stop", "1: end the episode, the agent stops all traffic"),
    ("__u16", "H", "skip_slow_start", "1: slow start is over (ndm_slow_start.h), whatever the path shows"),
)
PLAN_LAYOUT = (
    ("__u64", "Q", "duration_us", "from the first observation to the end of the run"),
    ("__u64", "Q", "skip_slow_start", "bit n: the n-th flow to open skips slow start"),
    ("__u32", "I", "steps", "recorded at most, of all flows; then the run ends"),
    ("__u32", "I", "flows", "that have noise: by the order in which they open"),
    ("__u32", "I", "decisions", "of each flow that have noise"),
    ("__u32", "I", "model_bytes", "of the model file that follows"),
    ("__u32", "I", "max_cwnd", "packets: a window beyond it ends the run"),
    ("__u32", "I", "snapshot_bytes", "of the snapshot's model file behind it, 0: none; then the noise"),
)
# The noise: s16 [flows][decisions][outputs], ACTION_FRAC fraction bits.
OBSERVATION = _struct(OBSERVATION_LAYOUT)
ACTION = _struct(ACTION_LAYOUT)
PLAN = _struct(PLAN_LAYOUT)
_NUMPY = {"Q": "<u8", "I": "<u4", "H": "<u2", "h": "<i2"}
# ndm_wire_step for numpy.dtype(): name, type and, of an array, its length
STEP_DTYPE = [
    (name.split("[")[0], _NUMPY[code[-1]], *([int(code[:-1])] if len(code) > 1 else []))
    for _, code, name, _ in (*OBSERVATION_LAYOUT, *ACTION_LAYOUT)
]


@dataclass(frozen=True)
class Column:
    """A column of a run's result. unit: "" for a pure number. type: of its values, which travel as doubles."""

    name: str
    unit: str
    type: type[int] | type[float]
    meaning: str


_FLOW = Column("flow", "", int, "place among the run's flows, from 0")
_PORT = Column("port", "", int, "place among the network's ports, from 0")
_TIME = Column("t_s", "s", float, "since the run began")
# What the traffic program (env/network/traffic/flow) writes, a struct of doubles a row; names of at most 8 bytes.
RESULT_TABLES: dict[str, tuple[Column, ...]] = {
    # samples of the senders
    "sender": (
        _FLOW,
        _TIME,
        Column("cwnd", "packets", int, "congestion window"),
        Column("srtt_us", "us", int, "smoothed RTT"),
        Column("rttvar_us", "us", int, "mean deviation of the RTT"),
        Column("min_rtt_us", "us", int, "the kernel's windowed minimum RTT"),
        Column("retransmits", "packets", int, "retransmitted so far"),
        Column("bytes_acked", "bytes", int, "acknowledged so far, and one for the SYN"),
        Column("unacked", "packets", int, "sent and not acknowledged"),
        Column("lost", "packets", int, "believed lost and not repaired"),
        Column("ssthresh", "packets", int, "slow-start threshold"),
        Column("pacing_rate", "bytes/s", int, "rate of the pacing; 2**64 - 1: unlimited"),
        Column("delivery_rate", "bytes/s", int, "newest sample of the delivery rate"),
        Column("spurious", "packets", int, "retransmissions that the receiver already had (DSACK)"),
        Column("sent_bytes", "bytes", int, "sent at least once so far"),
        Column("segments_sent", "packets", int, "sent so far, retransmissions included"),
        Column("cc_min_rtt_us", "us", int, "the congestion control's own minimum RTT (NV, Vegas, BBR), else 0"),
    ),
    # samples of the receivers
    "receiver": (_FLOW, _TIME, Column("bytes", "bytes", int, "received so far")),
    # what was sent by the end of a flow that delivers everything
    "sent": (
        _FLOW,
        Column("sent_bytes", "bytes", int, "sent at least once"),
        Column("acked_bytes", "bytes", int, "acknowledged"),
    ),
    "received": (_FLOW, Column("bytes", "bytes", int, "received when the connection had closed")),
    "latency": (
        _FLOW,
        Column("count", "", int, "of writes or requests"),
        Column("mean_us", "us", float, "mean duration"),
        Column("max_us", "us", float, "longest duration"),
    ),
    "buckets": (
        _FLOW,
        Column("low_us", "us", float, "least duration of the bucket"),
        Column("high_us", "us", float, "its end, which is not included"),
        Column("count", "", int, "of writes or requests"),
    ),
    # samples of the queues
    "queue": (
        _TIME,
        _PORT,
        Column("backlog_bytes", "bytes", int, "waiting"),
        Column("backlog_packets", "packets", int, "waiting"),
        Column("sent_bytes", "bytes", int, "sent so far"),
        Column("sent_packets", "packets", int, "sent so far"),
        Column("dropped", "packets", int, "dropped so far"),
        Column("marked", "packets", int, "marked (ECN) so far"),
    ),
    # what the ports did in the whole run
    "ports": (
        _PORT,
        Column("dropped", "packets", int, "dropped by the queue"),
        Column("marked", "packets", int, "marked (ECN)"),
        Column("lost", "packets", int, "lost on the link (netem)"),
        Column("policed", "packets", int, "dropped by the policer"),
    ),
}
SAMPLES = ("sender", "receiver", "queue")  # the tables that a result has only if the run was sampled


def column_names(table: str) -> tuple[str, ...]:
    """Return the names of a table's columns."""
    return tuple(column.name for column in RESULT_TABLES[table])


def row_struct(table: str) -> struct.Struct:
    """Return the layout of a table's row, in the machine's byte order."""
    return struct.Struct(f"={len(RESULT_TABLES[table])}d")


def _c_struct(name: str, fields: Layout, size: int) -> str:
    lines = [f"struct {name} {{"]
    for c_type, _, field, comment in fields:
        lines.append(f"\t{c_type} {field};" + (f"\t/* {comment} */" if comment else ""))
    lines += ["};", "", f"#define {name.upper()}_SIZE {size}"]
    return "\n".join(lines)


def render_header() -> str:
    """Return the text of kernel/ndm/ndm_schema.h."""
    enums = []
    for prefix, fields in (("NDM_IN", FEATURES), ("NDM_OUT", ACTIONS)):
        rows = [f"\t{prefix}_{f.name.upper()},\t/* {f.meaning} */" for f in fields]
        enums.append("enum {\n" + "\n".join(rows) + f"\n\t{prefix}PUTS,\n}};")
    limits = [
        f"\t[NDM_IN_{f.name.upper()}] = {{ {f.low * 2**FEATURE_FRAC:.0f}, {f.high * 2**FEATURE_FRAC:.0f} }},"
        for f in FEATURES
    ]
    defines = {
        "NDM_SCHEMA_VERSION": SCHEMA_VERSION,
        "NDM_INPUTS_MIN": INPUTS_MIN,
        "NDM_FEATURE_FRAC": FEATURE_FRAC,
        "NDM_ACTION_FRAC": ACTION_FRAC,
        "NDM_HIDDEN_FRAC": HIDDEN_FRAC,
        "NDM_HIDDEN_MAX": HIDDEN_MAX,
        "NDM_FRAME_COMMAND": FRAME_COMMAND,
        "NDM_FRAME_REPLY": FRAME_REPLY,
        "NDM_FRAME_OBSERVATION": FRAME_OBSERVATION,
        "NDM_FRAME_ACTION": FRAME_ACTION,
        "NDM_FRAME_PLAN": FRAME_PLAN,
        "NDM_FRAME_RECORD": FRAME_RECORD,
        "NDM_FRAME_MAX": FRAME_MAX,
    }
    return "\n".join(
        [
            "/* SPDX-License-Identifier: GPL-2.0 */",
            "/* Generated by `python -m env.schema`; edit env/schema.py, not this file. */",
            "#ifndef NDM_SCHEMA_H",
            "#define NDM_SCHEMA_H",
            "",
            "#include <linux/types.h>",
            "",
            *(f"#define {name} {value}" for name, value in defines.items()),
            "",
            "\n\n".join(enums),
            "",
            "/* Least and largest value of each input, Q12. */",
            "#define NDM_INPUT_LIMITS {\t\\",
            *(f"{limit}\t\\" for limit in limits),
            "}",
            "",
            "/* All inputs for a printk: its format and its arguments. */",
            f'#define NDM_INPUTS_FORMAT "{",".join(["%d"] * len(FEATURES))}"',
            f"#define NDM_INPUTS_OF(x) {', '.join(f'x[{i}]' for i in range(len(FEATURES)))}",
            "",
            "struct ndm_frame_header {",
            "\t__u32 length;\t/* bytes of payload that follow */",
            "\t__u16 kind;\t/* NDM_FRAME_* */",
            "\t__u16 zero;",
            "};",
            "",
            _c_struct("ndm_wire_observation", OBSERVATION_LAYOUT, OBSERVATION.size),
            "",
            _c_struct("ndm_wire_action", ACTION_LAYOUT, ACTION.size),
            "",
            "/* One decision of a rollout: the observation, and mean + noise before clipping to [-1, 1]. */",
            "struct ndm_wire_step {",
            "\tstruct ndm_wire_observation observation;",
            "\tstruct ndm_wire_action action;",
            "};",
            "",
            _c_struct("ndm_wire_plan", PLAN_LAYOUT, PLAN.size),
            "",
            "#endif /* NDM_SCHEMA_H */",
            "",
        ]
    )


def render_tables_header() -> str:
    """Return the text of env/network/traffic/flow/tables.h."""
    rows = []
    for table, columns in RESULT_TABLES.items():
        fields = [
            f"\tdouble {column.name};\t/* {f'{column.unit}: ' if column.unit else ''}{column.meaning} */"
            for column in columns
        ]
        rows += [f"struct {table}_row {{", *fields, "};", ""]
    return "\n".join(
        [
            "/* SPDX-License-Identifier: GPL-2.0 */",
            "/* Generated by `python -m env.schema`; edit env/schema.py, not this file. */",
            "#ifndef TABLES_H",
            "#define TABLES_H",
            "",
            f"#define FIRST_SOURCE_PORT {FIRST_SOURCE_PORT}\t/* of the first flow; the next one has the next port */",
            "",
            f"enum table {{ {', '.join(map(str.upper, RESULT_TABLES))}, TABLES }};",
            f"#define TABLE_NAMES {{ {', '.join(map(json.dumps, RESULT_TABLES))} }}",
            "",
            *rows,
            "#endif /* TABLES_H */",
            "",
        ]
    )


if __name__ == "__main__":
    from env.files import generate  # the guest imports this file too, and generates nothing

    headers = {HEADER: render_header, TABLES_HEADER: render_tables_header}
    sys.exit(generate("python -m env.schema", headers, sys.argv[1:]))
