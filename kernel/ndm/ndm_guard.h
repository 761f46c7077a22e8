/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: it hands a connection from the policy to Reno when the policy does
 * harm.
 *
 * Whatever a model decides, the window stays in [2, 2^23] packets and pacing below
 * 70 TB/s (ndm_control.h). That protects the host, but not the flows that share
 * the path: a model can grow against loss and queues, or never leave the smallest
 * window. The guard checks each decision for both:
 *
 *	pressing	An eighth of the interval's packets was lost, and the
 *			decision does not shrink the window by a sixteenth. Or
 *			the smoothed RTT is three times the filtered minimum,
 *			and the decision grows the window by more than Reno's
 *			one packet. This is checked only while the RTT is
 *			steady, with a deviation of at most RTT/4: on other
 *			paths delay is no sign of a queue, and reordering looks
 *			like loss. Windows of up to four packets are exempt:
 *			shrinking them would not relieve the path.
 *	starving	The window is at its minimum and fully used, and the
 *			decision does not grow it by a packet, although nothing
 *			was lost and the smoothed RTT is within a quarter of
 *			the minimum.
 *
 * A bad decision adds one to the guard bucket, any other one takes two out. A
 * policy that reacts to loss and delay keeps the bucket near empty. At
 * NDM_GUARD_LIMIT Reno takes the connection over (ndm_reno.h), until it closes or
 * another model is loaded.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_GUARD_H
#define NDM_GUARD_H

#include <linux/types.h>

#include "ndm_schema.h"
#include "ndm_window.h"

#define NDM_GUARD_LIMIT 16	/* fits 5 bits */

/* Thresholds of inputs, Q12. */
#define NDM_GUARD_LOSS (1 << (NDM_FEATURE_FRAC - 3))	/* an eighth */
#define NDM_GUARD_QUEUE (2 << NDM_FEATURE_FRAC)	/* twice min_rtt in queues */
#define NDM_GUARD_NO_QUEUE (1 << (NDM_FEATURE_FRAC - 2))	/* a quarter */
#define NDM_GUARD_STEADY (1 << (NDM_FEATURE_FRAC - 2))	/* a quarter */

#define NDM_GUARD_SMALL (4 << NDM_CWND_FRAC)	/* packets, NDM_CWND_FRAC */
#define NDM_GUARD_YIELD 4	/* required reduction: cwnd >> 4, a sixteenth */

enum ndm_guard_verdict {
	NDM_GUARD_GOOD,
	NDM_GUARD_PRESSING,
	NDM_GUARD_STARVING,
};

/* Whether a decision ignores loss or a queue. */
static inline bool ndm_guard_presses(const s16 *x, u32 cwnd_fp, u64 next_fp)
{
	if (x[NDM_IN_RTT_VARIATION] > NDM_GUARD_STEADY ||
	    next_fp <= NDM_GUARD_SMALL)
		return false;
	return (x[NDM_IN_LOSS_RATE] >= NDM_GUARD_LOSS &&
		next_fp > cwnd_fp - (cwnd_fp >> NDM_GUARD_YIELD)) ||
	       (x[NDM_IN_RTT_RATIO] >= NDM_GUARD_QUEUE &&
		next_fp > (u64)cwnd_fp + NDM_CWND_ONE);
}

/**
 * ndm_guard_check - check one decision
 * @x: (NDM_INPUTS) the inputs of the decision, Q12
 * @cwnd_fp: the window before it, NDM_CWND_FRAC fraction bits
 * @next_fp: the window after it
 * @at_minimum: the window is the smallest possible one and fully used
 */
static inline enum ndm_guard_verdict
ndm_guard_check(const s16 *x, u32 cwnd_fp, u64 next_fp, bool at_minimum)
{
	if (ndm_guard_presses(x, cwnd_fp, next_fp))
		return NDM_GUARD_PRESSING;
	if (at_minimum && next_fp < (NDM_CWND_MIN + 1) << NDM_CWND_FRAC &&
	    !x[NDM_IN_LOSS_RATE] && x[NDM_IN_RTT_RATIO] <= NDM_GUARD_NO_QUEUE)
		return NDM_GUARD_STARVING;
	return NDM_GUARD_GOOD;
}

/* The guard bucket after a decision; @bucket: before it, 0 to NDM_GUARD_LIMIT. */
static inline unsigned int ndm_guard_fill(unsigned int bucket,
					  enum ndm_guard_verdict verdict)
{
	if (verdict == NDM_GUARD_GOOD)
		return bucket > 2 ? bucket - 2 : 0;
	return bucket < NDM_GUARD_LIMIT ? bucket + 1 : NDM_GUARD_LIMIT;
}

#endif /* NDM_GUARD_H */
