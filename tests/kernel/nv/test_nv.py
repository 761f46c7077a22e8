"""TCP-NV's rules in user space: the code of tcp_nv.ko against the paper's formulas in unbounded integers.

The tests compile the code with the undefined-behaviour sanitizer: an overflow, a bad shift or a division by zero ends
the run.
"""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.kernel.nv import build, parameters
from tests.support.tools import SANITIZER, compile_c

U32 = 2**32
S32_MAX = 2**31 - 1
SSTHRESH_MAX = S32_MAX
MSS = 1448
SECOND_US = 1_000_000


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("nv"))


class Reading(NamedTuple):
    avg_rtt_us: int
    min_rtt_us: int
    next_min_rtt_us: int
    calls: int
    rounds: int
    growth: int


def u32(*numbers: int) -> list[ctypes.c_uint32]:
    return [ctypes.c_uint32(number) for number in numbers]


@dataclass
class Connection:
    """One connection's state in C."""

    lib: ctypes.CDLL
    settings: dict[str, int] = field(default_factory=dict)
    now_us: int = 0
    snd_nxt: int = 0

    def __post_init__(self) -> None:
        known = parameters(self.lib)
        assert not self.settings.keys() - known.keys()
        values = {name: self.settings.get(name, entry.default) for name, entry in known.items()}
        self.params = (ctypes.c_uint32 * len(values))(*values.values())
        self.value = values
        self.state = ctypes.create_string_buffer(self.lib.nv_user_state_size())
        self.lib.nv_user_init(self.state, *u32(self.now_us, self.snd_nxt))

    def ack(self, rtt_us: int, in_flight: int = 20 * MSS, count: int = 1) -> None:
        for _ in range(count):
            self.lib.nv_user_measure(
                self.state, self.params, *u32(self.now_us), ctypes.c_int32(rtt_us), *u32(in_flight)
            )

    def end_round(self, cwnd: int, ssthresh: int = 2, mss: int = MSS, random: int = 0) -> tuple[int, int]:
        window = (ctypes.c_uint32 * 2)(cwnd, ssthresh)
        self.lib.nv_user_round_end(self.state, self.params, window, *u32(mss, random, self.snd_nxt))
        return window[0], window[1]

    def read(self) -> Reading:
        numbers = (ctypes.c_uint32 * len(Reading._fields))()
        self.lib.nv_user_read(self.state, numbers)
        return Reading(*numbers)


# -- the table of parameters -------------------------------------------------------------------------------------------


def test_parameters_have_the_defaults_of_the_paper(lib: ctypes.CDLL) -> None:
    assert {name.removeprefix("nv_"): entry.default for name, entry in parameters(lib).items()} == {
        "pad": 10, "pad_buffer": 2, "reset_period": 5, "min_cwnd": 10, "dec_eval_min_calls": 60,
        "ssthresh_eval_min_calls": 30, "rtt_min_cnt": 2, "cong_decrease_mult": 38, "ssthresh_factor": 8,
        "rtt_factor": 128, "rtt_cnt_inc_delta": 0, "dec_factor": 8, "loss_dec_factor": 512, "cwnd_growth_factor": 0,
    }  # fmt: skip
    for name, (default, least, most) in parameters(lib).items():
        assert least <= default <= most, name


def test_sanitizer_ends_an_overflowing_program(tmp_path: Path) -> None:
    """The sanitizer's options end a program that overflows, so that the other tests would notice it."""
    source = tmp_path / "overflow.c"
    source.write_text("volatile int sum = 0x7fffffff; int main(void) { sum = sum + 1; return 0; }\n")
    program = compile_c(tmp_path / "overflow", source, *SANITIZER)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "signed integer overflow" in done.stderr


# -- each formula, exactly ---------------------------------------------------------------------------------------------

edges = st.sampled_from([0, 1, 2, 3, 10, 128, 1448, 65535, 2**16, 10_000_000, 2**30, S32_MAX, 2**31, U32 - 2, U32 - 1])
any_u32 = st.one_of(st.integers(0, U32 - 1), edges)
rtts = st.one_of(st.integers(1, S32_MAX), st.sampled_from([1, 2, 10, 10_000_000, S32_MAX]))


