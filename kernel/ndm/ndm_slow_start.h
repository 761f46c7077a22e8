/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slow start: what each ACK adds, the sign of a queue that ends it, and the window after
 * it. docs/explanation/control-law.md tells the law.
 *
 * The sign is that of HyStart++ (RFC 9406): the smallest RTT of eight samples is an eighth
 * above the filtered minimum, within 0.25 and 16 ms. The RFC takes the first eight samples of
 * a round trip, and its least threshold is 4 ms, which is several queues of a data centre.
 * An interval with fewer samples needs two.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_SLOW_START_H
#define NDM_SLOW_START_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "ndm_bound.h"
#include "ndm_features.h"
#include "ndm_train.h"

#define NDM_SLOW_START_SAMPLES 2	/* enough at an interval's end */
#define NDM_SLOW_START_QUEUE_MIN_US 250

/* What ACKs do to the window between decisions. */
enum ndm_phase {
	NDM_STEADY,		/* nothing */
	NDM_STARTING,		/* slow start, as do the next four; ndm_slow_start.h */
	NDM_SUSPECTING,		/* slow start, and this interval shows a queue */
	NDM_CONFIRMING,		/* slow start, and the last interval showed a queue */
	NDM_CONFIRMED,		/* slow start, and both intervals have shown a queue */
	NDM_SETTLING,		/* slow start, and the queue runs down */
	NDM_CONSERVING,		/* packet conservation; ndm_recovery.h */
	NDM_RESTARTING,		/* slow start after a time-out; ndm_recovery.h */
};

static inline bool ndm_in_slow_start(enum ndm_phase phase)
{
	return phase >= NDM_STARTING && phase <= NDM_SETTLING;
}

/* Whether the losses of an interval leave slow start as it is. */
static inline bool ndm_slow_start_few(const struct ndm_interval *interval, u32 cwnd_fp,
				      u32 bdp_fp)
{
	return ndm_bound_few(interval->lost, interval->delivered,
			     cwnd_fp < bdp_fp ? NDM_BOUND_UNFILLED_MAX : 0);
}

/* Whether an interval's RTTs show a queue. @min_rtt_us: 0: none yet */
static inline bool ndm_slow_start_queue(u32 low_rtt_us, u32 min_rtt_us)
{
	u32 queue_us = ndm_queue_us(low_rtt_us, min_rtt_us);

	return min_rtt_us && queue_us >= NDM_SLOW_START_QUEUE_MIN_US &&
	       ndm_is_queue(queue_us, min_rtt_us);
}

/* The window at which it stops to grow. @bdp_fp: ndm_train_bdp() */
static inline u32 ndm_slow_start_most(u32 bdp_fp)
{
	return bdp_fp == NDM_TRAIN_UNKNOWN ? U32_MAX : bdp_fp + bdp_fp / 16 * 3;
}

/*
 * The window after an ACK. Below 2^32: a window is at most 2^31, its growth below 2^31.
 * @acked: packets that it has acknowledged
 */
static inline u32 ndm_slow_start_grow(u32 cwnd_fp, u32 acked, u32 bdp_fp)
{
	u32 grown_fp = cwnd_fp + (min(acked, NDM_CWND_MAX - 1) << NDM_CWND_FRAC);

	return min(grown_fp, max(cwnd_fp, ndm_slow_start_most(bdp_fp)));
}

/*
 * The window after the sign of a queue: half of it, but it does not shrink below @first_fp.
 * Where trains have shown what the path holds, it does not shrink below
 * ndm_slow_start_most().
 */
static inline u32 ndm_slow_start_hold(u32 cwnd_fp, u32 first_fp, u32 bdp_fp)
{
	u32 least_fp = first_fp;

	if (bdp_fp != NDM_TRAIN_UNKNOWN)
		least_fp = max(least_fp, ndm_slow_start_most(bdp_fp));
	return max(cwnd_fp / 2, min(cwnd_fp, least_fp));
}

/* The phase of slow start after an ACK. */
static inline enum ndm_phase ndm_slow_start_ack(enum ndm_phase phase,
						const struct ndm_measure *m)
{
	if (phase == NDM_SETTLING || !m->rtt_count || m->rtt_count % NDM_RTT_GROUP ||
	    !ndm_slow_start_queue(m->low_rtt_us, m->min_rtt_us))
		return phase;
	return phase == NDM_STARTING || phase == NDM_SUSPECTING ? NDM_SUSPECTING
								: NDM_CONFIRMED;
}

/* The phase of slow start after an interval; NDM_STEADY: it is over. */
static inline enum ndm_phase
ndm_slow_start_close(enum ndm_phase phase, const struct ndm_interval *interval,
		     u32 min_rtt_us, bool few)
{
	bool queue = interval->rtt_count % NDM_RTT_GROUP >= NDM_SLOW_START_SAMPLES &&
		     ndm_slow_start_queue(interval->low_rtt_us, min_rtt_us);

	if (phase == NDM_SETTLING || !few)
		return NDM_STEADY;
	if (phase == NDM_CONFIRMED || (queue && phase == NDM_CONFIRMING))
		return interval->grew ? NDM_STARTING : NDM_SETTLING;
	return queue || phase == NDM_SUSPECTING ? NDM_CONFIRMING : NDM_STARTING;
}

/*
 * The window at the end, NDM_CWND_FRAC fraction bits: what the path holds at its rate and a
 * sixteenth, so that the link is never idle, within half and twice the window that was held
 * in the last interval, @cwnd_fp; no more than it unless @grows.
 */
static inline u32 ndm_slow_start_end(u32 cwnd_fp, const struct ndm_measure *m, bool grows)
{
	u64 most_fp = grows ? 2ULL * cwnd_fp : cwnd_fp;
	u64 bdp_fp = ndm_bdp(m) >> (12 - NDM_CWND_FRAC);

	return clamp_t(u64, bdp_fp + bdp_fp / 16, cwnd_fp / 2, min_t(u64, most_fp, U32_MAX));
}

#endif /* NDM_SLOW_START_H */
