/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The start of a connection: each decision doubles the window, as slow start does
 * (RFC 5681, section 3.1), until the first sign of a queue or a loss. How far the
 * policy dares to grow on a path that it does not know is no question for it: it
 * sees nothing there that it could weigh. From the sign on, that decision
 * included, the window is the policy's.
 *
 * The sign of a queue is that of HyStart++ (RFC 9406, section 4.2), an RTT that is
 * an eighth above the least there was, here the smoothed one over the filtered
 * minimum, or the mean one over that of the interval before.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_START_H
#define NDM_START_H

#include <linux/types.h>

#include "ndm_schema.h"

#define NDM_START_QUEUE (1 << (NDM_FEATURE_FRAC - 3))	/* Q12 */
#define NDM_START_GROWTH (1 << NDM_ACTION_FRAC)	/* Q14: twice the window */

/* Whether the start ends with this decision. @x: (NDM_INPUTS) its inputs, Q12 */
static inline bool ndm_start_over(const s16 *x)
{
	return x[NDM_IN_LOSS_RATE] || x[NDM_IN_RTT_RATIO] >= NDM_START_QUEUE ||
	       x[NDM_IN_RTT_GRADIENT] >= NDM_START_QUEUE;
}

#endif /* NDM_START_H */
