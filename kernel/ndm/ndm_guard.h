/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: when a policy is not to be trusted with a connection.
 *
 * Whatever a model says, the window stays in [2, 2^23] packets and pacing below
 * 70 TB/s (ndm_control.h). That keeps the host safe, not those who share the
 * path: a model can press on against loss and queues, or never leave the
 * smallest window. After each decision the guard says whether it was such a one:
 *
 *	pressing	an eighth of the interval's packets was lost, and the
 *			window is not to shrink by a sixteenth; or the smoothed
 *			RTT is three times the filtered minimum, and the window
 *			is to grow by more than the packet that it would under
 *			Reno. Only where the RTT is steady, its deviation within
 *			a quarter of it: where it is not, delay is no queue, and
 *			what looks lost has been overtaken. And not at a window
 *			of four packets or less, from which there is no way down
 *			that others would feel.
 *	starving	the window is at its minimum and all in use, and is not to
 *			grow by a packet, although nothing was lost and the
 *			smoothed RTT is within a quarter of the minimum
 *
 * A bad decision fills a bucket by one, any other one drains it by two. A policy
 * that weighs loss and delay goes up and down around where it wants to be and
 * keeps the bucket near empty; one that is stuck fills it. When NDM_GUARD_LIMIT
 * are in it, the policy has lost the connection: Reno has it from there on
 * (ndm_reno.h), until it closes or another model is taken into use.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_GUARD_H
#define NDM_GUARD_H

#include <linux/types.h>

#include "ndm_schema.h"
#include "ndm_window.h"

#define NDM_GUARD_LIMIT 16	/* fits 5 bits */

/* Q12, as the inputs that they are compared with. */
#define NDM_GUARD_LOSS (1 << (NDM_FEATURE_FRAC - 3))	/* an eighth */
#define NDM_GUARD_QUEUE (2 << NDM_FEATURE_FRAC)	/* twice min_rtt in queues */
#define NDM_GUARD_NO_QUEUE (1 << (NDM_FEATURE_FRAC - 2))	/* a quarter */
#define NDM_GUARD_STEADY (1 << (NDM_FEATURE_FRAC - 2))	/* a quarter */

/* Windows with NDM_CWND_FRAC fraction bits. */
#define NDM_GUARD_SMALL (4 << NDM_CWND_FRAC)
#define NDM_GUARD_YIELD 4	/* by cwnd >> 4, a sixteenth */

enum ndm_guard_verdict {
	NDM_GUARD_GOOD,
	NDM_GUARD_PRESSING,
	NDM_GUARD_STARVING,
};

/* Whether the window does not yield to what says that it should. */
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
 * ndm_guard_judge - whether a decision was a bad one
 * @x: (NDM_INPUTS) what the policy saw, Q12
 * @cwnd_fp: the window until now, NDM_CWND_FRAC fraction bits
 * @next_fp: the window that the decision makes of it
 * @at_minimum: the window is the smallest there is and is all in use
 */
static inline enum ndm_guard_verdict
ndm_guard_judge(const s16 *x, u32 cwnd_fp, u64 next_fp, bool at_minimum)
{
	if (ndm_guard_presses(x, cwnd_fp, next_fp))
		return NDM_GUARD_PRESSING;
	if (at_minimum && next_fp < (NDM_CWND_MIN + 1) << NDM_CWND_FRAC &&
	    !x[NDM_IN_LOSS_RATE] && x[NDM_IN_RTT_RATIO] <= NDM_GUARD_NO_QUEUE)
		return NDM_GUARD_STARVING;
	return NDM_GUARD_GOOD;
}

/* The bucket after a decision; @stuck: before it, 0 to NDM_GUARD_LIMIT. */
static inline unsigned int ndm_guard_fill(unsigned int stuck,
					  enum ndm_guard_verdict verdict)
{
	if (verdict == NDM_GUARD_GOOD)
		return stuck > 2 ? stuck - 2 : 0;
	return stuck < NDM_GUARD_LIMIT ? stuck + 1 : NDM_GUARD_LIMIT;
}

#endif /* NDM_GUARD_H */
