/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drains: when a flow reduces its window to measure the queue that remains, by how much,
 * and what its RTT then shows: a new minimum, a longer route, or a standing queue.
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

#include "ndm_schema.h"
#include "ndm_window.h"

/* The decisions that begin the first two drains of a connection; the second needs a queue. */
#define NDM_DRAIN_FIRST 8
#define NDM_DRAIN_SECOND 16

/*
 * Decisions between drains: to find an RTT again, with an unexplained queue, and without. A
 * minimum RTT is valid for 30 to 60 s.
 */
#define NDM_DRAIN_AGAIN 8
#define NDM_DRAIN_EVERY 64
#define NDM_DRAIN_SELDOM 256
#define NDM_DRAIN_US (20 * 1000 * 1000)

/* The smallest unexplained queue: an eighth of min_rtt, Q12. */
#define NDM_DRAIN_QUEUE (1 << (NDM_FEATURE_FRAC - 3))

/* Drains that may find an RTT again. */
#define NDM_DRAIN_TRIES 3	/* fits 2 bits */

/* Decisions after a drain before an early one. */
#define NDM_DRAIN_EARLY 4

/* Intervals of a drain: the queue runs down, then the RTT is measured. */
#define NDM_DRAIN_INTERVALS 2

/* Half of a smaller window is less than NDM_CWND_MIN. */
#define NDM_DRAIN_CWND_MIN (2 * NDM_CWND_MIN)

/*
 * The largest rtt_variation at which a drain's RTT is meaningful, Q12: an eighth of
 * the RTT. While a new queue makes the RTT rise, it deviates by up to a quarter.
 */
#define NDM_DRAIN_STEADY (1 << (NDM_FEATURE_FRAC - 3))
#define NDM_DRAIN_STEADY_EARLY (1 << (NDM_FEATURE_FRAC - 2))

/* Standing queue and wait are stored in u8 with 5 fraction bits of min_rtt. */
#define NDM_EXCESS_FRAC 5

/* The RTT over min_rtt, Q12, and the part that the last drain explains. */
static inline u32 ndm_rtt_over_min(const s16 *x)
{
	return (1 << NDM_FEATURE_FRAC) + x[NDM_IN_RTT_RATIO];
}

/* A standing queue or wait over min_rtt, Q12. */
static inline s32 ndm_excess_over_min(u8 excess)
{
	return excess << (NDM_FEATURE_FRAC - NDM_EXCESS_FRAC);
}

static inline u32 ndm_standing_over_min(u8 standing)
{
	return (1 << NDM_FEATURE_FRAC) + ndm_excess_over_min(standing);
}

/* What the next drain depends on. */
struct ndm_drain_clock {
	u32 decision;	/* counts from 0 */
	u32 decisions;	/* since the last drain */
	u32 us;		/* since it */
	bool again;	/* it has found an RTT that another one may find again */
};

/* Whether a regular drain is due. @queue: there is an unexplained queue. */
static inline bool ndm_drain_regular(const struct ndm_drain_clock *clock, bool queue)
{
	if (clock->decision == NDM_DRAIN_FIRST ||
	    (clock->decision == NDM_DRAIN_SECOND && queue) ||
	    (clock->decisions >= NDM_DRAIN_AGAIN && clock->again))
		return true;
	return clock->decisions >= (queue ? NDM_DRAIN_EVERY : NDM_DRAIN_SELDOM) ||
	       clock->us >= NDM_DRAIN_US;
}

static inline bool ndm_drain_queue(const s16 *x, u8 standing)
{
	return ndm_rtt_over_min(x) >= ndm_standing_over_min(standing) + NDM_DRAIN_QUEUE;
}

/**
 * ndm_drain_due - whether a drain begins
 * @clock: when the last one was
 * @cwnd_fp: NDM_CWND_FRAC fraction bits
 * @x: (NDM_INPUTS) the inputs of this decision, Q12
 * @standing: the standing queue, NDM_EXCESS_FRAC fraction bits of min_rtt
 */
