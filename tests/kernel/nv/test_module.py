"""tcp_nv.ko in the lab kernel: its parameters, its name, what a socket shows, and its short queues."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import NamedTuple

import pytest

from env.lab import Lab
from env.lab.virtual import MODULES
from env.network.path import Path
from tests.support.guest import run_program, shell
from tests.support.kernel.nv import Range, build, parameters
from tests.support.labs import checked_lab, shared_lab

MODULE = MODULES / "tcp_nv.ko"
SETTINGS = "/sys/module/tcp_nv/parameters"
CLEAN = Path(rate_mbps=100, rtt_ms=20, buffer_bdp=4)
PACKET_MS = 1500 * 8 / (CLEAN.rate_mbps * 1000)  # what one packet in the queue adds to the RTT


lab = shared_lab("tcp_nv", seed=5)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Range]:
    return parameters(build(tmp_path_factory.mktemp("nv")))


def read_settings(lab: Lab) -> dict[str, int]:
    lines = shell(lab, f"cd {SETTINGS} && grep . *").splitlines()
    return {name: int(value) for name, value in (line.split(":") for line in lines)}


def change_settings(lab: Lab, values: dict[str, int]) -> None:
    shell(lab, f"cd {SETTINGS} && " + " && ".join(f"echo {value} >{name}" for name, value in values.items()))


@contextmanager
def changed_settings(lab: Lab, **values: int) -> Iterator[None]:
    before = read_settings(lab)
    change_settings(lab, values)
    try:
        yield
    finally:
        change_settings(lab, {name: before[name] for name in values})


# -- parameters --------------------------------------------------------------------------------------------------------


def test_parameters_have_defaults_and_take_their_range(lab: Lab, table: dict[str, Range]) -> None:
    defaults = {name: entry.default for name, entry in table.items()}
    assert read_settings(lab) == defaults
    for value in ("least", "most", "default"):
        wanted = {name: getattr(entry, value) for name, entry in table.items()}
        change_settings(lab, wanted)
        assert read_settings(lab) == wanted


def test_value_out_of_range_is_refused(lab: Lab, table: dict[str, Range]) -> None:
    before = read_settings(lab)
    for name, (default, least, most) in table.items():
        for value in (str(most + 1), str(least - 1), "-1", "4294967296", "some", "1.5", ""):
            shell(lab, "dmesg -C")
            assert lab.call("shell", command=f"printf '%s\\n' '{value}' >{SETTINGS}/{name}")["status"] != 0, value
            log = shell(lab, "dmesg")
            expected = f"tcp_nv: {name}={value} is refused: it must be a whole number from {least} to {most}: "
            assert expected in log
            assert log.endswith(f"; it stays {default}")
    assert read_settings(lab) == before


def test_value_out_of_range_is_refused_at_load(table: dict[str, Range]) -> None:
    with checked_lab() as lab:
        for name, (_, least, most) in table.items():
            for value in (str(most + 1), str(least - 1)):
                shell(lab, "dmesg -C")
                refused = lab.call("shell", command=f"insmod {MODULE} {name}={value}")
                assert refused["status"] != 0, (name, value)
                assert f"{name}={value} is refused" in shell(lab, "dmesg")
                assert "tcp_nv " not in shell(lab, "cat /proc/modules")
        most = {name: entry.most for name, entry in table.items()}
        shell(lab, f"insmod {MODULE} " + " ".join(f"{name}={value}" for name, value in most.items()))
        assert read_settings(lab) == most


# -- the name ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[FilePath]:
    """Make a folder that the guest sees, which has a /tmp of its own."""
    with tempfile.TemporaryDirectory(dir=MODULES.parent) as folder:
        yield FilePath(folder)


def test_second_nv_is_refused_with_a_remedy(lab: Lab, shared: FilePath) -> None:
    # the same module under another name stands for any other module that registers `nv`
    image = MODULE.read_bytes()
    other = shared / "tcp_nw.ko"
    other.write_bytes(image.replace(b"name=tcp_nv\0", b"name=tcp_nw\0").replace(b"\0tcp_nv\0", b"\0tcp_nw\0"))
    shell(lab, "dmesg -C")
    refused = lab.call("shell", command=f"insmod {other}")
    assert refused["status"] != 0
    # 7.3 keeps EEXIST for a module that is loaded already, and turns that of its init into EBUSY; 7.2 does not
    version = tuple(int(number) for number in shell(lab, "uname -r").split(".")[:2])
    assert ("Device or resource busy" if version >= (7, 3) else "File exists") in refused["stderr"]
    log = shell(lab, "dmesg")
    assert "another congestion control is registered as nv: unload its module" in log
    shell(lab, f"rmmod tcp_nv && insmod {other} && rmmod tcp_nw && insmod {MODULE}")


# -- what a socket shows -----------------------------------------------------------------------------------------------


def test_socket_selects_nv_and_ss_shows_rtt(lab: Lab) -> None:
    shell(lab, "ip link set lo up; tc qdisc replace dev lo root netem delay 10ms")
    code = """
        TCP_CC_INFO = 26
        nv, peer = connect("nv")
        send(nv, peer, 4 << 20)
        enabled, count, rtt_us, min_rtt_us = struct.unpack("4I", nv.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 16))
        ss = ["ss", "-tinH", f"sport = :{nv.getsockname()[1]}"]
        line = subprocess.run(ss, check=True, capture_output=True, text=True).stdout.split()
        rtt = next(word for word in line if word.startswith("rtt:"))
        print(line[5], enabled, count > 0, rtt_us, min_rtt_us, rtt[4:].split("/")[0])
    """
    name, enabled, counted, rtt_us, min_rtt_us, rtt_ms = run_program(lab, code).split()
    assert (name, enabled, counted) == ("nv", "1", "True")
    assert 20_000 <= int(min_rtt_us) <= int(rtt_us) <= 30_000
    # iproute2 shows the RTT of TCP_CC_INFO in place of the kernel's
    assert float(rtt_ms) == pytest.approx(int(rtt_us) / 1000, abs=0.01)


# -- the queue and the window ------------------------------------------------------------------------------------------


class Flow(NamedTuple):
    goodput_mbps: float
    queueing_ms: float
    cwnds: list[float]
    retransmits: int


def run(lab: Lab, scheme: str, path: Path = CLEAN, duration_s: float = 20.0, start_s: float = 3.0) -> Flow:
    """Run one flow; its queueing delay and windows are those after start_s."""
    flows = [{"scheme": scheme, "start_s": 0, "duration_s": duration_s}]
    flow = lab.run(path, flows, duration_s, sample_ms=10).flows[0]
    later = flow.sender["t_s"] > start_s
    return Flow(
        flow.received_bytes * 8e-6 / duration_s,
        flow.sender["srtt_us"][later].mean() / 1000 - path.rtt_ms,
        flow.sender["cwnd"][later].tolist(),
        flow.retransmits,
    )


def test_short_queue_at_full_goodput_on_clean_path(lab: Lab) -> None:
    nv, reno = run(lab, "nv"), run(lab, "reno")
    assert nv.goodput_mbps >= 0.95 * reno.goodput_mbps
    assert nv.queueing_ms < 0.1 * reno.queueing_ms
    assert nv.retransmits == 0
    # the pad of 10 packets, twice: a renewed minimum RTT includes part of it
    assert nv.queueing_ms < 20 * PACKET_MS


def test_the_pad_is_the_queue(lab: Lab) -> None:
    with changed_settings(lab, nv_pad=40):
        wide = run(lab, "nv")
    narrow = run(lab, "nv")
    assert wide.queueing_ms - narrow.queueing_ms > 20 * PACKET_MS


def test_accelerated_growth_fills_a_long_path_sooner(lab: Lab) -> None:
    """After a loss in slow start on a long path, a growth of 1 packet per round trip is slow."""
    path = Path(rate_mbps=100, rtt_ms=100, buffer_bdp=0.1)
    goodput = []
    for factor in (0, 2, 1):
        with changed_settings(lab, nv_cwnd_growth_factor=factor):
            goodput.append(run(lab, "nv", path).goodput_mbps)
    assert goodput[0] < goodput[1], "growth by 1, 1, 1, 2, 2, 2, 4, ..."
    assert goodput[0] < goodput[2], "growth by 1, 1, 2, 2, 4, ..."


def test_the_temporary_decrease_comes_and_goes(lab: Lab) -> None:
    with changed_settings(lab, nv_rtt_cnt_inc_delta=4, nv_dec_factor=4):
        flow = run(lab, "nv", duration_s=30.0)
    usual = sorted(flow.cwnds)[len(flow.cwnds) // 2]
    low = [cwnd for cwnd in flow.cwnds if cwnd < 0.6 * usual]
    # about 27 s / 20 ms / 256 = 5 times 4 round trips of 20 ms, in samples of 10 ms: 40 or so
    assert 8 <= len(low) <= 120
    assert min(low) >= 0.4 * usual
    assert flow.cwnds[-1] >= 0.9 * usual, "cwnd has not recovered"


def test_temporary_decrease_stops_the_drift_of_minimum_rtt(lab: Lab) -> None:
    """Sections 2 and 4.2 of the paper: the minimum RTT of a flow that never pauses grows with the flow's queue."""
    alone = run(lab, "nv", duration_s=60.0, start_s=50.0)
    with changed_settings(lab, nv_rtt_cnt_inc_delta=4, nv_dec_factor=4):
        decreasing = run(lab, "nv", duration_s=60.0, start_s=50.0)
    assert alone.queueing_ms > 30 * PACKET_MS
    assert decreasing.queueing_ms < 15 * PACKET_MS
    assert decreasing.goodput_mbps > 0.95 * alone.goodput_mbps


def test_loss_halves_the_window(lab: Lab) -> None:
    path = Path(rate_mbps=50, rtt_ms=40, buffer_bdp=4, loss_pct=0.01)
    flow = run(lab, "nv", path)
    assert flow.retransmits > 0
    usual = sorted(flow.cwnds)[len(flow.cwnds) // 2]
    assert min(flow.cwnds) <= 0.6 * usual
