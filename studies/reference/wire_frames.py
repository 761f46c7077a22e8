"""docs/reference/wire-frames.md: frames between host, guest and kernel module, and results, from env/schema.py."""

from __future__ import annotations

from collections.abc import Iterable

from env import schema
from env.markdown import markdown_table
from env.spaces import fields_table

FRAMES = (
    ("COMMAND", "host to agent", '`{"call": name, "args": {...}}`, JSON'),
    (
        "REPLY",
        "agent to host",
        '`{"ok": true, "result": ...}` or `{"ok": false, "error": text, "traceback": text}`, JSON',
    ),
    ("OBSERVATION", "`tcp_ndm_gym` to host", "`ndm_wire_observation`: an interval is over, a decision is needed"),
    ("ACTION", "host to `tcp_ndm_gym`", "`ndm_wire_action`: the decision"),
    (
        "PLAN",
        "host to the rollout worker in the kernel",
        "`ndm_wire_plan`, the policy's model file, an optional snapshot's, and noise; the flows of the next COMMAND "
        "then decide in the kernel",
    ),
    ("RECORD", "the rollout worker to host", "`ndm_wire_step` of each decision, sent before the REPLY"),
)


def render() -> str:
    """Return the page."""
    frames = [[str(getattr(schema, f"FRAME_{name}")), name, way, payload] for name, way, payload in FRAMES]
    return f"""# Wire frames

`env/schema.py` defines everything on this page; `kernel/ndm/ndm_schema.h` is generated from it too. This is version
{schema.SCHEMA_VERSION} of the schema.

## Inputs

Pure numbers without units, computed in the kernel once per interval. Models of this version have at least the first
{schema.INPUTS_MIN}. An input that a model lacks has weight 0.

{fields_table(schema.FEATURES)}

Inputs, outputs and recurrent state are int16 with {schema.FEATURE_FRAC}, {schema.ACTION_FRAC} and
{schema.HIDDEN_FRAC} fraction bits.

## Outputs

{fields_table(schema.ACTIONS)}

## Frames

Host and guest share one Unix stream socket, file descriptor 3 of the lab kernel. A frame is a header (u32 length of the
payload, u16 kind, u16 zero), then the payload of at most {schema.FRAME_MAX:,} bytes, all little endian.

{markdown_table(["kind", "name", "from, to", "payload"], frames)}

Any number of OBSERVATION and ACTION pairs may come while the agent works on a command. `stop` in an ACTION ends all
traffic; until the next COMMAND the module holds cwnd without asking. While a user's script runs, a REPLY has its
output, and a COMMAND named `answer` a signal or input for it (`env/lab/guest/script.py`).

In the guest the channel is the character device `/dev/lab_gate` of `lab_gate.ko`: `read` returns the next COMMAND as
u32 length and payload, `write` sends one REPLY, `poll` reports POLLPRI after a stop. A host that closes the socket or
breaks the framing powers the lab off.

### ndm_wire_observation, {schema.OBSERVATION.size} bytes

{_layout(schema.OBSERVATION_LAYOUT)}

### ndm_wire_action, {schema.ACTION.size} bytes

{_layout(schema.ACTION_LAYOUT)}

### ndm_wire_plan, {schema.PLAN.size} bytes

{_layout(schema.PLAN_LAYOUT)}

Behind the model files follows the noise: `s16 [flows][decisions][outputs]`, {schema.ACTION_FRAC} fraction bits.

### ndm_wire_step

An `ndm_wire_observation` and the `ndm_wire_action` of its decision: mean and noise, before the clamp to [-1, 1].

## Tables of a result

The samples of a run's [result](file-formats.md#result-of-a-run), which the traffic program returns as doubles with the
counters at the end; its header `tables.h` is generated from the same definition.

{_tables()}
"""


def _tables() -> str:
    rows = [
        [table, f"`{column.name}`", column.unit, column.type.__name__, column.meaning]
        for table in schema.SAMPLES
        for column in schema.RESULT_TABLES[table]
    ]
    return markdown_table(["table", "column", "unit", "type", "content"], rows)


def _layout(layout: Iterable[tuple[str, str, str, str]]) -> str:
    return markdown_table(
        ["type", "field", "content"],
        [[c_type.strip("_"), f"`{name}`", meaning] for c_type, _, name, meaning in layout],
    )
