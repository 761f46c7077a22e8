"""The modules in the lab kernel: loading, selection per socket, the control loop, and the gate's framing."""

from __future__ import annotations

import itertools
import math
import os
import re
from typing import TYPE_CHECKING

import pytest

from env import schema
from env.lab import GuestDied, GuestFailed, Lab, Observation, Reply, VirtualLab
from env.lab.virtual import MODULES
from env.network.path import Path
from tests.support.guest import program, shell
from tests.support.labs import checked_lab, shared_lab

if TYPE_CHECKING:
    from collections.abc import Callable

BOTTLENECK = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=4)
GYM_FLOW = {"scheme": "ndm_gym", "start_s": 0, "duration_s": 600}


lab = shared_lab(
    "tcp_ndm",
    seed=3,
    timeout_s=30,
    setup="ip link set lo up; tc qdisc replace dev lo root netem delay 10ms",
)


def episode(
    lab: Lab, actions: Callable[[Observation], tuple[float, float]], decisions: int, path: Path = BOTTLENECK
) -> list[Observation]:
    """Answer so many observations of one learning flow, stop it, and return what was observed."""
    lab.begin_run(path, [GYM_FLOW], 600.0)
    seen: list[Observation] = []
    while len(seen) < decisions:
        observation = lab.receive()
        assert isinstance(observation, Observation)
        seen.append(observation)
        lab.act(*actions(observation), stop=len(seen) == decisions)
    assert isinstance(lab.receive(), Reply), "nothing is asked after a stop"
    return seen


# -- loading and selection ---------------------------------------------------------------------------------------------


def test_facts_about_the_weights_cannot_be_set() -> None:
    with checked_lab() as lab:
        shell(lab, f"insmod {MODULES}/tcp_ndm.ko")
        folder = "/sys/module/tcp_ndm/ndm"
        assert shell(lab, f"cat {folder}/name")
        assert shell(lab, f"cat {folder}/format") == "1"
        listed = shell(lab, f"cd {folder} && find . -type f -exec stat -c '%n %a %u' {{}} +").splitlines()
        assert len(listed) == 12
        assert [line for line in listed if not line.endswith(" 444 0")] == ["./model 644 0"]


def test_a_socket_selects_it_and_it_stays_loaded_as_long(lab: Lab) -> None:
    before = shell(lab, "cat /proc/sys/net/ipv4/tcp_congestion_control")
    shown = shell(
        lab,
        program("""
            ndm, ndm_peer = connect("ndm")
            cubic, cubic_peer = connect("cubic")
            send(ndm, ndm_peer, 1 << 20)
            send(cubic, cubic_peer, 1 << 20)
            for flow in (ndm, cubic):
                port = flow.getsockname()[1]
                ss = ["ss", "-tinH", f"sport = :{port}"]
                words = subprocess.run(ss, check=True, capture_output=True, text=True).stdout.split()
                print(words[5], *(word for word in words if word.startswith("bbr:")))
            print("rmmod", subprocess.run(["rmmod", "tcp_ndm"], capture_output=True).returncode)
            ndm.close()
            ndm_peer.close()
            print("rmmod", subprocess.run(["rmmod", "tcp_ndm"], capture_output=True).returncode)
        """),
    ).splitlines()
    shell(lab, f"insmod {MODULES}/tcp_ndm.ko")
    algorithm, terms = shown[0].split()
    assert algorithm == "ndm"
    assert re.fullmatch(r"bbr:\(bw:[\d.]+[KMG]?bps,mrtt:[\d.]+,pacing_gain:[\d.]+,cwnd_gain:[\d.]+\)", terms)
    assert shown[1:] == ["cubic", "rmmod 1", "rmmod 0"]
    assert shell(lab, "cat /proc/sys/net/ipv4/tcp_congestion_control") == before
    assert before not in ("ndm", "ndm_gym")


# -- the control loop --------------------------------------------------------------------------------------------------


def first_heard(seen: list[Observation]) -> int:
    """Return the index of the decision that ends slow start: kernel/ndm/ndm_slow_start.h."""
    eighth = 2**schema.FEATURE_FRAC // 8
    return next(i for i, o in enumerate(seen) if o.features[0] >= eighth or o.features[7] >= eighth or o.features[5])


def test_the_window_doubles_until_there_is_a_queue(lab: Lab) -> None:
    seen = episode(lab, lambda _: (-1.0, -1.0), 8)
    end = first_heard(seen)
    assert 2 <= end < 8
    cwnd = [float(seen[0].cwnd)]
    for _ in range(end):
        cwnd.append(2 * cwnd[-1] + 1 + math.sqrt(cwnd[-1]) / 4)
    assert [o.cwnd for o in seen[: end + 1]] == [pytest.approx(expected, abs=1.2) for expected in cwnd]
    assert seen[end + 1].cwnd < 0.6 * seen[end].cwnd


def test_cwnd_follows_the_actions_with_its_fractions(lab: Lab) -> None:
    # the same step again and again, towards the window at which it stays
    step = -0.06
    seen = episode(lab, lambda _: (step, 0.5), 60)
    start = first_heard(seen)
    cwnd, drained = float(seen[start].cwnd), (16 + 1, 16 + 2, 32 + 1, 32 + 2)
    for last, now in itertools.pairwise(seen[start:]):
        if last.decision not in drained:  # what is decided in a drain is not heard
            cwnd = cwnd * 2**step + 1 + math.sqrt(cwnd) / 4
        assert now.cwnd == pytest.approx(cwnd / (2 if now.decision in drained else 1), abs=1.2), now.decision
    assert 50 < cwnd < seen[start].cwnd - 10


