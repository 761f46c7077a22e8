/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window after a decision, within [NDM_CWND_MIN, NDM_CWND_MAX]:
 *
 *	next = cwnd * 2^f(cwnd_log2) + 1 + sqrt(cwnd) / 4		packets
 *	f(a) = a from -1/2 on, below it 7 a + 3
 *
 * Every negative cwnd_log2 has its own fixed-point window, as in FAST TCP (Wei et al.,
 * 2006). The square root keeps the added term effective in large windows, as in binomial
 * congestion control (Bansal and Balakrishnan, 2001).
 *
 * cwnd has 8 fraction bits between decisions: otherwise a window of 4 packets would
 * lose a change of 10 %.
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
#define NDM_CWND_MAX (1U << 23)		/* below 2^32 with its fraction bits */

/* sqrt(256 w) is 16 sqrt(w), so with 8 fraction bits sqrt(w) / 4 is 4 sqrt(256 w). */
#define NDM_CWND_ROOT 4

#define NDM_ACTION_ONE (1 << 14)	/* Q14 */

/* cwnd * 2^f(cwnd_log2), as above; both are defined at ndm_next_cwnd(). */
static inline u64 ndm_scaled_cwnd(u32 cwnd_fp, s16 cwnd_log2)
{
	s32 log2 = clamp_t(s32, cwnd_log2, -NDM_ACTION_ONE, NDM_ACTION_ONE);
	u8 halvings = 0;

	if (log2 < -NDM_ACTION_ONE / 2)
		log2 = 7 * log2 + 3 * NDM_ACTION_ONE;
	while (log2 < -NDM_ACTION_ONE) {
		log2 += NDM_ACTION_ONE;
		halvings++;
	}
	return (u64)cwnd_fp * ndm_exp2(log2) >> (16 + halvings);
}

/**
 * ndm_next_cwnd - compute the window after a decision
 * @cwnd_fp: the current window, NDM_CWND_FRAC fraction bits, at most 2^31
 * @cwnd_log2: the decision, Q14
 * Return: the window with as many fraction bits, at most 2^32 + 2^18 + 2^8
 */
static inline u64 ndm_next_cwnd(u32 cwnd_fp, s16 cwnd_log2)
{
	return ndm_scaled_cwnd(cwnd_fp, cwnd_log2) +
	       NDM_CWND_ROOT * int_sqrt(cwnd_fp) + NDM_CWND_ONE;
}

#endif /* NDM_WINDOW_H */
