"""The actions with which NDM would have set the same window and pacing rate as an expert.

NDM sets the window once per interval; an expert changes it with every ACK. The equivalent action gives the expert's
window and pacing rate at the end of the interval::

    cwnd_log2[k] = g(log2((cwnd[k + 1] - 1 - sqrt(cwnd[k]) / 4) / cwnd[k])), g(f) = f from -1/2 on, below it (f - 3) / 7
    pacing[k]    = log2(pacing_rate[k + 1] / (1.25 cwnd[k + 1] mss / srtt[k]))          both clipped to [-1, 1]

The first formula inverts kernel/ndm/ndm_window.h. The divisor in the second one is the pacing rate of a neutral
decision: kernel/ndm/ndm_control.h computes the rate from the new window and the current smoothed RTT.

For a scheme that does not pace, the kernel still keeps a pacing rate to size segments: 2 cwnd / srtt in slow start, 1.2
cwnd / srtt afterwards. The recording uses this rate. It is close to neutral, so the window limits the flow, as it does
without pacing. The highest pacing action would be wrong here: it would teach the policy to send bursts. With a constant
window (tcp_window) the rate stays at its initial value or is never set, so its pacing action is neutral.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from env.schema import ACTIONS

NEUTRAL_GAIN = 1.25  # NDM_PACING_GAIN of kernel/ndm/ndm_control.h
RTT_UNKNOWN_US = 1000  # NDM_RTT_UNKNOWN_US: RTT for the pacing rate before the first sample

LEAST_CWND = 2.0**-8  # packets; resolution of the window in ndm_window.h

Numbers = npt.NDArray[np.float64]


def added_packets(cwnd: Numbers) -> Numbers:
    """Return the packets that ndm_window.h adds in each interval to a window of `cwnd` packets."""
    return 1 + np.sqrt(cwnd) / 4


def equivalent_actions(
    cwnd: Numbers, pacing_rate: Numbers, srtt_us: Numbers, mss: Numbers, sets_rate: bool = True
) -> Numbers:
    """Return the actions [K, 2], before clipping, in the order of schema.ACTIONS.

    Arguments, each [K + 1]: window in packets, pacing rate in bytes/s, smoothed RTT in us, segment size in bytes.
    sets_rate: False for a scheme without a meaningful pacing rate; its pacing action is neutral.
    """
    actions = np.zeros((cwnd.size - 1, len(ACTIONS)))
    before = np.maximum(cwnd[:-1], 1)
    factor_log2 = np.log2(np.maximum(cwnd[1:] - added_packets(before), LEAST_CWND) / before)
    actions[:, 0] = np.where(factor_log2 < -0.5, (factor_log2 - 3) / 7, factor_log2)
    if sets_rate:
        srtt_s = np.where(srtt_us[:-1] > 0, srtt_us[:-1], RTT_UNKNOWN_US) / 1e6
        neutral = NEUTRAL_GAIN * np.maximum(cwnd[1:], 1) * mss[1:] / srtt_s
        actions[:, 1] = np.log2(np.maximum(pacing_rate[1:], 1) / neutral)
    return actions


def clipped(actions: Numbers) -> npt.NDArray[np.float32]:
    """Return the actions clipped to their bounds in schema.ACTIONS."""
    low, high = np.array([action.low for action in ACTIONS]), np.array([action.high for action in ACTIONS])
    return np.clip(actions, low, high).astype(np.float32)