@given(avg=rtts, rtt=rtts, factor=st.integers(1, 256))
@settings(max_examples=300, deadline=None)
def test_the_average_is_exact_and_never_zero(lib: ctypes.CDLL, avg: int, rtt: int, factor: int) -> None:
    average = lib.nv_user_average_rtt(*u32(avg, rtt, factor))
    assert average == (rtt * factor + avg * (256 - factor)) >> 8
    assert average >= 1
    assert lib.nv_user_average_rtt(*u32(0, rtt, factor)) == rtt


@given(a=any_u32, a_us=rtts, b=any_u32, b_us=rtts)
@settings(max_examples=300, deadline=None)
def test_rates_compare_exactly(lib: ctypes.CDLL, a: int, a_us: int, b: int, b_us: int) -> None:
    assert lib.nv_user_rate_is_more(*u32(a, a_us, b, b_us)) == (a * b_us > b * a_us)


@given(bytes_=any_u32, rtt=any_u32, min_rtt=any_u32, mss=any_u32, pad=st.integers(1, 1024))
@settings(max_examples=500, deadline=None)
def test_target_is_exact_and_never_divides_by_zero(
    lib: ctypes.CDLL, bytes_: int, rtt: int, min_rtt: int, mss: int, pad: int
) -> None:
    exact = 0
    if bytes_ and rtt and min_rtt and mss:
        exact = min(-(-bytes_ * min_rtt // (rtt * mss)) + pad, U32 - 1)
    assert lib.nv_user_max_win(*u32(bytes_, rtt, min_rtt, mss, pad)) == exact


@given(data=st.data(), cwnd=st.integers(1, U32 - 1), mult=st.integers(1, 128), floor=st.integers(2, 65535))
@settings(max_examples=300, deadline=None)
def test_decrease_is_exact_and_keeps_its_floor(
    lib: ctypes.CDLL, data: st.DataObject, cwnd: int, mult: int, floor: int
) -> None:
    max_win = data.draw(st.integers(0, cwnd - 1))
    decreased = lib.nv_user_decreased_cwnd(*u32(cwnd, max_win, mult, floor))
    exact = cwnd - max(2, (cwnd - max_win) * mult >> 7)
    assert decreased == (max(exact, floor) if cwnd > floor else cwnd)
    assert decreased >= 1


@given(max_win=any_u32, factor=st.integers(1, 255))
@settings(max_examples=200, deadline=None)
def test_ssthresh_is_exact_within_the_kernels_limits(lib: ctypes.CDLL, max_win: int, factor: int) -> None:
    exact = min(max(max_win * factor >> 3, 2), SSTHRESH_MAX)
    assert lib.nv_user_congestion_ssthresh(*u32(max_win, factor)) == exact


@given(cwnd=st.integers(1, U32 - 1), factor=st.integers(1, 1023))
@settings(max_examples=200, deadline=None)
def test_loss_leaves_its_share_or_two_packets(lib: ctypes.CDLL, cwnd: int, factor: int) -> None:
    connection = Connection(lib, {"nv_loss_dec_factor": factor})
    left = lib.nv_user_loss_ssthresh(ctypes.c_uint32(cwnd), connection.params)
    assert left == max(cwnd * factor >> 10, 2)
    assert left < cwnd or left == 2


# -- all parameters and events -----------------------------------------------------------------------------------------


class Ack(NamedTuple):
    later_us: int
    rtt_us: int
    in_flight: int
    count: int


class RoundEnd(NamedTuple):
    mss: int
    random: int


class Taken(NamedTuple):
    """The kernel sets the window, as loss recovery does."""

    cwnd: int
    ssthresh: int


any_s32 = st.one_of(st.integers(-(2**31), S32_MAX), st.sampled_from([-(2**31), -1, 0, 1, 10, 10_000_000, S32_MAX]))
events = st.lists(
    st.one_of(
        st.builds(Ack, any_u32, any_s32, any_u32, st.integers(1, 70)),
        st.builds(RoundEnd, any_u32, any_u32),
        st.builds(Taken, st.integers(1, U32 - 1), st.integers(2, SSTHRESH_MAX)),
    ),
    max_size=40,
)


@given(data=st.data(), start_us=any_u32, snd_nxt=any_u32, happens=events)
@settings(max_examples=400, deadline=None)
def test_window_stays_within_its_bounds(
    lib: ctypes.CDLL, data: st.DataObject, start_us: int, snd_nxt: int, happens: list[Ack | RoundEnd | Taken]
) -> None:
    chosen = {
        name: data.draw(st.integers(least, most), label=name) for name, (_, least, most) in parameters(lib).items()
    }
    connection = Connection(lib, chosen, start_us, snd_nxt)
    floor = chosen["nv_min_cwnd"]
    cwnd, ssthresh = 10, SSTHRESH_MAX
    highest = cwnd
    measured = False
    for event in happens:
        if isinstance(event, Ack):
            connection.now_us = (connection.now_us + event.later_us) % U32
            before = connection.read()
            connection.ack(event.rtt_us, event.in_flight, event.count)
            measured = measured or event.rtt_us > 0
            if event.rtt_us <= 0:
                assert connection.read() == before, "no measurement without an RTT"
        elif isinstance(event, RoundEnd):
            before_cwnd = cwnd
            cwnd, ssthresh = connection.end_round(cwnd, ssthresh, event.mss, event.random)
            assert min(before_cwnd, floor) <= cwnd <= highest
            assert 2 <= ssthresh <= SSTHRESH_MAX
            assert lib.nv_user_growth_acks(connection.state, ctypes.c_uint32(cwnd)) >= 1
        else:
            cwnd, ssthresh = event
            highest = max(highest, cwnd)
            lib.nv_user_window_taken(connection.state, ctypes.c_uint32(snd_nxt))
            assert connection.read().growth == 1
        now = connection.read()
        assert (now.avg_rtt_us > 0) == (now.min_rtt_us > 0) == measured
        assert now.min_rtt_us <= now.avg_rtt_us


# -- what a path does --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start_us", [0, U32 - 3 * SECOND_US])
def test_rtt_jumps_from_10_us_to_10_s(lib: ctypes.CDLL, start_us: int) -> None:
    connection = Connection(lib, now_us=start_us, snd_nxt=U32 - 10)
    cwnd, ssthresh = 100, 2

    def rounds(count: int, rtt_us: int) -> None:
        nonlocal cwnd, ssthresh
        for _ in range(count):
            connection.now_us = (connection.now_us + rtt_us) % U32
            connection.ack(rtt_us, cwnd * MSS, count=40)
            cwnd, ssthresh = connection.end_round(cwnd, ssthresh)

    rounds(200, 10)
    assert connection.read().min_rtt_us == 10
    assert cwnd == 100, "the line through the origin: no queue"
    rounds(1, 10_000_000)
    assert connection.read().min_rtt_us == 10, "the minimum of the last period"
    rounds(3, 10_000_000)
    assert connection.read().min_rtt_us >= 9_900_000, "two periods later it is the path's"
    assert connection.read().growth == 1
    rounds(1, 10)
    assert connection.read().min_rtt_us == 10, "40 samples later a shorter one is believed"
    rounds(300, 10)
    assert connection.read().min_rtt_us == 10
    assert (cwnd, ssthresh) == (100, 2), "a window without a queue is left alone all the time"


def test_minimum_is_renewed_after_a_period(lib: ctypes.CDLL) -> None:
    connection = Connection(lib, {"nv_rtt_factor": 256}, now_us=U32 - 2 * SECOND_US)
    connection.ack(40)
    for second, expected in ((1, 40), (4, 40), (5, 40), (6, 40), (9, 40), (10, 60), (11, 60)):
        connection.now_us = (U32 - 2 * SECOND_US + second * SECOND_US) % U32
        connection.ack(40 if second < 5 else 60)
        assert connection.read().min_rtt_us == expected, second


def test_flow_shrinks_to_path_window_plus_pad(lib: ctypes.CDLL) -> None:
    """The link carries 20 packets per round trip of 1 ms; the rest of the window waits in its queue."""
    connection = Connection(lib)
    cwnd = 400
    for n in range(60):
        rtt_us = 1000 if n == 0 else max(1000, cwnd * 1000 // 20)
        in_flight = 20 if n == 0 else cwnd
        connection.now_us += rtt_us
        connection.ack(rtt_us, in_flight * MSS, count=60)
        cwnd, _ = connection.end_round(cwnd)
    # the first decrease comes after two round trips, and each takes 30 % of the excess
    assert 20 + 8 <= cwnd <= 20 + 12


def test_sequence_numbers_wrap(lib: ctypes.CDLL) -> None:
    connection = Connection(lib, snd_nxt=U32 - 5)
    for snd_una, over in ((U32 - 6, 0), (U32 - 5, 0), (U32 - 4, 1), (3, 1)):
        assert lib.nv_user_round_is_over(connection.state, ctypes.c_uint32(snd_una)) == over
