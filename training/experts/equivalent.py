"""The actions by which NDM would have done what a expert did, from what was observed of the expert.

NDM changes the window once an interval, then holds it; a expert moves it with every ACK. Equivalent is what leads
to the same window when the interval ends, and to the pacing rate that is in force by then::

    cwnd_log2[k] = log2((cwnd[k + 1] - 1 - sqrt(cwnd[k]) / 4) / cwnd[k])
    pacing[k]    = log2(pacing_rate[k + 1] / (1.25 cwnd[k + 1] mss / srtt[k]))          both cut to [-1, 1]

The former undoes kernel/ndm/ndm_window.h.

The divisor of the latter is what a neutral decision would have paced with: kernel/ndm/ndm_control.h sets the rate from
the new window and the smoothed RTT of that moment.

A scheme that does not pace has a rate nevertheless: the kernel keeps the one that it would pace with, 2 cwnd / srtt in
slow start and 1.2 afterwards, to size its segments. That one is taken, which is close to neutral: it leaves the window
in charge, as such a scheme does. To be cut to the highest rate instead, there being no limit, would teach bursts. A
constant window (tcp_window) has the rate of its connection's begin, or none at all, for ever: its pacing is neutral.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from env.schema import ACTIONS

NEUTRAL_GAIN = 1.25  # NDM_PACING_GAIN of kernel/ndm/ndm_control.h
RTT_UNKNOWN_US = 1000  # NDM_RTT_UNKNOWN_US: what paces before the first RTT sample

LEAST_CWND = 2.0**-8  # packets: as far as the window is told apart

Numbers = npt.NDArray[np.float64]


def added(cwnd: Numbers) -> Numbers:
    """Return what is added to a window of so many packets in each interval, packets (kernel/ndm/ndm_window.h)."""
    return 1 + np.sqrt(cwnd) / 4


def equivalent_actions(
    cwnd: Numbers, pacing_rate: Numbers, srtt_us: Numbers, mss: Numbers, sets_rate: bool = True
) -> Numbers:
    """Return the actions [K, 2], before they are cut, in the order of schema.ACTIONS.

    Arguments, each [K + 1]: window in packets, pacing rate in bytes per second, smoothed RTT in us, segments in bytes.
    sets_rate: False for a scheme whose pacing rate nobody sets; its pacing is neutral.
    """
    actions = np.zeros((cwnd.size - 1, len(ACTIONS)))
    before = np.maximum(cwnd[:-1], 1)
    actions[:, 0] = np.log2(np.maximum(cwnd[1:] - added(before), LEAST_CWND) / before)
    if sets_rate:
        srtt_s = np.where(srtt_us[:-1] > 0, srtt_us[:-1], RTT_UNKNOWN_US) / 1e6
        neutral = NEUTRAL_GAIN * np.maximum(cwnd[1:], 1) * mss[1:] / srtt_s
        actions[:, 1] = np.log2(np.maximum(pacing_rate[1:], 1) / neutral)
    return actions


def cut(actions: Numbers) -> npt.NDArray[np.float32]:
    """Return the actions that NDM can take: each within its bounds."""
    low, high = np.array([action.low for action in ACTIONS]), np.array([action.high for action in ACTIONS])
    return np.clip(actions, low, high).astype(np.float32)
