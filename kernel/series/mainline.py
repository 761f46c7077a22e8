# SPDX-License-Identifier: GPL-2.0
"""The sources as the kernel's own tree would have them, in net/ipv4/ndm/.

What differs: nothing is left of kernel/compat/, since a tree has one version; the control code, which only one module
includes, is in ndm_main.c; there is one model and no variant; and paths.
"""

from __future__ import annotations

import re
from pathlib import Path

from env.checkout import KERNEL
from env.schema import FEATURES

FOLDER = "net/ipv4/ndm"
# in the order in which each needs those before it
CONTROL = ("sock", "recovery", "control", "reno", "policy", "ops")
PURE = ("math", "schema", "tables", "core")
MEASURES = ("window", "drain", "features")
LIMITS = ("bound", "guard", "company", "train", "slow_start")
KUNIT = ("ndm", "features", "bound", "company")

_COMMENT = re.compile(r"\A/\* SPDX[^\n]*\n(?P<about>/\*.*?\*/\n)?", re.DOTALL)
_GUARD = re.compile(r"#ifndef (NDM_\w+_H)\n#define \1\n(?P<body>.*)#endif /\* \1 \*/\n", re.DOTALL)
_INCLUDE = re.compile(r'^#include [<"].*[>"]\n', re.MULTILINE)
_INLINE = re.compile(r"^static (?:__always_)?inline (?P<head>[^()]+\([^()]*\))", re.MULTILINE)
_SUBSTITUTES = (
    # Linux 6.10 and 7.1: the arguments of cong_control(), the operation for the start of sending
    (
        r"NDM_CONG_CONTROL\((\w+)\)",
        r"\1(struct sock *sk, u32 ack, int flag,\n\t\t\t\t     const struct rate_sample *rs)",
    ),
    (r"\bNDM_TX_START_OP\b", ".cwnd_event_tx_start = ndm_op_tx_start"),
    (r"\bNDM_MEMORY_MEMBER\b", "struct ndm_memory *memory"),
    (r"\bndm_ca_state\(sk\)", "inet_csk(sk)->icsk_ca_state"),
    (r'#include "compat/hex.h"', "#include <linux/hex.h>"),
    (r'^#include "compat/[^\n]*\n', ""),
    # one algorithm of one name
    (
        r"/\*\n \* The name of the congestion control and of the tracepoints' system\..*?#endif\n",
        "#define NDM_ALGORITHM ndm\n",
    ),
    (r"^MODULE_VERSION[^\n]*\n", ""),
    # newer helpers
    (r"kzalloc\(sizeof\((\*[^()]+)\), ([^;]+)\);", r"kzalloc_obj(\1, \2);"),
    (r"\b_Static_assert\b", "static_assert"),
    (r'#include "ndm/(\w+\.h)"', r'#include "\1"'),
    (r"#define TRACE_INCLUDE_PATH ndm\n", "#define TRACE_INCLUDE_PATH .\n"),
)


def source(name: str) -> str:
    """Return a file of kernel/ as mainline would have it. name: its path in kernel/."""
    return adapt((KERNEL / name).read_text())


def adapt(text: str) -> str:
    """Replace what only a module outside of the kernel's tree needs."""
    for pattern, new in _SUBSTITUTES:
        text = re.sub(pattern, new, text, flags=re.MULTILINE | re.DOTALL)
    return text


def schema() -> str:
    """Return ndm_schema.h without what training needs: the frames between host and lab."""
    text = source("ndm/ndm_schema.h")
    text = re.sub(r"#define NDM_FRAME_[^\n]*\n", "", text)
    text = re.sub(r"/\* All inputs for a printk.*(?=#endif)", "", text, flags=re.DOTALL)
    return re.sub(r"^\t(\w+,)\t(/\* [^\n]* \*/)$", r"\t\2\n\t\1", text, flags=re.MULTILINE)


