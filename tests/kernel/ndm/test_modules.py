"""tcp_ndm in the lab kernel: loading, selection per socket, the control loop, and the gate's frames."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable

import numpy as np
import pytest

from env import schema
from env.lab import GuestDied, GuestFailed, Lab, Observation, Reply, VirtualLab
from env.lab.virtual import MODULES
from env.network.path import PACKET_BYTES, Path
from tests.support.guest import program, run_program, shell
from tests.support.labs import checked_lab, shared_lab
from tests.support.models import SLOTS

BOTTLENECK = Path(rate_mbps=20, rtt_ms=40, buffer_bdp=4)
GYM_FLOW = {"scheme": "ndm_gym", "start_s": 0, "duration_s": 600}


POLICY_DECIDES = 7  # slow start is over at this decision on the path of episode()

lab = shared_lab(
    "tcp_ndm", seed=3, timeout_s=30, setup="ip link set lo up; tc qdisc replace dev lo root netem delay 10ms"
)


def episode(
    lab: Lab, actions: Callable[[Observation], tuple[float, float]], decisions: int, path: Path = BOTTLENECK
) -> list[Observation]:
    """Answer the observations of one learning flow, stop it after so many decisions, and return the observations."""
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


def test_only_the_slots_can_be_written() -> None:
    with checked_lab() as lab:
        shell(lab, f"insmod {MODULES}/tcp_ndm.ko")
        folder = "/sys/module/tcp_ndm/ndm"
        assert shell(lab, f"cat {folder}/name")
        assert shell(lab, f"cat {folder}/format") == "1"
        listed = shell(lab, f"cd {folder} && find . -type f -exec stat -c '%n %a %u' {{}} +").splitlines()
        assert len(listed) == 13
        assert [line for line in listed if not line.endswith(" 444 0")] == []
        assert shell(lab, f"stat -c '%a %u' {SLOTS}") == "200 0"


def test_socket_selects_ndm_and_keeps_the_module(lab: Lab) -> None:
    before = shell(lab, "cat /proc/sys/net/ipv4/tcp_congestion_control")
    code = """
        ndm, ndm_peer = connect("ndm")
        cubic, cubic_peer = connect("cubic")
        send(ndm, ndm_peer, 1 << 20)
        send(cubic, cubic_peer, 1 << 20)
        for flow in (ndm, cubic):
            ss = ["ss", "-tinH", f"sport = :{flow.getsockname()[1]}"]
            words = subprocess.run(ss, check=True, capture_output=True, text=True).stdout.split()
            print(words[5], *(word for word in words if word.startswith(("bbr:", "rtt:"))))
        print("rmmod", rmmod("tcp_ndm"))
        ndm.close()
        ndm_peer.close()
        print("rmmod", rmmod("tcp_ndm"))
    """
    shown = run_program(lab, code).splitlines()
    shell(lab, f"insmod {MODULES}/tcp_ndm.ko")
    algorithm, terms = shown[0].split()
    assert algorithm == "ndm"
    assert re.fullmatch(r"rtt:[\d.]+/[\d.]+", terms), "it reports as Vegas does, whose RTT ss prints, not as BBR"
    assert shown[1].startswith("cubic rtt:")
    assert shown[2:] == ["rmmod 1", "rmmod 0"]
    assert shell(lab, "cat /proc/sys/net/ipv4/tcp_congestion_control") == before
    assert before not in ("ndm", "ndm_gym")


# -- the control loop --------------------------------------------------------------------------------------------------


def observed(
    lab: Lab, code: str, actions: Callable[[Observation], tuple[float, float]], decisions: int = 10**9
) -> tuple[list[Observation], str]:
    """Run a program in the guest, answer its flow's observations, and return them with what the program printed."""
    lab.begin("shell", command=program(code))
    seen: list[Observation] = []
    while isinstance(frame := lab.receive(), Observation):
        seen.append(frame)
        lab.act(*actions(frame), stop=len(seen) == decisions)
    assert frame.result["status"] == 0, frame.result
    return seen, frame.result["stdout"]


