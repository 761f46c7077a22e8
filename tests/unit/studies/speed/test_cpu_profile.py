"""The parts that `make -C studies profile` divides the lab's CPU time into."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.errors import UserError
from studies.speed import cpu_profile
from studies.speed.cpu_profile import HOST, OTHER, Sampled, by_part, draw, parse, part_of, sample, table

REPORT = """
# Samples: 48K of event 'cpu-clock'
#
# Overhead|Shared Object    |Symbol
 4.55%  |linux            |[.] htb_dequeue
 2.42%  |linux            |[.] tcp_rbtree_insert
 2.10%  |linux            |[.] tcp_ack
 0.96%  |[kernel.kallsyms]|[k] finish_task_switch.isra.0
"""


def test_functions_are_read_from_a_report_of_perf() -> None:
    assert parse(REPORT) == [
        Sampled(4.55, "linux", "htb_dequeue"),
        Sampled(2.42, "linux", "tcp_rbtree_insert"),
        Sampled(2.10, "linux", "tcp_ack"),
        Sampled(0.96, "[kernel.kallsyms]", "finish_task_switch.isra.0"),
    ]


@pytest.mark.parametrize(
    ("function", "part"),
    [
        ("__tcp_transmit_skb", "TCP"),
        ("netem_dequeue", "qdiscs"),
        ("skb_clone", "buffers and copies"),
        ("__slab_free", "buffers and copies"),
        ("memcpy_orig", "buffers and copies"),
        ("__netif_receive_skb_core.constprop.0", "devices and IP"),
        ("fib_table_lookup", "devices and IP"),
        ("time_travel_sleep", "virtual time, timers, interrupts, idle"),
        ("__hrtimer_run_queues.constprop.0", "virtual time, timers, interrupts, idle"),
        ("vfs_read", OTHER),
    ],
)
def test_functions_of_the_lab_kernel_belong_to_a_part(function: str, part: str) -> None:
    assert part_of(Sampled(1.0, "linux", function)) == part


def test_the_kernel_of_the_host_is_a_part_of_its_own() -> None:
    assert part_of(Sampled(1.0, "[kernel.kallsyms]", "tcp_ack")) == HOST
    assert part_of(Sampled(1.0, "libc.so.6", "memcpy")) == OTHER


def test_parts_and_functions_are_sorted_by_cost(tmp_path: Path) -> None:
    parts = by_part(parse(REPORT))
    assert list(parts) == ["qdiscs", "TCP", HOST]
    assert [sampled.function for sampled in parts["TCP"]] == ["tcp_rbtree_insert", "tcp_ack"]
    (line,) = (line for line in table(parts).splitlines() if "tcp_ack" in line)
    assert [cell.strip() for cell in line.strip("|").split("|")] == ["TCP", "4.5", "tcp_rbtree_insert 2.4, tcp_ack 2.1"]
    draw(parts, tmp_path / "new" / "profile.html")
    assert "tcp_rbtree_insert" in (tmp_path / "new" / "profile.html").read_text()


def test_missing_perf_is_an_error_that_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cpu_profile.shutil, "which", lambda _: None)
    with pytest.raises(UserError, match="linux-perf"):
        sample(tmp_path)
