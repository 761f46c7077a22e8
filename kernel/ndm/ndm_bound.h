/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bound: what the window may be at most after congestion, whatever the policy wants. A
 * flow in contest follows it.
 *
 *	limit += 1 + 0.4 (t^3)' packets in a round trip; t: seconds since the cut
 *
 * A flow that does not follow it waits for eight round trips: it may only have lost less.
 *
 * Congestion loses packets at a full queue, a path's own losses come at any. So a small share
 * of losses without a queue is the path's own, where a queue has been seen to build.
 * docs/explanation/control-law.md tells the law.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_BOUND_H
#define NDM_BOUND_H

#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "ndm_drain.h"
#include "ndm_schema.h"
#include "ndm_window.h"

/* A cut leaves 0.7 of the window, as CUBIC's: Q8. */
#define NDM_BOUND_CUT 179

/* Losses of which at least so many, and so large a share (Q12) count as congestion. */
#define NDM_BOUND_LOSSES 2
#define NDM_BOUND_SHARE (1 << (NDM_FEATURE_FRAC - 11))	/* 0.05 % */

/* Round trips in which they are counted, and those of them that have losses at least. */
#define NDM_BOUND_LOSSY 2
#define NDM_BOUND_ROUNDS 8

/* A larger share is always congestion. */
#define NDM_BOUND_OWN_MAX (1 << (NDM_FEATURE_FRAC - 5))	/* a thirty-second */

/* The same in slow start below what the path holds. */
#define NDM_BOUND_UNFILLED_MAX (1 << (NDM_FEATURE_FRAC - 3))	/* an eighth */

/* Round trips in which the share that slow start has seen fades, until a queue shows. */
#define NDM_BOUND_UNSEEN 64

/* The losses of slow start end so many round trips after it. */
#define NDM_BOUND_OVERSHOOT 3

/* Later than so long after a cut there is no bound. */
#define NDM_BOUND_US (60 * 1000 * 1000)

/* The share of the path's own losses, in struct ndm_bound: its fraction bits beyond Q12. */
#define NDM_BOUND_OWN_FRAC 4

struct ndm_bound {
	u32 limit_fp;	/* the bound, NDM_CWND_FRAC fraction bits; 0: none */
	u32 cut_us;	/* the time of the last cut */
	u32 lost;	/* the counters at the beginning of the sample */
	u32 delivered;
	u32 last_lost;	/* the counter one round trip ago */
	u32 most_fp;	/* the largest window of the sample that the path has carried */
	u32 most_us;	/* the longest queue of a round trip */
	u32 uncut_fp;	/* the window before this recovery's first cut; 0: it has made no cut */
	u32 uncut_limit_fp;	/* and the bound */
	u16 own;	/* share of packets that the path loses at any queue, Q16 */
	u8 rounds;	/* round trips of the sample */
	u8 lossy_rounds;	/* those of them with losses */
	u8 held;	/* round trips until it grows after a cut */
	u8 overshoot;	/* round trips in which a loss may be that of slow start */
	bool skip;	/* this round trip's packets were sent before the cut */
};

/* A round trip that is over. */
struct ndm_bound_round {
	u32 now_us;
	u32 length_us;
	u32 rtt_us;	/* smoothed; the length is that of several where an interval has several */
	u32 queue_us;	/* mean */
	u32 min_rtt_us;
	u32 lost;	/* packets that the connection has lost so far, without undone losses */
	u32 delivered;	/* packets so far */
	u32 carried;	/* those of this round trip */
	u32 cwnd_fp;	/* the window, NDM_CWND_FRAC fraction bits */
	bool starting;	/* the flow is in slow start */
	bool unfilled;	/* it is in slow start, in a window below what the path holds */
};

static inline void ndm_bound_sample(struct ndm_bound *b, u32 lost, u32 delivered)
{
	b->lost = lost;
	b->delivered = delivered;
	b->last_lost = lost;
	b->most_fp = 0;
	b->rounds = 0;
	b->lossy_rounds = 0;
}

/* What the path has carried of the window. */
static inline u32 ndm_bound_carried(const struct ndm_bound_round *r)
{
	u32 carried_fp = min(r->carried, NDM_CWND_MAX) << NDM_CWND_FRAC;

	/* At least half, as the round trip may have begun with a smaller window. */
	return min(r->cwnd_fp, max(carried_fp, r->cwnd_fp / 2));
}

/* The window within the bound. */
static inline u32 ndm_bounded(const struct ndm_bound *b, u32 cwnd_fp)
{
	return b->limit_fp ? min(cwnd_fp, b->limit_fp) : cwnd_fp;
}

