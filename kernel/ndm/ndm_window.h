/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a decision makes of the window:
 *
 *	next = cwnd * 2^cwnd_log2 + 1 + sqrt(cwnd) / 4		packets
 *
 * within [NDM_CWND_MIN, NDM_CWND_MAX]. The factor is the policy's. What is added
 * in each interval is there for those who share a bottleneck: they see the same
 * queue and say much the same, so with a factor alone each would keep whatever
 * share it has. What is added weighs more in the smaller window; the factor at
 * which the window stays is then one for each size, and one size for each
 * factor, as in FAST TCP (Wei et al., 2006). The root keeps that from fading
 * where windows are large, as the square-root rule of binomial congestion
 * control does (Bansal and Balakrishnan, 2001).
 *
 * cwnd keeps 8 fraction bits from decision to decision: where a window is 4
 * packets, a step of 10 % would else be none at all.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_WINDOW_H
#define NDM_WINDOW_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "ndm_math.h"

#define NDM_CWND_FRAC 8
#define NDM_CWND_ONE (1U << NDM_CWND_FRAC)
#define NDM_CWND_MIN 2
#define NDM_CWND_MAX (1U << 23)		/* with its fraction bits, below 2^32 */

/* sqrt(256 w) is 16 sqrt(w): with 8 fraction bits, a quarter of it is 4 times. */
#define NDM_CWND_ROOT 4

/**
 * ndm_next_cwnd - the window of a decision
 * @cwnd_fp: the window until now, NDM_CWND_FRAC fraction bits, at most 2^31
 * @cwnd_log2: Q14
 * Return: with as many fraction bits, at most 2^32 + 2^18 + 2^8
 */
static inline u64 ndm_next_cwnd(u32 cwnd_fp, s16 cwnd_log2)
{
	return ((u64)cwnd_fp * ndm_exp2(cwnd_log2) >> 16) +
	       NDM_CWND_ROOT * int_sqrt(cwnd_fp) + NDM_CWND_ONE;
}

#endif /* NDM_WINDOW_H */
