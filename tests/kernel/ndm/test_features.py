"""The policy's inputs, computed in user space by the code that the modules compile."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env import schema
from tests.support.kernel.native import LIBRARY

NAMES = [feature.name for feature in schema.FEATURES]
LIB = ctypes.CDLL(str(LIBRARY))
U32 = 2**32
ONE = 1 << schema.FEATURE_FRAC


@dataclass
class Connection:
    """One connection's measurements in C, and its counters, which wrap as the kernel's do."""

    now_us: int = 0
    delivered: int = 0
    lost: int = 0
    state: ctypes.Array[ctypes.c_char] = field(init=False)

    def __post_init__(self) -> None:
        self.state = ctypes.create_string_buffer(LIB.ndm_user_measure_size())
        LIB.ndm_user_measure_init(self.state, ctypes.c_uint32(self.now_us))

    def interval(
        self, length_us: int, delivered: int, *, lost: int = 0, rtts: tuple[int, ...] = (), srtt_us: int = 0,
        mdev_us: int = 0, inflight: int = 10, timeout: bool = False,
    ) -> dict[str, float]:  # fmt: skip
        """Let one interval pass and return the inputs by name."""
        for rtt_us in rtts:
            LIB.ndm_user_measure_rtt(self.state, ctypes.c_uint32(rtt_us))
        if timeout:
            LIB.ndm_user_measure_timeout(self.state)
        self.now_us = (self.now_us + length_us) % U32
        self.delivered = (self.delivered + delivered) % U32
        self.lost = (self.lost + lost) % U32
        reading = (ctypes.c_uint32 * 6)(
            self.now_us, self.delivered, self.lost, inflight, srtt_us or (rtts[-1] if rtts else 0), mdev_us
        )
        x = (ctypes.c_int16 * len(NAMES))()
        length, rtt = ctypes.c_uint32(), ctypes.c_uint32()
        LIB.ndm_user_interval_close(self.state, reading, x, ctypes.byref(length), ctypes.byref(rtt))
        assert length.value == length_us % U32
        return {name: value / ONE for name, value in zip(NAMES, x, strict=True)}


def in_range(inputs: dict[str, float]) -> None:
    for feature in schema.FEATURES:
        assert feature.low <= inputs[feature.name] <= feature.high, (feature, inputs[feature.name])


u32 = st.integers(0, U32 - 1)
edges = st.sampled_from([0, 1, 2, 999, 1000, 2**16, 2**30, 2**31 - 1, 2**31, U32 - 1])
anything = st.one_of(u32, edges)


@given(
    start=anything,
    steps=st.lists(
        st.tuples(
            anything, anything, anything, st.lists(anything, max_size=4), anything, anything, anything, st.booleans()
        ),
        min_size=1,
        max_size=25,
    ),
)
@settings(max_examples=300, deadline=None)
def test_inputs_stay_in_range_for_any_counters(
    start: int, steps: list[tuple[int, int, int, list[int], int, int, int, bool]]
) -> None:
    connection = Connection(now_us=start)
    for length_us, delivered, lost, rtts, srtt_us, mdev_us, inflight, flag in steps:
        inputs = connection.interval(
            length_us, delivered, lost=lost, rtts=tuple(rtts), srtt_us=srtt_us, mdev_us=mdev_us, inflight=inflight,
            timeout=flag,
        )  # fmt: skip
        in_range(inputs)


@pytest.mark.parametrize("start", [0, U32 - 100_000])
def test_a_steady_connection(start: int) -> None:
    connection = Connection(now_us=start, delivered=0)
    for _ in range(20):
        inputs = connection.interval(40_000, 50, rtts=(40_000,) * 3, mdev_us=4_000, inflight=50)
    assert inputs["rtt_ratio"] == 0
    assert inputs["rtt_variation"] == pytest.approx(0.1, abs=0.001)
    assert inputs["rtt_gradient"] == 0
    assert inputs["delivery_ratio"] == 1
    assert inputs["inflight_ratio"] == pytest.approx(1, abs=0.01)
    assert inputs["entropy"] == 0
    assert inputs["loss_rate"] == 0
    assert inputs["queue_floor"] == 0
    assert inputs["congestion"] == -1


def test_a_growing_queue_shows_in_the_inputs() -> None:
    connection = Connection()
    for _ in range(16):
        connection.interval(40_000, 50, rtts=(40_000,))
    # the packets of an interval were in flight at its beginning
    inputs = connection.interval(40_000, 50, rtts=(40_000,), inflight=60)
    assert inputs["inflight_ratio"] < 0.5
    inputs = connection.interval(48_000, 50, rtts=(48_000,), inflight=100)
    assert inputs["rtt_ratio"] == pytest.approx(0.2, abs=0.001)
    assert inputs["rtt_gradient"] == pytest.approx(0.2, abs=0.001)
    assert inputs["congestion"] == 1
    assert inputs["inflight_ratio"] == pytest.approx(1.2, abs=0.01)


def test_loss_rate_and_undone_losses() -> None:
    connection = Connection()
    connection.interval(40_000, 50, rtts=(40_000,))
    assert connection.interval(40_000, 75, lost=25, rtts=(40_000,))["loss_rate"] == pytest.approx(0.25, abs=0.001)
    # more losses undone than counted: none was lost
    assert connection.interval(40_000, 50, lost=-25, rtts=(40_000,))["loss_rate"] == 0


def test_an_implausible_first_rtt_is_no_minimum() -> None:
    connection = Connection()
    connection.interval(1000, 10, rtts=(1,), srtt_us=1)
    # netem sends a packet with a negative delay at once; the next RTTs are 27 ms and deviate by more than that
    assert connection.interval(30_000, 10, srtt_us=27_000, mdev_us=54_000)["rtt_ratio"] == 0
    assert connection.interval(30_000, 10, srtt_us=80_000, mdev_us=88_000)["rtt_ratio"] == 0
    assert connection.interval(30_000, 10, srtt_us=120_000, mdev_us=60_000)["rtt_ratio"] == pytest.approx(0.5, abs=1e-3)
    for _ in range(20):
        connection.interval(30_000, 10, srtt_us=80_000, mdev_us=40_000)
    # once the minimum is known, it stays however much a single RTT raises the deviation
    assert connection.interval(30_000, 10, srtt_us=160_000, mdev_us=240_000)["rtt_ratio"] == pytest.approx(1, abs=1e-3)


def test_minimum_is_of_smoothed_rtts_and_is_renewed() -> None:
    connection = Connection()
    connection.interval(40_000, 50, rtts=(40_000, 1), srtt_us=40_000)
    assert connection.interval(40_000, 50, rtts=(80_000,), srtt_us=80_000)["rtt_ratio"] == pytest.approx(1, abs=0.001)
    for _ in range(70):  # 70 s at the new RTT: a route change, not a queue
        inputs = connection.interval(1_000_000, 1000, rtts=(80_000,), srtt_us=80_000)
    assert inputs["rtt_ratio"] == 0


def test_plasticity_rises_on_loss_and_time_out() -> None:
    connection = Connection()
    start = connection.interval(40_000, 50, rtts=(40_000,))["plasticity"]
    assert start == pytest.approx(0.3 * 0.995, abs=0.001)
    loss = connection.interval(40_000, 50, lost=1, rtts=(40_000,))["plasticity"]
    assert loss == pytest.approx(start + 0.1, abs=0.001)
    timeout = connection.interval(40_000, 50, rtts=(40_000,), timeout=True)["plasticity"]
    assert timeout == pytest.approx(loss + 0.2, abs=0.001)
    for _ in range(20):
        assert connection.interval(40_000, 50, lost=1, rtts=(40_000,))["plasticity"] <= 1


def test_entropy_is_low_for_order_high_for_noise() -> None:
    ordered, noisy = Connection(), Connection()
    rtts = [40_000 * 2 ** (i / 4) for i in range(16)]
    for i in range(32):
        low = ordered.interval(40_000, 50, rtts=(40_000,))["entropy"]
        high = noisy.interval(40_000, 50, lost=i % 2, rtts=(int(rtts[(i * 7) % 16] + 500),), srtt_us=40_000)["entropy"]
    assert low == 0
    assert high > 0.9


@pytest.mark.parametrize(
    ("length_us", "prior", "over"), [(999, 10, False), (1_000, 10, True), (1_000, 9, False), (5_000, 11, True)]
)
def test_interval_is_at_least_a_millisecond(length_us: int, prior: int, over: bool) -> None:
    connection = Connection(now_us=U32 - 500)
    connection.interval(1_000, 10, rtts=(1_000,))
    now_us = (connection.now_us + length_us) % U32
    assert bool(LIB.ndm_user_interval_over(connection.state, ctypes.c_uint32(now_us), ctypes.c_uint32(prior))) is over


def test_idle_time_is_not_measured() -> None:
    connection = Connection()
    connection.interval(40_000, 50, rtts=(40_000,))
    connection.now_us += 60_000_000
    LIB.ndm_user_measure_idle(connection.state, ctypes.c_uint32(connection.now_us), ctypes.c_uint32(60_000_000))
    inputs = connection.interval(40_000, 50, rtts=(40_000,))
    assert inputs["delivery_ratio"] == 1
