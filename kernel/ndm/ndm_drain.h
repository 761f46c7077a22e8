/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drains: for some round trips a flow sends less than it delivers, so that its own queue runs
 * down and the RTT shows what others keep. A flow that sees the RTT fall drains, too: among
 * flows of this law the queue then runs empty.
 * docs/explanation/control-law.md tells the law.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_DRAIN_H
#define NDM_DRAIN_H

#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "ndm_features.h"
#include "ndm_window.h"

/* Decisions to the first drain, to one that joins or confirms another, and with a queue. */
#define NDM_DRAIN_SOON 8
#define NDM_DRAIN_EVERY 64
/* The longest time without a drain. A minimum RTT is valid for 30 to 60 s. */
#define NDM_DRAIN_US (10 * 1000 * 1000)

/*
 * A queue of an eighth of the minimum RTT counts, and any as long as this: the largest threshold
 * of HyStart++ (RFC 9406).
 */
#define NDM_QUEUE_MAX_US 16000

/* RTTs before a drain's RTT is measured: own queue, then that of flows which join. */
#define NDM_DRAIN_RTTS 2

/* A smaller window cannot drain. */
#define NDM_DRAIN_CWND_MIN 4

/* The largest rtt_variation at which a drain's RTT is meaningful, Q12. */
#define NDM_DRAIN_STEADY (1 << (NDM_FEATURE_FRAC - 3))

struct ndm_drain {
	u32 us;		/* when the last one began */
	u32 before_us;	/* mean RTT before it; 0: there was none */
	u32 flat_us;	/* the RTT that it has not made smaller; 0: it has */
	u32 cwnd;	/* the window in it, packets */
	u16 decisions;	/* since it began, saturates */
	u8 wait;	/* decisions until one is due; 0: none is */
};

/* What a drain depends on. */
struct ndm_drain_view {
	u32 now_us;
	u32 decision;	/* counts from 0 */
	u32 cwnd_fp;
	u32 rtt_us;	/* mean RTT of the interval; 0: none */
	u32 before_us;	/* of the interval before */
	u32 min_rtt_us;
	u64 explained_us;
	u32 shrunk_us;	/* by which the flow's own window has shortened the RTT */
	s16 variation;	/* rtt_variation */
	bool contest;	/* ndm_contest.h */
};

/* The queue that makes an RTT so long. */
static inline u32 ndm_queue_us(u32 rtt_us, u64 explained_us)
{
	return rtt_us - min_t(u64, rtt_us, explained_us);
}

/**
 * ndm_window_queue_us - the queue that the window answers to
 * @mean_us: mean RTT of the interval; 0: none
 * @least_us: the smallest one
 * @last_us: mean RTT of the last interval that had one; 0: none
 * @variation: rtt_variation
 * @explained_us: the RTT without a queue
 *
 * It is that of the RTT half-way between the smallest and the mean: part of what a link that
 * sends in bursts adds is no queue. Where an RTT varies by more than a quarter, twice its
 * deviation is none either. A queue that has grown counts as it was one decision ago, because
 * the window that answered to it has not shown yet.
 */
static inline u32 ndm_window_queue_us(u32 mean_us, u32 least_us, u32 last_us, u16 variation,
				      u32 explained_us)
{
	u32 rtt_us = mean_us - (mean_us - min(mean_us, least_us)) / 2;
	u64 noise_us = variation > 2 * NDM_DRAIN_STEADY ?
		       (u64)mean_us * variation >> (NDM_FEATURE_FRAC - 1) : 0;

	if (ndm_queue_ratio(ndm_queue_us(last_us, explained_us), explained_us) >= NDM_EMPTY)
		rtt_us = min(rtt_us, last_us);
	return ndm_queue_us(rtt_us, explained_us + noise_us);
}

/* The smallest queue that is worth a drain. */
static inline bool ndm_is_queue(u32 queue_us, u32 min_rtt_us)
{
	return queue_us >= min_t(u32, min_rtt_us / 8, NDM_QUEUE_MAX_US);
}

/*
 * Whether the RTT has fallen as in a drain of another flow: more than the flow's own window,
 * which becomes smaller as those of other flows of this law. In contest the cut of a competing
 * flow shortens it as well; the drain then waits until the queue has grown again.
 */
static inline bool ndm_drain_joined(struct ndm_drain *d, const struct ndm_drain_view *v)
{
	u32 queue_us = ndm_queue_us(v->before_us, v->explained_us);
	u32 fall_us = ndm_queue_us(v->before_us, (u64)v->rtt_us + v->shrunk_us);

	if (!ndm_is_queue(fall_us, v->min_rtt_us))
		return false;
	if (v->contest && fall_us >= queue_us / 8 && !d->wait)
		d->wait = NDM_DRAIN_SOON;
	if (!v->contest && d->wait)
		return d->decisions >= NDM_DRAIN_SOON / 2 && fall_us >= queue_us / 8;
	return d->decisions >= NDM_DRAIN_SOON &&
	       fall_us >= (v->contest ? queue_us / 2 : queue_us / 4);
}