/**
 * ndm_bound_cut - congestion: cut the bound
 * @b: the bound
 * @now_us: the time
 * @carried_fp: the window that the path has carried, NDM_CWND_FRAC fraction bits
 *
 * Never raises the bound: a mark may have cut it since the path has carried the window.
 */
static inline void ndm_bound_cut(struct ndm_bound *b, u32 now_us, u32 carried_fp)
{
	u32 limit_fp = max_t(u32, (u64)carried_fp * NDM_BOUND_CUT >> 8,
			     NDM_CWND_MIN << NDM_CWND_FRAC);

	b->limit_fp = ndm_bounded(b, limit_fp);
	b->cut_us = now_us;
}

/* The bound's growth after an interval. */
static inline void ndm_bound_grow(struct ndm_bound *b, const struct ndm_bound_round *r)
{
	u32 t = (r->now_us - b->cut_us) >> 10;	/* 1.024 ms */
	u32 bounded_us = min_t(u32, r->length_us, (1 << 24) - 1);
	u64 next_fp;

	if (!b->limit_fp)
		return;
	if (r->now_us - b->cut_us > NDM_BOUND_US) {
		b->limit_fp = 0;
		return;
	}
	/*
	 * 3 * 0.4 t^2 packets per second^3, in these units 3.22e-10 = 11 / 2^35. t is
	 * below 2^16 and the length below 2^24, so the product is below 2^60.
	 */
	next_fp = b->limit_fp + ((u64)t * t * 11 * bounded_us >> 35) +
		  (r->rtt_us ? (bounded_us << NDM_CWND_FRAC) / r->rtt_us : NDM_CWND_ONE);
	b->limit_fp = min_t(u64, next_fp, NDM_CWND_MAX << NDM_CWND_FRAC);
}

/* The last losses were no sign of congestion. @lost: the counter now */
static inline void ndm_bound_forget(struct ndm_bound *b, u32 lost)
{
	b->lost = lost;
	b->last_lost = lost;
	b->lossy_rounds = 0;
}

/* A flow begins to follow the bound, which begins with its window. */
static inline void ndm_bound_lift(struct ndm_bound *b)
{
	b->limit_fp = 0;
}

/* A recovery begins: of its cuts, an undo takes back the first. */
static inline void ndm_bound_recover(struct ndm_bound *b)
{
	b->uncut_fp = 0;
}

/* A mark is always congestion: an undo does not take it back, nor a cut before it. */
static inline void ndm_bound_mark(struct ndm_bound *b, u32 now_us, u32 carried_fp)
{
	ndm_bound_cut(b, now_us, carried_fp);
	b->uncut_fp = 0;
}

/*
 * The recovery's losses were none: segments had only changed their order. Returns the window
 * before the cut that they have caused, 0 without one.
 */
static inline u32 ndm_bound_undo(struct ndm_bound *b)
{
	u32 before_fp = b->uncut_fp;

	if (before_fp) {
		b->limit_fp = b->uncut_limit_fp;
		b->held = 0;
	}
	b->uncut_fp = 0;
	return before_fp;
}

/* The share of @lost among as many and those delivered, Q12, at most 1. */
static inline u32 ndm_bound_share(u32 lost, u32 delivered)
{
	return lost ? div64_u64((u64)lost << NDM_FEATURE_FRAC, (u64)lost + delivered) : 0;
}

/* Whether so few losses among as many packets need not be congestion. @share: Q12 */
static inline bool ndm_bound_few(u32 lost, u32 delivered, u32 share)
{
	return (u64)lost << NDM_FEATURE_FRAC <=
	       (NDM_BOUND_LOSSES << NDM_FEATURE_FRAC) + ((u64)lost + delivered) * share;
}

/*
 * Whether a round trip's losses are the path's own: a small share at less than a quarter of the
 * longest queue, which has been at least an eighth of the minimum RTT. A window below what the
 * path holds fills no queue; many are lost even there where something drops what exceeds a rate.
 */
static inline bool ndm_bound_own(const struct ndm_bound *b, const struct ndm_bound_round *r,
				 u32 lost)
{
	if (r->starting)
		return r->unfilled && ndm_bound_few(lost, r->carried, NDM_BOUND_UNFILLED_MAX);
	return ndm_bound_few(lost, r->carried, NDM_BOUND_OWN_MAX) &&
	       ndm_is_queue(b->most_us, r->min_rtt_us) && r->queue_us < b->most_us / 4;
}

