/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window after a decision, within [NDM_CWND_MIN, NDM_CWND_MAX]:
 *
 *	u = queue / explained RTT
 *	added = 12 * 2^growth * sqrt(u + 1/16)			packets
 *	next = (cwnd + added) / (1 + u) + cwnd * max(0, 1/32 - u)
 *
 * cwnd / (1 + u) is what the path holds without the queue, as in FAST TCP (Wei et al.,
 * 2006), and what is added depends on the queue, which all flows at a bottleneck share. So
 * flows with the same growth come to the same window, the faster the longer the queue is.
 *
 * cwnd has 8 fraction bits between decisions: otherwise a window of 4 packets would
 * lose a change of 10 %.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_WINDOW_H
#define NDM_WINDOW_H

#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "ndm_math.h"

#define NDM_CWND_FRAC 8
#define NDM_CWND_ONE (1U << NDM_CWND_FRAC)
#define NDM_CWND_MIN 2
#define NDM_CWND_MAX (1U << 23)		/* below 2^32 with its fraction bits */

#define NDM_ADDED 12			/* packets */

/* u has 16 fraction bits, so that its root has NDM_CWND_FRAC. */
#define NDM_ADDED_LEAST (1 << 12)	/* 1/16 */
#define NDM_EMPTY (1 << 11)		/* 1/32: the path has no queue */

/* The queue over the explained RTT, 16 fraction bits, at most 2^32 - 2^13. */
static inline u32 ndm_queue_ratio(u32 queue_us, u32 explained_us)
{
	return min_t(u64, div_u64((u64)queue_us << 16, max_t(u32, explained_us, 1)),
		     U32_MAX - (1 << 13));
}

/**
 * ndm_next_cwnd - compute the window after a decision
 * @cwnd_fp: the current window, NDM_CWND_FRAC fraction bits, at most 2^31
 * @queue_us: the queue of the interval
 * @explained_us: the RTT without it
 * @growth: the decision, Q14
 * Return: the window with as many fraction bits, below 2^32
 */
static inline u64 ndm_next_cwnd(u32 cwnd_fp, u32 queue_us, u32 explained_us, s16 growth)
{
	u32 ratio = ndm_queue_ratio(queue_us, explained_us);
	/* At most 12 * 2^16 * 2 < 2^21. */
	u64 added_fp = (u64)NDM_ADDED * ndm_exp2(growth) *
		       int_sqrt(ratio + NDM_ADDED_LEAST) >> 16;
	/* Below 2^32 * 2^32, as cwnd_fp + added_fp is below 2^31 + 2^21. */
	u64 next_fp = div64_u64((cwnd_fp + added_fp) * max_t(u32, explained_us, 1),
				(u64)max_t(u32, explained_us, 1) + queue_us);

	if (ratio < NDM_EMPTY)
		next_fp += (u64)cwnd_fp * (NDM_EMPTY - ratio) >> 16;
	return next_fp;
}

#endif /* NDM_WINDOW_H */