/**
 * ndm_drain_due - whether a drain begins after an interval
 * @d: when the last one was
 * @v: what it depends on
 */
static inline bool ndm_drain_due(struct ndm_drain *d, const struct ndm_drain_view *v)
{
	u32 queue_us = ndm_queue_us(v->rtt_us, v->explained_us);
	bool waited = d->wait == 1, waits = d->wait, joined;

	/* It stays due where it cannot begin. */
	if (d->wait > 1)
		d->wait--;
	if (v->cwnd_fp < NDM_DRAIN_CWND_MIN << NDM_CWND_FRAC || !v->rtt_us ||
	    v->decision < NDM_DRAIN_SOON || v->variation > 2 * NDM_DRAIN_STEADY)
		return false;
	/* The link has become slower. */
	if (d->decisions >= NDM_DRAIN_SOON / 2 && queue_us >= v->explained_us && !v->contest)
		return true;
	joined = ndm_drain_joined(d, v);
	if (waited || (waits && joined))
		return true;
	if (v->variation > NDM_DRAIN_STEADY)
		return false;
	if (joined || v->now_us - d->us >= NDM_DRAIN_US)
		return true;
	if (!d->before_us)
		return d->decisions >= NDM_DRAIN_SOON;
	/* At first a flow may take the queue of others for the path's RTT. */
	return d->decisions >= min_t(u32, NDM_DRAIN_EVERY, v->decision / 2) &&
	       (v->decision < NDM_DRAIN_EVERY || ndm_is_queue(queue_us, v->min_rtt_us));
}

/* The flow's part of the queue has run down without a drain. */
static inline void ndm_drain_put_off(struct ndm_drain *d, u32 now_us)
{
	d->us = now_us;
	d->decisions = 0;
}

/* Slow start is over: for two intervals the RTT falls by its own queue, not by another's drain. */
static inline void ndm_drain_settled(struct ndm_drain *d)
{
	d->decisions = min_t(u16, d->decisions, NDM_DRAIN_SOON - 3);
}

/* A drain begins. @rate: packets/us that the flow delivers, NDM_RATE_FRAC */
static inline void ndm_drain_begin(struct ndm_drain *d, const struct ndm_drain_view *v,
				   u32 rate)
{
	/* Three quarters of what the path holds, rounded up. Below 2^63. */
	u64 kept = ((v->explained_us * rate >> 2) * 3 >> NDM_RATE_FRAC) + 1;

	ndm_drain_put_off(d, v->now_us);
	d->before_us = v->rtt_us;
	d->cwnd = min_t(u64, kept + 1, NDM_CWND_MAX);
	d->wait = 0;
}

/*
 * The share of the window that stays after a drain, Q12: the rest was the flow's own queue,
 * apart from a quarter of what the path holds. A link that has become slower leaves a
 * window far above that. @rtt_us: mean RTT in the drain
 */
static inline u16 ndm_drain_kept(const struct ndm_drain *d, u32 rtt_us)
{
	/* Below 2^43. */
	u64 kept = div_u64((u64)(rtt_us + rtt_us / 4) << NDM_FEATURE_FRAC,
			   max_t(u32, d->before_us, 1));

	return clamp_t(u64, kept, 1, NDM_ONE);
}

/*
 * Judges the RTT of a drain that is over. A drain that has not made it shorter had no part in
 * a queue. Where the next one finds the same RTT, no queue changes either: it is that of a
 * longer route, and becomes the minimum. For less than an eighth one drain is enough: the
 * minimum was that of fewer packets. @rtt_us, @least_us: mean and smallest RTT in it. Returns
 * whether the route is at least twice as long.
 */
static inline bool ndm_drain_route(struct ndm_drain *d, struct ndm_measure *m, u32 now_us,
				   u32 rtt_us, u32 least_us)
{
	u32 known_us = d->flat_us ? d->flat_us : least_us;
	u32 less_us = min_t(u32, known_us, least_us);
	u32 more_us = max_t(u32, known_us, least_us);
	u32 before_us = m->min_rtt_us;
	bool again = d->flat_us && more_us - less_us <= less_us / 64;

	d->flat_us = 0;
	if (rtt_us < d->before_us - d->before_us / 32 ||
	    least_us <= before_us + before_us / 32)
		return false;
	if (!again && ndm_is_queue(least_us - before_us, before_us)) {
		d->flat_us = least_us;
		d->wait = NDM_DRAIN_SOON;
		return false;
	}
	m->min_rtt_us = less_us;
	m->next_min_rtt_us = less_us;
	m->min_rtt_stamp_us = now_us;
	return less_us / 2 >= before_us;
}

#endif /* NDM_DRAIN_H */