static inline bool ndm_drain_due(const struct ndm_drain_clock *clock, u32 cwnd_fp,
				 const s16 *x, u8 standing)
{
	if (cwnd_fp < NDM_DRAIN_CWND_MIN << NDM_CWND_FRAC ||
	    clock->decision < NDM_DRAIN_FIRST || clock->decisions < NDM_DRAIN_EARLY)
		return false;
	if (x[NDM_IN_RTT_VARIATION] <= NDM_DRAIN_STEADY &&
	    ndm_drain_regular(clock, ndm_drain_queue(x, standing)))
		return true;
	return x[NDM_IN_RTT_VARIATION] <= NDM_DRAIN_STEADY_EARLY &&
	       ndm_rtt_over_min(x) >= 2 * ndm_standing_over_min(standing);
}

/*
 * What stays of the window in a drain, eighths; 0: a sixteenth. @x: the inputs
 *
 * The first drain removes what slow start has left, and an eighth of what the path holds:
 * short transfers end soon after it. Later, where no queue is to be measured, three quarters
 * stay. Otherwise the window is halved until a quarter of the path stays empty.
 */
static inline u8 ndm_drain_eighths(const s16 *x, u8 standing, bool first)
{
	u32 explained = ndm_standing_over_min(standing);
	u32 rtt = ndm_rtt_over_min(x);
	u8 eighths = 4;

	if (first)
		return clamp_t(u32, 7 * explained / rtt, 1, 7);
	if (!ndm_drain_queue(x, standing))
		return 6;
	while (eighths && 6 * explained < rtt * eighths)
		eighths /= 2;
	return eighths;
}

/*
 * The window in a drain, packets. Four stay where that is not more than half of it, since
 * receivers delay the ACK of a single packet.
 */
static inline u32 ndm_drain_cwnd(u32 cwnd, u8 eighths)
{
	u32 kept = eighths ? (u64)cwnd * eighths >> 3 : cwnd >> 4;

	return max_t(u32, max_t(u32, kept, min_t(u32, cwnd / 2, 4)), NDM_CWND_MIN);
}

/*
 * Whether a drain has not changed an RTT above the minimum. A flow with a sixteenth of the
 * link's rate or more would have made a queue shorter by a thirty-second. @before_us: mean
 * RTT of the packets sent before it; @rtt_us, @least_us: mean and smallest RTT in it
 */
static inline bool ndm_drain_flat(u32 before_us, u32 rtt_us, u32 least_us, u32 min_rtt_us)
{
	return rtt_us >= before_us - before_us / 32 && least_us > min_rtt_us + min_rtt_us / 32;
}

/*
 * The share of the window that stays after a drain, Q12: the rest was the flow's own queue,
 * apart from a quarter of what the path holds. A link that has become slower leaves a
 * window far above that. @before_us: mean RTT of the packets sent before the drain
 */
static inline u16 ndm_drain_kept(u32 before_us, u64 explained_us)
{
	/* Below 2^49. */
	u64 kept = div_u64((explained_us + explained_us / 4) << NDM_FEATURE_FRAC,
			   max_t(u32, before_us, 1));

	return clamp_t(u64, kept, 1, 1 << NDM_FEATURE_FRAC);
}

/* Whether two drains have found the same RTT. */
static inline bool ndm_drains_agree(u32 a_us, u32 b_us)
{
	return max_t(u32, a_us, b_us) - min_t(u32, a_us, b_us) <= min_t(u32, a_us, b_us) / 16;
}

/* What an RTT has more than @less_us, NDM_EXCESS_FRAC fraction bits of @min_rtt_us. */
static inline u8 ndm_rtt_excess(u32 rtt_us, u32 less_us, u32 min_rtt_us)
{
	u64 excess_us = rtt_us - min_t(u32, rtt_us, less_us);

	/* Below 2^35. */
	return min_t(u64, div_u64(excess_us << NDM_EXCESS_FRAC,
				  max_t(u32, min_rtt_us, 1)), U8_MAX);
}

#endif /* NDM_DRAIN_H */