def test_window_doubles_until_the_link_is_full(lab: Lab) -> None:
    cwnd = [o.cwnd for o in episode(lab, lambda _: (-1.0, -1.0), 9)]
    most = [o.cwnd for o in episode(lab, lambda _: (1.0, -1.0), 9)]
    assert cwnd[: POLICY_DECIDES + 1] == most[: POLICY_DECIDES + 1], "slow start does not ask the policy"
    # the ACK that ends an interval is the first one of the next round trip
    assert cwnd[:3] == [11, 21, 41]
    # the link spreads the next packets: three sixteenths more than the 66 that the path holds, also in the interval
    # that shows a queue
    assert cwnd[3:6] == [78] * 3
    # so does the next one, which leaves what the path holds and a sixteenth: the growing window has varied the RTTs,
    # and that counts as a wait. Then the policy decides
    assert cwnd[6] == cwnd[POLICY_DECIDES] == 73
    assert cwnd[POLICY_DECIDES + 1] < cwnd[POLICY_DECIDES] < most[POLICY_DECIDES + 1]


def next_cwnd(cwnd: float, queue_us: float, explained_us: float, growth: float) -> float:
    """Return the window after a decision, as kernel/ndm/ndm_window.h tells."""
    u = max(queue_us, 0) / explained_us
    return (cwnd + 12 * 2**growth * math.sqrt(u + 1 / 16)) / (1 + u) + cwnd * max(0, 1 / 32 - u)


def explained_us(observation: Observation) -> float:
    """Return the RTT without a queue: the minimum and the wait, which rtt_ratio leaves out."""
    ratio = observation.features[0] / (1 << schema.FEATURE_FRAC)
    wait_us = observation.srtt_us - (1 + ratio) * observation.min_rtt_us if ratio else 0
    return observation.min_rtt_us + wait_us


@pytest.mark.parametrize(("growth", "rests_at"), [(-1.0, 1.03), (0.0, 1.07), (1.0, 1.145)])
def test_cwnd_follows_queue_and_action(lab: Lab, growth: float, rests_at: float) -> None:
    """rests_at: 1 + u for the u at which the window stays, bdp * (1 + u) * u = 12 * 2^growth * sqrt(u + 1/16)."""
    seen = episode(lab, lambda _: (growth, 0.5), 60)
    # slow start is over with decision 6, which counts as the fifth of eight; then half of all decisions apart
    drains = (9, 17, 33)
    for before, last, now in zip(seen, seen[1:], seen[2:], strict=False):
        path_us = explained_us(last)
        first = max((drain for drain in drains if drain < now.decision), default=now.decision)
        if first < now.decision <= first + 3:  # three quarters of what the path carries, rounded up, and a packet
            carried = seen[first].delivered - seen[first - 1].delivered
            kept = 0.75 * carried / seen[first].interval_us * explained_us(seen[first])
            # the packets may have been sent over longer than the interval: by a packet fewer
            assert kept - 1 <= now.cwnd <= kept + 2, now.decision
        elif now.decision > first + 5:  # a drain with a longer queue takes a decision more
            # an observation has the mean RTT, which is at most twice as far from the minimum as what counts
            most_us, least_us = last.rtt_us, (last.rtt_us + last.min_rtt_us) / 2
            if before.rtt_us - explained_us(before) >= path_us / 32:  # a queue that has grown counts a decision later
                most_us, least_us = min(most_us, before.rtt_us), min(least_us, before.rtt_us)
            least = next_cwnd(last.cwnd, most_us - path_us, path_us, growth)
            most = next_cwnd(last.cwnd + 1, least_us - path_us, path_us, growth)
            assert least - 1.1 <= now.cwnd <= most + 0.1, now.decision  # rtt_ratio is rounded
    bdp = BOTTLENECK.bdp_bytes / PACKET_BYTES
    assert np.mean([o.cwnd for o in seen[40:]]) == pytest.approx(rests_at * bdp, rel=0.05)


