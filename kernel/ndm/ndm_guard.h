/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard: it takes a connection from a policy that leaves the path unused. The connection
 * is in contest then (ndm_contest.h).
 *
 *	starving	There was no loss, and in most intervals no queue. The window was
 *			used and has not grown by a quarter, and the rate was less than
 *			a quarter of what the path has carried before.
 *
 * What the path has carried is the largest rate of an interval. It falls to the rate of an
 * interval in which a queue doubles the RTT of a window that is at least half of that rate's
 * bandwidth-delay product: the link has become slower. Decisions in slow start and in drains
 * do not count. docs/explanation/control-law.md tells the law.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_GUARD_H
#define NDM_GUARD_H

#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "ndm_features.h"
#include "ndm_window.h"

#define NDM_GUARD_HORIZON 32	/* decisions */
#define NDM_GUARD_MOST 28	/* of them */
#define NDM_GUARD_STRIKES 2	/* bad horizons in a row */

struct ndm_guard {
	u32 first_fp;	/* the window at the horizon's beginning; 0: none has begun */
	u32 lost;	/* the counters there */
	u32 delivered;
	u32 start_us;	/* the time there */
	u32 best_rate;	/* what the path has carried, packets/us, NDM_RATE_FRAC */
	u8 decisions;	/* of this horizon */
	u8 empty;	/* intervals without a queue, in which the window was used */
	u8 strikes;	/* bad horizons in a row */
};

/* What the guard sees of an interval. */
struct ndm_guard_view {
	u32 now_us;
	u32 cwnd_fp;	/* the flow's window */
	u32 lost;	/* packets since the connection began, without undone losses */
	u32 delivered;
	u32 rate;	/* of the interval, packets/us, NDM_RATE_FRAC */
	u32 rtt_us;	/* mean RTT of the interval; 0: none */
	u64 explained_us;	/* ndm_explained_rtt_us() */
	bool used;	/* the window was used */
};

/* Whether a window that the path carried before now makes a queue. */
static inline bool ndm_guard_slower(const struct ndm_guard *g,
				    const struct ndm_guard_view *view)
{
	u64 bdp_fp = min_t(u64, view->explained_us, NDM_RTT_MAX_US) * g->best_rate >>
		     (NDM_RATE_FRAC - NDM_CWND_FRAC);

	return view->rtt_us > 2 * view->explained_us && view->cwnd_fp >= bdp_fp / 2;
}

/* The path has carried the rate of an interval, in slow start and drains too. */
static inline void ndm_guard_carried(struct ndm_guard *g, const struct ndm_guard_view *view)
{
	if (view->rate > g->best_rate || ndm_guard_slower(g, view))
		g->best_rate = view->rate;
}

static inline void ndm_guard_begin_horizon(struct ndm_guard *g,
					   const struct ndm_guard_view *view)
{
	g->first_fp = view->cwnd_fp;
	g->lost = view->lost;
	g->delivered = view->delivered;
	g->start_us = view->now_us;
	g->decisions = 0;
	g->empty = 0;
}

/* Whether an interval had no queue. */
static inline bool ndm_guard_empty(const struct ndm_guard_view *view)
{
	return view->rtt_us && view->rtt_us <= view->explained_us + view->explained_us / 16;
}

/* Whether the path was left unused in a horizon that ends. */
static inline bool ndm_guard_starving(const struct ndm_guard *g,
				      const struct ndm_guard_view *view)
{
	u64 rate = div_u64((u64)(view->delivered - g->delivered) << NDM_RATE_FRAC,
			   max_t(u32, view->now_us - g->start_us, 1));

	return (s32)(view->lost - g->lost) <= 0 && g->empty >= NDM_GUARD_MOST &&
	       view->cwnd_fp <= g->first_fp + g->first_fp / 4 && rate < g->best_rate / 4;
}

/**
 * ndm_guard_check - judge an interval that followed a decision of the policy
 * @g: the guard
 * @view: what it sees
 * Return: whether the guard takes the connection from the policy now
 */
static inline bool ndm_guard_check(struct ndm_guard *g, const struct ndm_guard_view *view)
{
	if (!g->first_fp)
		ndm_guard_begin_horizon(g, view);
	g->decisions++;
	g->empty += view->used && ndm_guard_empty(view);
	if (g->decisions < NDM_GUARD_HORIZON)
		return false;
	g->strikes = ndm_guard_starving(g, view) ? g->strikes + 1 : 0;
	/* What the path carried long ago does not matter. */
	g->best_rate -= g->best_rate / 16;
	ndm_guard_begin_horizon(g, view);
	if (g->strikes < NDM_GUARD_STRIKES)
		return false;
	g->strikes = 0;
	g->first_fp = 0;
	return true;
}

#endif /* NDM_GUARD_H */
