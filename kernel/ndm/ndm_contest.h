/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contest: whether a flow competes with others that fill the buffer. Flows of this law join
 * each other's drains, so what a drain leaves of the queue is that of others.
 *
 * A random walk counts what drains find. Four findings more that speak against the mode than
 * for it change it, but contest begins only if the queue has grown meanwhile: that of many
 * flows of this law, which are not all in time to join a drain, stays as it is. In contest the
 * bound sets the window (ndm_bound.h).
 * docs/explanation/control-law.md tells the law.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_CONTEST_H
#define NDM_CONTEST_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "ndm_drain.h"
#include "ndm_window.h"

#define NDM_CONTEST_FINDINGS 4

/* Intervals without a loss before a drain that finds no queue: a loss empties it, too. */
#define NDM_CONTEST_CLEAN 7	/* at most 16: the bits of loss_ring */

struct ndm_contest {
	u32 entry_fp;	/* the window before the first of the findings */
	u32 first_us;	/* the queue there */
	u32 queue_us;	/* before the last drain */
	u8 findings;	/* that speak against the mode */
	bool on;
	bool cut;	/* by a loss since it began: then the link is full */
};

/* A drain's queue. */
struct ndm_contest_view {
	u32 queue_us;	/* before it */
	u32 left_us;	/* after it */
	u32 min_rtt_us;
	u32 cwnd_fp;	/* the window before it */
	u16 losses;	/* one bit per interval, newest lowest */
};

/* The mode changes. */
static inline void ndm_contest_set(struct ndm_contest *c, bool on)
{
	c->on = on;
	c->cut = false;
	c->findings = 0;
}

/* Steps the random walk; at its end the mode changes. */
static inline void ndm_contest_count(struct ndm_contest *c, s8 against)
{
	c->findings = max_t(s32, c->findings + against, 0);
	if (c->findings >= NDM_CONTEST_FINDINGS)
		ndm_contest_set(c, !c->on);
}

/**
 * ndm_contest_judge - judge the queue that a drain has left
 * @c: the contest
 * @v: the queue before and after the drain
 */
static inline void ndm_contest_judge(struct ndm_contest *c, const struct ndm_contest_view *v)
{
	u32 last_us = c->queue_us;
	bool left = v->queue_us > v->min_rtt_us / 4 && v->left_us > v->queue_us / 8;
	bool clean = !(v->losses & ((1 << NDM_CONTEST_CLEAN) - 1));
	s8 against = 0;

	c->queue_us = v->queue_us;
	if (!c->on && !c->findings) {
		c->entry_fp = v->cwnd_fp;
		c->first_us = v->queue_us;
	}
	/* A queue that has become shorter is one of flows that give way. */
	if (left && v->queue_us >= last_us - last_us / 8)
		against = c->on ? -1 : 1;
	else if (!left && clean)
		against = c->on ? 1 : -1;
	if (!c->on && c->findings + against == NDM_CONTEST_FINDINGS &&
	    v->queue_us < (u64)c->first_us + c->first_us / 8)
		c->findings = 0;
	else
		ndm_contest_count(c, against);
}

#endif /* NDM_CONTEST_H */