def test_cwnd_stays_at_two_packets_or_more(lab: Lab) -> None:
    code = """
        sender, receiver = connect("ndm_gym")
        tc("change dev lo root netem delay 10ms loss 50% ecn")
        send(sender, receiver, 4 << 20)
        tc("change dev lo root netem delay 10ms loss 0%")
    """
    before = shell(lab, "cat /proc/sys/net/ipv4/tcp_ecn")
    shell(lab, "echo 1 >/proc/sys/net/ipv4/tcp_ecn")
    seen, _ = observed(lab, code, lambda _: (-1.0, 0.0))
    shell(lab, f"echo {before} >/proc/sys/net/ipv4/tcp_ecn")
    cwnd = [o.cwnd for o in seen]
    assert min(cwnd) == 2
    assert cwnd.count(2) > 5, "a mark cuts it from two packets again"


def test_pacing_follows_the_action(lab: Lab) -> None:
    pacing = (-1.0, -0.5, 0.0, 0.25, 1.0)
    seen = episode(lab, lambda o: (0.0, pacing[o.decision % len(pacing)]), 40)
    for last, now in itertools.pairwise(seen[POLICY_DECIDES:]):
        gain = 1.25 * 2 ** pacing[last.decision % len(pacing)]
        assert now.pacing_rate == pytest.approx(gain * now.cwnd * now.mss / (last.srtt_us / 1e6), rel=1e-3)


def test_intervals_are_round_trips(lab: Lab) -> None:
    seen = episode(lab, lambda o: (math.log2(40 / o.cwnd), 0.0), 40)
    for observation in seen[POLICY_DECIDES:]:
        assert 0.9 * observation.rtt_us <= observation.interval_us <= 2.1 * observation.rtt_us
    assert [o.decision for o in seen] == list(range(40))
    assert len({o.flow for o in seen}) == 1


def test_idle_application_does_not_grow_the_window(lab: Lab) -> None:
    code = """
        sender, receiver = connect("ndm_gym")
        for _ in range(100):
            send(sender, receiver, 1000)
            time.sleep(0.05)
    """
    seen, _ = observed(lab, code, lambda _: (1.0, 0.0))
    assert len(seen) > 50
    assert max(o.cwnd for o in seen) <= 20, "twice the initial window"
    assert max(o.interval_us for o in seen) < 45_000, "an interval includes a pause"


def test_policy_regains_the_window_after_time_out(lab: Lab) -> None:
    code = """
        sender, receiver = connect("ndm_gym")
        send(sender, receiver, 4 << 20)
        print(info(sender)["cwnd"])
        tc("change dev lo root netem delay 10ms loss 100%")
        queued = fill_and_wait(sender, 3)
        print(info(sender)["cwnd"])
        tc("change dev lo root netem delay 10ms loss 0%")
        drain(receiver, queued)
        for _ in range(6):
            send(sender, receiver, 4 << 20)
        print(info(sender)["cwnd"])
    """
    seen, printed = observed(lab, code, lambda _: (0.0, 0.0))
    before, during, after = (int(line) for line in printed.split())
    assert during == 1, "the kernel sets the window on a time-out"
    assert after >= before > 40, "slow start gives half of it back, and the policy the rest"
    plasticity = [o.features[4] / (1 << schema.FEATURE_FRAC) for o in seen]
    rises = [b - a for a, b in itertools.pairwise(plasticity)]
    assert max(rises) >= 0.19, "0.2 for a time-out"


# -- the gate ----------------------------------------------------------------------------------------------------------


def test_window_is_held_after_a_stop(lab: Lab) -> None:
    code = """
        sender, receiver = connect("ndm_gym")
        send(sender, receiver, 8 << 20)
        print(info(sender)["cwnd"])
    """
    seen, printed = observed(lab, code, lambda _: (0.5, 0.0), decisions=3)
    assert len(seen) == 3, "nothing is asked after a stop"
    assert int(printed) == seen[-1].cwnd


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
def test_broken_frame_ends_the_lab(frame: bytes) -> None:
    with VirtualLab(seed=1) as lab:
        shell(lab, "true")
        os.write(lab.fileno(), frame)
        with pytest.raises(
            GuestDied, match=re.escape("the channel failed (the host sent no COMMAND, or one that is too long)")
        ):
            lab.receive()