def trace() -> str:
    """Return ndm_trace.h, with the inputs one by one."""
    text = source("ndm/ndm_trace.h")
    count = len(FEATURES)
    # a format stays in one piece, on a line of its own
    text = text.replace('TP_printk("flow=%u decision', 'TP_printk(\n\t\t"flow=%u decision')
    text = text.replace('x=" NDM_INPUTS_FORMAT\n\t\t  " action', f"x={','.join(['%d'] * count)} action")
    each = [f"__entry->x[{i}]" for i in range(count)]
    lines = [", ".join(each[i : i + 5]) + "," for i in range(0, count, 5)]
    return text.replace(" NDM_INPUTS_OF(__entry->x),", "".join(f"\n\t\t  {line}" for line in lines))


def model(name: str) -> str:
    """Return the header of a model, which lies in models/, in lines of the kernel's length."""
    text = source(f"models/{name}.h").replace('#include "ndm_blob.h"', '#include "../ndm_blob.h"')
    text = re.sub(r"\t\t/\* SHA-256 of the float policy[^\n]*\n", "", text)

    return re.sub(r'(\.envelope =) (")', r"\1\n\t\t\t\2", text)


def module() -> str:
    """Return ndm_main.c with the control code."""
    text = source("ndm/ndm_main.c")
    bodies = []
    includes = set(_INCLUDE.findall(text))
    for name in CONTROL:
        body, own = _body(source(f"ndm/ndm_{name}.h"))
        bodies.append(body)
        includes |= own
    includes -= {f'#include "ndm_{name}.h"\n' for name in CONTROL} | {'#include "ndm_trace.h"\n'}
    first = _INCLUDE.search(text)
    assert first is not None
    trace = text.index("#define CREATE_TRACE_POINTS")
    between = _INCLUDE.sub("", text[first.start() : trace]).strip("\n")
    head = [
        *sorted(line for line in includes if "<" in line), "\n", *sorted(line for line in includes if '"' in line),
    ]  # fmt: skip
    return "".join(
        [
            text[: first.start()], *head, "\n", between, "\n\n",
            text[trace : text.index("static DEFINE_PER_CPU")], "\n".join(bodies), "\n",
            text[text.index("static DEFINE_PER_CPU") :],
        ]
    )  # fmt: skip


def _body(text: str) -> tuple[str, set[str]]:
    """Return what a header of the control code defines, as part of a .c file, and its includes."""
    comment, guarded = _COMMENT.match(text), _GUARD.search(text)
    assert comment is not None
    assert guarded is not None
    includes = set(_INCLUDE.findall(guarded["body"]))
    body = _INCLUDE.sub("", guarded["body"]).strip("\n")
    body = _INLINE.sub(_without_inline, body)
    return f"{comment['about'] or ''}\n{body}\n", includes


def _without_inline(match: re.Match[str]) -> str:
    """Return the head of a function without inline; its arguments stay below each other."""
    head, *rest = match["head"].split("\n")
    column = len(f"static {head}".expandtabs(8).split("(")[0]) + 1
    indent = "\t" * (column // 8) + " " * (column % 8)
    return "\n".join([f"static {head}", *(f"{indent}{line.strip()}" for line in rest)])


def files() -> dict[str, str]:
    """Return path in the kernel's tree -> content, of all sources and tests."""
    headers = [f"ndm/ndm_{name}.h" for name in (*PURE, *MEASURES, *LIMITS, "blob", "slot")]
    made = {f"{FOLDER}/{Path(name).name}": source(name) for name in headers}
    made |= {f"{FOLDER}/ndm_schema.h": schema(), f"{FOLDER}/ndm_trace.h": trace()}
    made |= {f"{FOLDER}/ndm_{name}.c": source(f"ndm/ndm_{name}.c") for name in ("slot", "pin")}
    made[f"{FOLDER}/ndm_main.c"] = module()
    made[f"{FOLDER}/ndm_weights.h"] = (KERNEL / "ndm_weights.h").read_text()
    made[f"{FOLDER}/models/mixed.h"] = model("mixed")
    made |= {f"{FOLDER}/tests/{name}_kunit.c": _test(name) for name in KUNIT}
    return made


def _test(name: str) -> str:
    return re.sub(r'#include "(ndm_\w+\.h)"', r'#include "../\1"', source(f"kunit/{name}_kunit.c"))