/* Whether a sample that the path's own losses are no part of is congestion. */
static inline bool ndm_bound_congested(const struct ndm_bound *b,
				       const struct ndm_bound_round *r)
{
	u64 lost = (u64)(u32)max_t(s32, r->lost - b->lost, 0);
	u64 sent = lost + (r->delivered - b->delivered);

	return b->lossy_rounds >= NDM_BOUND_LOSSY &&
	       lost << NDM_FEATURE_FRAC > (NDM_BOUND_LOSSES << NDM_FEATURE_FRAC) +
	       sent * ((b->own >> (NDM_BOUND_OWN_FRAC - 1)) + NDM_BOUND_SHARE);
}

/* Judges the losses of a round trip. Returns whether they ask for a cut. */
static inline bool ndm_bound_losses(struct ndm_bound *b, const struct ndm_bound_round *r)
{
	u32 lost = max_t(s32, r->lost - b->last_lost, 0);
	bool congested = false;

	if (ndm_bound_own(b, r, lost)) {
		u32 share = min_t(u32, ndm_bound_share(lost, r->carried), NDM_BOUND_OWN_MAX);

		b->own += ((s32)(share << NDM_BOUND_OWN_FRAC) - b->own) >> 3;
		b->lost += lost;
		lost = 0;
	}
	/* In slow start its own overshoot may have been taken for it. */
	if (!r->starting && !ndm_is_queue(b->most_us, r->min_rtt_us))
		b->own -= (b->own + NDM_BOUND_UNSEEN - 1) / NDM_BOUND_UNSEEN;
	b->last_lost = r->lost;
	b->rounds++;
	b->lossy_rounds += lost > 0;
	if (!b->skip)
		congested = ndm_bound_congested(b, r);
	if (b->skip || congested || b->rounds >= NDM_BOUND_ROUNDS)
		ndm_bound_sample(b, r->lost, r->delivered);
	b->skip = congested;
	return congested;
}

/**
 * ndm_bound_update - the bound after a round trip
 * @b: the bound
 * @r: the round trip
 * Return: the window within the bound
 */
static inline u32 ndm_bound_update(struct ndm_bound *b, const struct ndm_bound_round *r)
{
	u32 most_fp = max(b->most_fp, ndm_bound_carried(r)), kept_fp;

	if (r->starting)
		b->overshoot = NDM_BOUND_OVERSHOOT;
	else if (b->overshoot)
		b->overshoot--;
	/* The policy may have reduced the window since the first loss. */
	b->most_fp = most_fp;
	b->most_us = max(b->most_us, r->queue_us);
	if (ndm_bound_losses(b, r)) {
		if (!b->uncut_fp) {
			b->uncut_fp = r->cwnd_fp;
			b->uncut_limit_fp = b->limit_fp;
		}
		kept_fp = ndm_bounded(b, most_fp);
		ndm_bound_cut(b, r->now_us, most_fp);
		/* No smaller than what the path has carried after slow start. */
		if (b->overshoot)
			b->limit_fp = max(b->limit_fp, kept_fp);
		b->overshoot = 0;
		b->held = NDM_BOUND_ROUNDS;
	} else if (b->held) {
		b->held--;
	} else {
		ndm_bound_grow(b, r);
	}
	return ndm_bounded(b, r->cwnd_fp);
}

/**
 * ndm_bound_follow - the bound after a round trip of a flow that follows it
 * @b: the bound
 * @r: the round trip
 * @loss: whether it had a loss, which cuts the bound (RFC 5681, section 3.2)
 * @probing: the link is not known to be full: the bound grows by a quarter
 */
static inline void ndm_bound_follow(struct ndm_bound *b, const struct ndm_bound_round *r,
				    bool loss, bool probing)
{
	ndm_bound_sample(b, r->lost, r->delivered);
	b->most_us = max(b->most_us, r->queue_us);
	if (loss && !b->skip) {
		ndm_bound_cut(b, r->now_us, ndm_bound_carried(r));
		b->skip = true;
		return;
	}
	b->skip = false;
	ndm_bound_grow(b, r);
	if (probing && b->limit_fp)
		b->limit_fp = min(b->limit_fp + r->cwnd_fp / 4, NDM_CWND_MAX << NDM_CWND_FRAC);
	/* None yet, or outgrown. */
	if (!b->limit_fp) {
		b->limit_fp = max_t(u32, r->cwnd_fp, NDM_CWND_MIN << NDM_CWND_FRAC);
		b->cut_us = r->now_us;
	}
}

#endif /* NDM_BOUND_H */
