"""Generates a trace with the statistics that its model states, from a seed.

The rate is r = exp(m + s z) in steps of 10 ms, and 0 in outages. z is a first-order autoregressive process with the
model's correlation time; with handovers, each handover also draws a new level. A short sample of such a process differs
from the process in mean, deviation and correlation time. The generator therefore solves m and s for the mean and the
deviation of the sample itself, and rejects samples whose correlation time or outages differ from the model's.
"""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from env.errors import UserError
from env.network.traces.format import PACKET_BITS, Trace
from env.network.traces.models import Model
from env.network.traces.statistics import Statistics, statistics

Floats = npt.NDArray[np.float64]

STEP_MS = 10  # the rate is constant within a step
FLOOR = 0.05  # lowest rate, as a share of the mean: a lower one would leave gaps that count as outages
# Largest relative errors of a trace's statistics.
MEAN_ERROR = 0.01
DEVIATION_ERROR = 0.02
CORRELATION_ERROR = 0.1
ATTEMPTS = 400


def generate(name: str, model: Model, seconds: int, seed: int) -> Trace:
    """Return the trace. Raises UserError when no sample has the statistics of the model."""
    if not 10 <= seconds <= 3600:
        raise UserError(f"seconds is {seconds}; it must lie between 10 and 3600")
    if model.handover_s and (seconds % model.handover_s or seconds == model.handover_s):
        raise UserError(f"seconds is {seconds}; with handovers it must be a multiple of handover_s, at least twice it")
    for attempt in range(ATTEMPTS):
        trace = _draw(name, model, seconds, np.random.default_rng([seed, attempt]))
        if trace is not None and not differences(statistics(trace), model, seconds):
            return trace
    raise UserError(
        f"none of {ATTEMPTS} draws of {seconds} s has the statistics of {model}: try a longer trace, fewer outages or "
        "a smaller deviation_mbps"
    )


def stated_outages(model: Model, seconds: int) -> int:
    """Return the number of outages in a trace of this length."""
    return round(seconds / model.handover_s if model.handover_s else model.outages_per_min * seconds / 60)


def differences(measured: Statistics, model: Model, seconds: int) -> list[str]:
    """Return the statistics in which a trace differs from its model, as text; empty when they agree."""
    result = []
    for what, value, stated, error in (
        ("mean_mbps", measured.mean_mbps, model.mean_mbps, MEAN_ERROR),
        ("deviation_mbps", measured.deviation_mbps, model.deviation_mbps, DEVIATION_ERROR),
        ("correlation_s", measured.correlation_s, model.correlation_s, CORRELATION_ERROR),
    ):
        if not abs(value - stated) <= error * stated:
            result.append(f"{what} is {value:g}; the model states {stated:g} within {100 * error:g} %")
    if measured.outages != stated_outages(model, seconds):
        result.append(f"it has {measured.outages} outages; the model states {stated_outages(model, seconds)}")
    return result


def _draw(name: str, model: Model, seconds: int, rng: np.random.Generator) -> Trace | None:
    """Return one sample; None when the solver does not reach the stated mean and deviation."""
    wave = _wave(model, seconds, rng)  # [steps]
    usable = _usable(model, seconds, rng)  # [ms] bool
    deliveries = rng.exponential(size=_max_packets(model, seconds))  # gaps of a Poisson process of rate 1
    accesses_ms = _accesses_ms(model, seconds, rng)
    level, spread = 0.0, max(model.deviation_mbps / model.mean_mbps, 0.05)
    trace = None
    # fixed-point iteration: the same random numbers each time, with level and spread corrected by the result
    for _ in range(30):
        rate = np.maximum(np.exp(level + spread * wave), FLOOR) * model.mean_mbps  # [steps] Mbit/s
        expected = np.repeat(rate, STEP_MS) * usable * (1e3 / PACKET_BITS)  # [ms] packets
        trace = _trace(name, np.cumsum(expected), deliveries, accesses_ms, seconds * 1000)
        if trace is None:
            return None
        measured = statistics(trace)
        near = abs(measured.deviation_mbps / model.deviation_mbps - 1) < DEVIATION_ERROR / 2
        if abs(measured.mean_mbps / model.mean_mbps - 1) < MEAN_ERROR / 2 and near:
            return trace
        level += np.log(model.mean_mbps / measured.mean_mbps)
        spread *= (model.deviation_mbps / measured.deviation_mbps) ** 0.7
        if not 1e-3 < spread < 5:
            return None
    return None


def _wave(model: Model, seconds: int, rng: np.random.Generator) -> Floats:
    """Return the process z with mean 0 and deviation 1, [steps]."""
    steps = seconds * 1000 // STEP_MS
    correlation = np.exp(-STEP_MS / 1e3 / model.correlation_s)  # of two consecutive steps
    noise = rng.normal(size=steps)
    wave = np.empty(steps)
    value = rng.normal()
    for i in range(steps):
        value = correlation * value + np.sqrt(1 - correlation * correlation) * noise[i]
        wave[i] = value
    if model.level_share:
        wave = (wave - wave.mean()) / wave.std()
        levels = rng.normal(size=round(seconds / model.handover_s))
        levels = np.repeat((levels - levels.mean()) / levels.std(), steps // len(levels))
        wave = np.sqrt(model.level_share) * levels + np.sqrt(1 - model.level_share) * wave
    return np.asarray((wave - wave.mean()) / wave.std(), dtype=np.float64)


def _usable(model: Model, seconds: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return whether the link delivers in each millisecond, [ms] bool."""
    usable = np.ones(seconds * 1000, bool)
    count = stated_outages(model, seconds)
    if model.handover_s:
        begins = np.arange(count) * model.handover_s
    else:
        begins = rng.uniform(0.5, seconds - 1, size=count)
    for begin_s in begins:
        length_s = 0.1 + (rng.exponential(model.outage_s - 0.1) if model.outage_s > 0.1 else 0.0)
        usable[int(begin_s * 1000) : int((begin_s + length_s) * 1000)] = False
    return usable


def _accesses_ms(model: Model, seconds: int, rng: np.random.Generator) -> npt.NDArray[np.int64] | None:
    """Return the times at which the station gets the channel, ms; None if it has the channel all the time."""
    if not model.burst_ms:
        return None
    gaps = rng.exponential(model.burst_ms, size=int(2 * seconds * 1000 / model.burst_ms) + 100)
    times = np.unique(np.ceil(np.cumsum(gaps)).astype(np.int64))
    return np.append(times[times < seconds * 1000], seconds * 1000)


def _max_packets(model: Model, seconds: int) -> int:
    """Return an upper bound of the number of packets."""
    return int(2 * model.mean_mbps * seconds * 1e6 / PACKET_BITS) + 1000


def _trace(
    name: str,
    due: Floats,
    deliveries: Floats,
    accesses_ms: npt.NDArray[np.int64] | None,
    duration_ms: int,
) -> Trace | None:
    """Return the trace of a Poisson process. due: expected number of packets since the beginning, [ms]."""
    arrivals = np.cumsum(deliveries)
    arrivals = arrivals[arrivals < due[-1]]
    if arrivals.size in (0, deliveries.size):
        return None
    times_ms = np.searchsorted(due, arrivals, side="right") + 1  # the millisecond that ends at this time
    if accesses_ms is not None:
        times_ms = accesses_ms[np.searchsorted(accesses_ms, times_ms)]
    times_ms[-1] = duration_ms  # a trace lasts until its last delivery
    return Trace(name, array("L", times_ms.astype(np.uint64).tolist()))