def test_cwnd_stays_at_two_packets_or_more(lab: Lab) -> None:
    seen = episode(lab, lambda _: (-1.0, 0.0), 25)
    assert [o.cwnd for o in seen[18:]] == [2] * 7, "2.9, where half of it and what is added are as much"
    assert min(o.cwnd for o in seen) == 2


def test_pacing_follows_the_action(lab: Lab) -> None:
    pacing = (-1.0, -0.5, 0.0, 0.25, 1.0)
    seen = episode(lab, lambda o: (0.0, pacing[o.decision % len(pacing)]), 40)
    for last, now in itertools.pairwise(seen[5:]):
        gain = 1.25 * 2 ** pacing[last.decision % len(pacing)]
        assert now.pacing_rate == pytest.approx(gain * now.cwnd * now.mss / (last.srtt_us / 1e6), rel=1e-3)


def test_intervals_are_round_trips(lab: Lab) -> None:
    seen = episode(lab, lambda o: (math.log2(40 / o.cwnd), 0.0), 40)
    for observation in seen[5:]:
        assert 0.9 * observation.rtt_us <= observation.interval_us <= 2.1 * observation.rtt_us
    assert [o.decision for o in seen] == list(range(40))
    assert len({o.flow for o in seen}) == 1


def test_an_idle_application_collects_no_window(lab: Lab) -> None:
    lab.begin(
        "shell",
        command=program("""
            sender, receiver = connect("ndm_gym")
            for _ in range(100):
                send(sender, receiver, 1000)
                time.sleep(0.05)
        """),
    )
    seen = []
    while isinstance(frame := lab.receive(), Observation):
        seen.append(frame)
        lab.act(1.0, 0.0)
    assert len(seen) > 50
    assert max(o.cwnd for o in seen) <= 20, "twice the initial window"
    # the pauses are not part of the intervals
    assert max(o.interval_us for o in seen) < 45_000


def test_a_time_out_is_felt_and_left_again(lab: Lab) -> None:
    lab.begin(
        "shell",
        command=program("""
            sender, receiver = connect("ndm_gym")
            send(sender, receiver, 4 << 20)
            tc("change dev lo root netem delay 10ms loss 100%")
            sender.setblocking(False)
            queued = 0
            try:
                while True:
                    queued += sender.send(bytes(65536))
            except BlockingIOError:
                pass
            time.sleep(3)
            print(tcp_info(sender)[18])
            tc("change dev lo root netem delay 10ms loss 0%")
            while queued:
                queued -= len(receiver.recv(min(queued, 1 << 20)))
            sender.setblocking(True)
            send(sender, receiver, 4 << 20)
            print(tcp_info(sender)[18])
        """),
    )
    seen = []
    while isinstance(frame := lab.receive(), Observation):
        seen.append(frame)
        lab.act(math.log2(40 / frame.cwnd), 0.0)
    during, after = (int(line) for line in frame.result["stdout"].split())
    assert frame.result["status"] == 0, frame.result
    assert during == 1, "the kernel takes the window on a time-out"
    assert after >= 35, "and the policy has it back"
    plasticity = [o.features[4] / (1 << schema.FEATURE_FRAC) for o in seen]
    rises = [b - a for a, b in itertools.pairwise(plasticity)]
    assert max(rises) >= 0.19, "0.2 for a time-out"


# -- the gate ----------------------------------------------------------------------------------------------------------


def test_after_a_stop_the_window_is_held_without_asking(lab: Lab) -> None:
    lab.begin(
        "shell",
        command=program("""
            sender, receiver = connect("ndm_gym")
            send(sender, receiver, 8 << 20)
            print(tcp_info(sender)[18])
        """),
    )
    cwnd = 0
    for _ in range(3):
        frame = lab.receive()
        assert isinstance(frame, Observation)
        cwnd = frame.cwnd
        lab.act(0.5, 0.0, stop=frame.decision == 2)
    reply = lab.receive()
    assert isinstance(reply, Reply)
    assert int(reply.result["stdout"]) == cwnd


def test_frames_of_megabytes_pass_both_ways(lab: Lab) -> None:
    name = "x" * 3_000_000
    with pytest.raises(GuestFailed) as failure:
        lab.call(name)
    assert name in str(failure.value)
    assert shell(lab, "head -c 8000000 /dev/zero | tr '\\0' y") == "y" * 8_000_000


@pytest.mark.parametrize(
    "frame",
    [
        schema.FRAME_HEADER.pack(8, schema.FRAME_ACTION, 0) + bytes(8),
        schema.FRAME_HEADER.pack(schema.FRAME_MAX + 1, schema.FRAME_COMMAND, 0),
    ],
    ids=["an action where a command is due", "a length beyond the limit"],
)
def test_a_broken_frame_ends_the_lab(frame: bytes) -> None:
    with VirtualLab(seed=1) as lab:
        shell(lab, "true")
        os.write(lab.fileno(), frame)
        with pytest.raises(GuestDied, match=re.escape("the host is gone (a command was expected)")):
            lab.receive()
