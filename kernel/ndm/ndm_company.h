/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Company: whether competing flows are present, and the queue that the network sees then.
 * docs/explanation/control-law.md tells the law.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_COMPANY_H
#define NDM_COMPANY_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "ndm_features.h"
#include "ndm_window.h"

#define NDM_COMPANY 32	/* decisions */

/* What shows company: a queue of an eighth, and less than 13/16 of the maximum rate, Q12. */
#define NDM_COMPANY_QUEUE (1 << (NDM_FEATURE_FRAC - 3))
#define NDM_COMPANY_RATE (13 << (NDM_FEATURE_FRAC - 4))

/* The rate of fewer packets than these is too coarse. */
#define NDM_COMPANY_PACKETS 16

/* The window that sees the queue as it is, packets. */
#define NDM_COMPANY_CWND 64

static inline bool ndm_shows_company(const struct ndm_interval *interval)
{
	return interval->delivered >= NDM_COMPANY_PACKETS &&
	       interval->x[NDM_IN_RTT_RATIO] > NDM_COMPANY_QUEUE &&
	       interval->x[NDM_IN_DELIVERY_RATIO] < NDM_COMPANY_RATE;
}

/* The factor on the queue, Q12: between 2^11 and 2^13. */
static inline s32 ndm_queue_scale(u32 cwnd_fp)
{
	u32 scale = cwnd_fp / (NDM_COMPANY_CWND << NDM_CWND_FRAC >> NDM_FEATURE_FRAC);

	return clamp_t(u32, scale, NDM_ONE / 2, 2 * NDM_ONE);
}

/* @queue: Q12, at most S16_MAX, so that the product is below 2^28. */
static inline s32 ndm_scaled_queue(s32 queue, s32 scale)
{
	return queue * scale >> NDM_FEATURE_FRAC;
}

/**
 * ndm_scale_queue - scale what the inputs say about the queue
 * @x: the inputs (NDM_INPUTS), Q12. The RTT above the minimum and the packets in flight
 *     beyond what the path holds change.
 * @cwnd_fp: the flow's window, NDM_CWND_FRAC fraction bits
 */
static inline void ndm_scale_queue(s16 *x, u32 cwnd_fp)
{
	s32 scale = ndm_queue_scale(cwnd_fp);
	s32 beyond = x[NDM_IN_INFLIGHT_RATIO] - NDM_ONE;

	x[NDM_IN_RTT_RATIO] =
		min(ndm_scaled_queue(x[NDM_IN_RTT_RATIO], scale), S16_MAX);
	if (beyond > 0)
		x[NDM_IN_INFLIGHT_RATIO] =
			min(NDM_ONE + ndm_scaled_queue(beyond, scale), S16_MAX);
}

/*
 * Updates at the end of an interval for how many decisions the flow still has @company, and
 * scales the interval's inputs if it has any. @steady: neither in a drain nor in slow
 * start; @cwnd_fp: the flow's window
 */
static inline void ndm_see_company(u8 *company, bool steady,
				   struct ndm_interval *interval, u32 cwnd_fp)
{
	if (steady && ndm_shows_company(interval))
		*company = NDM_COMPANY;
	else if (*company)
		--*company;
	if (*company)
		ndm_scale_queue(interval->x, cwnd_fp);
}

#endif /* NDM_COMPANY_H */
