"""Show where the lab's CPU time goes: `make -C studies profile`, or `python -m studies.speed.cpu_profile`.

Cubic fills the path of 20 Mbit/s and 40 ms while Linux's perf samples the processes of the lab, whose kernel is an
ordinary program to it. The table has the share of each part of the kernel and the part's dearest functions; the drawing
has all functions as areas. A function belongs to the first part with a pattern that matches the name's beginning. There
are no call chains: user-mode Linux is built without frame pointers.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import plotly.graph_objects

from env.checkout import BUILD
from env.errors import UserError
from env.lab import LabError, VirtualLab
from env.markdown import markdown_table
from env.network.path import Path as NetworkPath
from studies.speed.processes import lab_processes

RUN_S = 100.0  # virtual
RUNS = 20
SAMPLES_PER_S = 5000
DEAREST = 6  # functions that the table names of a part

LAB_KERNEL = "linux"  # perf's name of the lab kernel's image
OTHER = "other"
HOST = "the host's kernel, and switches to it"
PARTS = {
    "TCP": r"_*(tcp|inet)_|cubic|bictcp|minmax_|sk_(stream|reset_timer)",
    "qdiscs": r"_*qdisc_|htb_|netem_|[pt]?fifo_|sch_|psched_|tabledist",
    "buffers and copies": r"_*(skb|pskb|alloc|build_skb|copy|csum|kmalloc|kmem|kfree|slab|free|rmqueue|sk_mem)|"
    r"_*sock_wfree|mem(cpy|set|move)|(put_cpu|get)_partial|(new|discard)_slab|get_page|prep_|page_frag|sk_page_frag|sock_[drw]",
    "devices and IP": r"_*(ip|ipv4|fib|dev|netif|netdev|veth|net_(rx|tx)_action|napi|neigh|eth|dst|rt|arp|raw|"
    r"sk_dst_check|sk_filter)|validate_xmit|process_backlog|enqueue_to_backlog|passthru|find_exception|map_id|make_kuid",
    "virtual time, timers, interrupts, idle": r"_*(time|tick|hrtimer|ktime|clockevents|jiffies|usecs_to|ntp_|itimer|"
    r"irq|mod_timer|run_timer|(get_)?next_timer|expire_timers|get_jiffies|(detach|enqueue|lock|remove)_(if|timer|hrtimer)|"
    r"local_bh|softirq|handle_softirqs|(do|raise)_softirq|generic_handle|handle_irq|do_IRQ|rb_|find_next|calc_(wheel|"
    r"global)|second_overflow|update_(wall|process|rq)|do_idle|default_idle|can_stop_idle|cpu_idle|arch_cpu|idle_cpu|"
    r"nr_iowait|sched|run_posix|account|try_to_wake|wake_|switch|finish_task|signals_|(un)?block_signals|notifier_call|"
    r"rcu|os_|um_)",
}


class Sampled(NamedTuple):
    """A function and its share of all samples, in percent. image: the file that has it, by perf's name."""

    percent: float
    image: str
    function: str


def parse(report: str) -> list[Sampled]:
    """Return the functions of a report of perf: lines of percentage, image and function between bars."""
    rows = re.findall(r"^\s*([\d.]+)%\s*\|(\S+)\s*\|\[.\] (\S+)", report, re.MULTILINE)
    return [Sampled(float(percent), image, function) for percent, image, function in rows]


def part_of(sampled: Sampled) -> str:
    """Return the name of the part that a function belongs to."""
    if sampled.image != LAB_KERNEL:
        return HOST if sampled.image.startswith("[kernel") else OTHER
    return next((part for part, pattern in PARTS.items() if re.match(pattern, sampled.function)), OTHER)


def by_part(functions: Iterable[Sampled]) -> dict[str, list[Sampled]]:
    """Return the functions of each part, the dearest part and function first."""
    parts: dict[str, list[Sampled]] = {}
    for sampled in sorted(functions, reverse=True):
        parts.setdefault(part_of(sampled), []).append(sampled)
    return dict(sorted(parts.items(), key=lambda item: -_percent(item[1])))


