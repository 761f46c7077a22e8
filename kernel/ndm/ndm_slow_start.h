/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slow start: each decision doubles the window (RFC 5681, section 3.1) until the
 * first sign of a queue or a loss. On an unknown path the inputs do not show how far
 * the window may grow, so the policy does not set it. From the decision with the
 * first sign on, the policy sets the window.
 *
 * The sign of a queue is that of HyStart++ (RFC 9406, section 4.2): an RTT an eighth
 * above the smallest one. Here it is the smoothed RTT against the filtered minimum,
 * or the mean RTT against the previous interval's.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_SLOW_START_H
#define NDM_SLOW_START_H

#include <linux/types.h>

#include "ndm_schema.h"

#define NDM_SLOW_START_QUEUE (1 << (NDM_FEATURE_FRAC - 3))	/* Q12 */
#define NDM_SLOW_START_GROWTH (1 << NDM_ACTION_FRAC)	/* Q14: twice the window */

/* Whether slow start ends with this decision. @x: (NDM_INPUTS) its inputs, Q12 */
static inline bool ndm_slow_start_over(const s16 *x)
{
	return x[NDM_IN_LOSS_RATE] || x[NDM_IN_RTT_RATIO] >= NDM_SLOW_START_QUEUE ||
	       x[NDM_IN_RTT_GRADIENT] >= NDM_SLOW_START_QUEUE;
}

#endif /* NDM_SLOW_START_H */