def _percent(functions: Iterable[Sampled]) -> float:
    return sum(sampled.percent for sampled in functions)


def table(parts: dict[str, list[Sampled]]) -> str:
    """Return the table of the parts."""
    rows = [
        [
            part,
            f"{_percent(functions):.1f}",
            ", ".join(f"{sampled.function} {sampled.percent:.1f}" for sampled in functions[:DEAREST]),
        ]
        for part, functions in parts.items()
    ]
    return markdown_table(["part", "% of the CPU time", "of it"], rows)


def draw(parts: dict[str, list[Sampled]], file: Path) -> None:
    """Write a page with an area for each function, within its part."""
    areas: defaultdict[tuple[str, str], float] = defaultdict(float)  # static functions may share a name
    for part, functions in parts.items():
        for sampled in functions:
            areas[part, sampled.function] += sampled.percent
    treemap = plotly.graph_objects.Treemap(
        ids=[*parts, *("/".join(area) for area in areas)],
        labels=[*parts, *(function for _, function in areas)],
        parents=[*("" for _ in parts), *(part for part, _ in areas)],
        values=[*(_percent(functions) for functions in parts.values()), *areas.values()],
        texttemplate="%{label}<br>%{value:.1f} %",
    )
    figure = plotly.graph_objects.Figure(treemap)
    figure.update_layout(title="CPU time of the lab: cubic at 20 Mbit/s and 40 ms", margin={"l": 10, "r": 10, "b": 10})
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(file)


def sample(folder: Path) -> list[Sampled]:
    """Sample a lab at work; return its functions. Raises LabError, and UserError when perf cannot sample."""
    if not shutil.which("perf"):
        raise UserError("perf is not installed: `make -C studies profile` installs it (Debian: linux-perf)")
    data = folder / "perf.data"
    path = NetworkPath(rate_mbps=20, rtt_ms=40)
    flows = [{"scheme": "cubic", "start_s": 0.0, "duration_s": RUN_S}]
    with VirtualLab(seed=1) as lab:
        lab.run(path, flows, 1.0, sample_ms=1000)
        processes = ",".join(process.name for process in lab_processes(lab))
        command = ["perf", "record", "--quiet", "--event=cpu-clock", f"--freq={SAMPLES_PER_S}", f"--output={data}"]
        with subprocess.Popen([*command, f"--pid={processes}"], stderr=subprocess.PIPE, text=True) as perf:
            for _ in range(RUNS):
                lab.run(path, flows, RUN_S, sample_ms=1000)
            perf.terminate()  # it then writes what it has
            _, errors = perf.communicate()
    if not data.exists():
        raise UserError(f"perf could not sample: {errors.strip()}")
    report = [
        "perf",
        "report",
        f"--input={data}",
        "--stdio",
        "--percent-limit=0",
        "--sort=dso,sym",
        "--field-separator=|",
    ]
    functions = parse(subprocess.run(report, capture_output=True, text=True, check=True).stdout)
    if not functions:
        raise UserError(f"perf took no sample: {errors.strip()}")
    return functions


def main(argv: list[str] | None = None) -> int:
    """Print the shares and draw them; returns the exit status."""
    parser = argparse.ArgumentParser(description="show where the lab's CPU time goes")
    parser.add_argument("--output", type=Path, default=BUILD / "profile.html", help="the drawing (%(default)s)")
    arguments = parser.parse_args(argv)
    try:
        with tempfile.TemporaryDirectory() as folder:
            parts = by_part(sample(Path(folder)))
    except (LabError, UserError) as error:
        print(f"lab_profile: {error}", file=sys.stderr)
        return 1
    print(table(parts))
    draw(parts, arguments.output)
    print(f"drawing: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
