/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The inputs of the network, measured over one control interval.
 *
 * Pure: plain numbers in, plain numbers out, no struct sock, so that the same code
 * runs in the modules and in the tests in user space. Every input is scale-free and
 * Q12 (12 fraction bits, 4096 = 1), in the order and range of ndm_schema.h:
 *
 *	rtt_ratio	(srtt - wait) / min_rtt - 1; with a long wait, mean RTT for srtt
 *	entropy		0.6 H2(losses) + 0.4 H(delays) / log2(16)
 *	queue_floor	log2 of the smallest mean RTT - wait of the last 16 intervals / min_rtt
 *	congestion	entropy < 0.7 and (loss or rising delay) ? 1 : -1
 *	plasticity	+0.1 on loss, +0.2 on a time-out, else * 0.995
 *	loss_rate	lost / (lost + delivered), less twice the share that the path loses at
 *			any window (ndm_bound.h); an ECN mark counts as a loss, and the
 *			whole share then
 *	rtt_variation	mdev / srtt
 *	rtt_gradient	(mean RTT - last interval's mean RTT) / min_rtt
 *	delivery_ratio	rate / max_rate
 *	inflight_ratio	in flight at the interval's beginning /
 *			(max_rate * (min_rtt + wait))
 *
 * The wait is the time for which packets or ACKs wait for others where they arrive in bursts;
 * it is no queue.
 *
 * min_rtt is not the smallest RTT sample: with jitter larger than the base delay a
 * rare minimum is noise (TCP-NV, section 2). It is the smallest *smoothed* RTT at
 * the ends of the intervals of the last 30 to 60 s, at least the smallest sample of its
 * interval: every 30 s the minimum collected since the last renewal replaces it. max_rate is
 * renewed the same way.
 *
 * A rate is the packets delivered in an interval over its length, or over the time in which
 * they were sent if that is longer: a device may collect ACKs and forward them at once.
 * The packets that were delivered in an interval were in flight at its beginning, so
 * inflight_ratio compares flight and rate of the same packets. queue_floor is the mode
 * switch of Copa (Arun and Balakrishnan, NSDI 2018).
 *
 * H2 is the binary entropy of the loss bits of the last 16 intervals, H that of
 * the histogram of their mean RTTs over 16 quarter octaves above min_rtt. Low
 * entropy together with loss or rising delay is congestion, high entropy is
 * noise: the rule of NDM v1.
 *
 * Clocks are the low 32 bits of a microsecond clock, counters are u32: both
 * wrap, and only their differences are used.
 */
#ifndef NDM_FEATURES_H
#define NDM_FEATURES_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "ndm_math.h"
#include "ndm_schema.h"

#define NDM_ONE (1 << NDM_FEATURE_FRAC)

/* The shortest interval: more frequent decisions are not worth their cost. */
#define NDM_INTERVAL_MIN_US 1000

/* A minimum RTT is valid for one to two of these. */
#define NDM_MIN_RTT_BUCKET_US (30 * 1000 * 1000)

/* A maximum rate is valid for one to two of these: both conditions must hold. */
#define NDM_RATE_BUCKET_INTERVALS 10	/* fits 4 bits */
#define NDM_RATE_BUCKET_US (200 * 1000)

/*
 * A rate larger by 1/NDM_FASTER_STEP than all before may be that of a faster link. After a loss
 * a flow may not have filled the link: not for so many intervals.
 */
#define NDM_FASTER_STEP 64
#define NDM_FASTER_AFTER 8	/* at most 16: the bits of loss_ring */
#define NDM_FASTER_EMPTY 2	/* decisions in a row without a queue */

/* Packets per microsecond have this many fraction bits, as in BBR. */
#define NDM_RATE_FRAC 24

/* As many RTT samples have one smallest RTT. */
#define NDM_RTT_GROUP 8

/* In so many first decisions the RTT's deviation may exceed it; then a minimum does not count. */
#define NDM_UNSURE 8

/* 18 minutes, longer than any RTT of TCP. Bounds the sums below. */
#define NDM_RTT_MAX_US (1U << 30)

/* NDM v1's constants, Q12; the decay is Q16. */
#define NDM_PLASTICITY_START 1229	/* 0.3 */
#define NDM_PLASTICITY_LOSS 410		/* 0.1 */
#define NDM_PLASTICITY_TIMEOUT 819	/* 0.2 */
#define NDM_PLASTICITY_DECAY 65208	/* 0.995 */
#define NDM_ENTROPY_NOISE 2867		/* 0.7: a higher entropy is noise */

/*
 * The thresholds of rising delay for NDM v1's rule, Q12. Where ACKs arrive in bursts or jitter
 * varies the RTT, mean RTTs differ by about twice the wait without a queue.
 */
#define NDM_RISING_GRADIENT 82		/* 0.02 of min_rtt and twice the wait */
#define NDM_RISING_RTT_RATIO 410	/* 0.1 over min_rtt: there is a queue */

/* Measurement state of one connection. */
struct ndm_measure {
	u64 delay_ring;		/* 16 quarter octaves, 4 bits each, newest lowest */
	u32 start_us;		/* start of the interval, moved by its idle time */
	u32 start_delivered;	/* packets delivered before the interval */
	u32 start_lost;		/* packets lost before it, without undone losses */
	u32 start_inflight;	/* packets in flight at its beginning */
	u32 rtt_sum_us;		/* of rtt_count samples of this interval */
	u32 low_rtt_us;		/* smallest of the last group of them */
	u32 least_rtt_us;	/* smallest of the groups before */
	u32 last_rtt_us;	/* mean RTT of the last interval that had one; 0: none */
	u32 min_rtt_us;		/* filtered minimum; 0: none yet */
	u32 next_min_rtt_us;	/* collected since min_rtt_stamp_us; 0: none yet */
	u32 min_rtt_stamp_us;
	u32 max_rate;		/* packets/us, NDM_RATE_FRAC fraction bits */
	u32 next_max_rate;	/* collected since rate_stamp_us */
	u32 rate_stamp_us;
	u32 decisions;		/* intervals closed so far */
	u32 wait_us;		/* for packets and ACKs that arrive in bursts */
	u16 rtt_count;
	u16 loss_ring;		/* one bit per interval with loss, newest lowest */
	u16 plasticity;		/* Q12, at most 1 */
	u8 drain : 2;		/* 2: in a drain; 1: in its last interval; 0: in none */
	u8 rate_intervals : 4;	/* since rate_stamp_us, saturates */
	u8 timed_out : 1;	/* there was a retransmission time-out in this interval */
	u8 early : 1;		/* the last interval ended early */
	u8 app_limited : 1;	/* the application has limited the rate of a packet */
	u8 marked : 1;		/* there was an ECN mark, or a loss that a probe repaired */
	u8 faster : 1;		/* the last interval was faster than all before */
};

/* A connection's clock, counters and gauges at one moment. */
struct ndm_reading {
	u32 now_us;
	u32 delivered;		/* packets since the connection began */
	u32 lost;		/* packets since then, without undone losses */
	u32 inflight;		/* packets */
	u32 srtt_us;		/* smoothed RTT; 0: no sample yet */
	u32 mdev_us;		/* mean deviation of the RTT */
	u32 sending_us;		/* time in which the interval's packets were sent */
	u16 own;		/* share of packets that the path loses at any window, Q12 */
};

/* The results of one interval. */
struct ndm_interval {
	u32 length_us;
	u32 rtt_us;		/* mean RTT; 0 without a sample */
	u32 delivered;		/* packets */
	u32 lost;		/* packets, and one for a mark */
	u32 rate;		/* packets/us, NDM_RATE_FRAC */
	u32 before_us;		/* mean RTT of the last interval that had one; 0: none */
	u32 least_rtt_us;	/* smallest RTT; U32_MAX without a sample */
	u32 low_rtt_us;		/* smallest RTT of the last, incomplete group of samples */
	u16 rtt_count;		/* samples; a long interval counts fewer than it had */
	bool faster;		/* the link has become faster: ndm_faster() */
	bool grew;		/* the rate is a quarter larger than all before */
	s16 x[NDM_INPUTS];	/* Q12 */
};

/* Begins an interval at @now. */
static inline void ndm_interval_begin(struct ndm_measure *m,
				      const struct ndm_reading *now)
{
	m->start_us = now->now_us;
	m->start_delivered = now->delivered;
	m->start_lost = now->lost;
	m->start_inflight = now->inflight;
	m->rtt_sum_us = 0;
	m->low_rtt_us = U32_MAX;
	m->least_rtt_us = U32_MAX;
	m->rtt_count = 0;
	m->timed_out = 0;
	m->app_limited = 0;
	m->marked = 0;
}

/* A connection begins at @now. */
static inline void ndm_measure_init(struct ndm_measure *m,
				    const struct ndm_reading *now)
{
	*m = (struct ndm_measure) {
		.min_rtt_stamp_us = now->now_us,
		.rate_stamp_us = now->now_us,
		.plasticity = NDM_PLASTICITY_START,
	};
	ndm_interval_begin(m, now);
}

/* One RTT sample. */
static inline void ndm_measure_rtt(struct ndm_measure *m, u32 rtt_us)
{
	u32 bounded_us = min_t(u32, rtt_us, NDM_RTT_MAX_US);

	/*
	 * Keep the sum below 2^32: halve it above 2^31, as a sample is at most
	 * 2^30. Half of sum and count has the same mean; an odd count first
	 * loses one sample as large as the mean.
	 */
	if (m->rtt_sum_us > 1U << 31 || m->rtt_count == U16_MAX) {
		if (m->rtt_count & 1)
			m->rtt_sum_us -= m->rtt_sum_us / m->rtt_count;
		m->rtt_sum_us >>= 1;
		m->rtt_count >>= 1;
	}
	m->rtt_sum_us += bounded_us;
	if (m->rtt_count % NDM_RTT_GROUP == 0) {
		m->least_rtt_us = min_t(u32, m->least_rtt_us, m->low_rtt_us);
		m->low_rtt_us = bounded_us;
	} else if (bounded_us < m->low_rtt_us) {
		m->low_rtt_us = bounded_us;
	}
	m->rtt_count++;
}

/*
 * Nothing was outstanding for @idle_us; the interval excludes this time. Its packets are
 * sent into an empty path from now on.
 */
static inline void ndm_measure_idle(struct ndm_measure *m, u32 now_us,
				    u32 idle_us)
{
	m->start_us += min_t(u32, idle_us, now_us - m->start_us);
	m->start_inflight = 0;
}

/* A retransmission time-out. */
static inline void ndm_measure_timeout(struct ndm_measure *m)
{
	m->timed_out = 1;
}

/* The network has signalled congestion without a loss. */
static inline void ndm_measure_mark(struct ndm_measure *m)
{
	m->marked = 1;
}

/* The losses of this interval were no sign of congestion. @lost: the counter now */
static inline void ndm_measure_forget_losses(struct ndm_measure *m, u32 lost)
{
	m->start_lost = lost;
}

/*
 * Takes back the losses of the last recovery, which was spurious. They are in this
 * interval or in the one that has just been closed.
 */
static inline void ndm_measure_undo(struct ndm_measure *m, u32 lost)
{
	ndm_measure_forget_losses(m, lost);
	m->loss_ring &= ~1;
	m->timed_out = 0;
}

/*
 * Whether the interval is over: a packet sent after its start was delivered (a
 * packet-timed round trip) and NDM_INTERVAL_MIN_US have passed.
 * @prior_delivered: packets delivered when the newest acknowledged packet was sent
 */
static inline bool ndm_interval_over(const struct ndm_measure *m, u32 now_us,
				     u32 prior_delivered)
{
	return (s32)(prior_delivered - m->start_delivered) >= 0 &&
	       now_us - m->start_us >= NDM_INTERVAL_MIN_US;
}

/* The RTT of the path without a queue: below 2^34. */
static inline u64 ndm_explained_rtt_us(const struct ndm_measure *m)
{
	return (u64)m->min_rtt_us + m->wait_us;
}

/* Whether the mean RTT has risen since the last interval. @gradient: Q12 */
static inline bool ndm_rising(const struct ndm_measure *m, s32 gradient)
{
	u64 wait = div_u64((u64)m->wait_us << (NDM_FEATURE_FRAC + 1),
			   max_t(u32, m->min_rtt_us, 1));

	return gradient > (s64)(NDM_RISING_GRADIENT + wait);
}

/* What is left of an RTT without the wait. */
static inline u32 ndm_without_wait_us(const struct ndm_measure *m, u32 rtt_us)
{
	return rtt_us - min_t(u32, rtt_us, m->wait_us);
}

/*
 * Whether the interval ends early, as the RTT of the last NDM_RTT_GROUP samples has become
 * more than twice the explained one: the link has become slower. Once, because the next
 * decision's effect shows a round trip later.
 */
static inline bool ndm_interval_early(const struct ndm_measure *m, u32 now_us)
{
	u64 limit_us;

	if (!m->rtt_count)
		return false;
	limit_us = 2 * ndm_explained_rtt_us(m);
	return m->low_rtt_us > limit_us && m->last_rtt_us <= limit_us &&
	       m->last_rtt_us && !m->early &&
	       now_us - m->start_us >= NDM_INTERVAL_MIN_US;
}

/* Whether an ACK ends the interval. @starting: in slow start it does not end early */
static inline bool ndm_interval_ended(struct ndm_measure *m, u32 now_us,
				      u32 prior_delivered, bool starting)
{
	if (m->rtt_count % NDM_RTT_GROUP == 0 && !starting &&
	    ndm_interval_early(m, now_us)) {
		m->early = 1;
		return true;
	}
	if (!ndm_interval_over(m, now_us, prior_delivered))
		return false;
	m->early = 0;
	return true;
}

/* a / b as Q12 in [0, @limit]; a < 2^40, so that a << 12 fits. 0 / 0 is 0. */
static inline s16 ndm_ratio(u64 a, u64 b, s16 limit)
{
	if (!b)
		return a ? limit : 0;
	return min_t(u64, div64_u64(a << NDM_FEATURE_FRAC, b), limit);
}

/* The share of losses beyond twice the path's @own; one that exists is not rounded to 0. */
static inline s16 ndm_loss_rate(u32 lost, u32 delivered, u16 own)
{
	s16 share = ndm_ratio(lost, (u64)lost + delivered, NDM_ONE);

	if (lost && !share)
		share = 1;
	return max_t(s32, share - 2 * own, 0);
}

/*
 * Shannon entropy of the 16 nibbles of @ring over log2(16): Q12 in [0, 1]. @floor: filled
 * with the smallest nibble
 */
static inline s16 ndm_delay_entropy(u64 ring, u8 *floor)
{
	u8 count[16] = {};
	u32 sum = 0;
	int i;

	for (i = 0; i < NDM_ENTROPY_SAMPLES; i++)
		count[ring >> (4 * i) & 15]++;
	for (i = 0; i < 16; i++)
		sum += ndm_plogp_table[count[i]];
	for (i = 0; i < 15 && !count[i]; i++)
		;
	*floor = i;
	/* At most 16 * 1024 (each bin once) = 4.0; rounded entries add less than 16. */
	return min_t(u32, sum / 4, NDM_ONE);
}

/* Updates the filtered minimum RTT with @srtt_us. */
static inline void ndm_min_rtt_update(struct ndm_measure *m, u32 now_us,
				      u32 srtt_us)
{
	if (!srtt_us)
		return;
	if (!m->next_min_rtt_us || srtt_us < m->next_min_rtt_us)
		m->next_min_rtt_us = srtt_us;
	if (!m->min_rtt_us || srtt_us < m->min_rtt_us)
		m->min_rtt_us = srtt_us;
	if (now_us - m->min_rtt_stamp_us > NDM_MIN_RTT_BUCKET_US) {
		m->min_rtt_us = m->next_min_rtt_us;
		m->next_min_rtt_us = 0;
		m->min_rtt_stamp_us = now_us;
	}
}

/*
 * Updates the maximum rate with @rate. Where the application has limited the rate, it can
 * only raise the maximum: the path may carry more (as in BBR).
 */
static inline void ndm_max_rate_update(struct ndm_measure *m, u32 now_us,
				       u32 rate)
{
	if (m->app_limited && rate <= m->max_rate)
		return;
	m->next_max_rate = max_t(u32, m->next_max_rate, rate);
	m->max_rate = max_t(u32, m->max_rate, rate);
	if (m->rate_intervals < NDM_RATE_BUCKET_INTERVALS)
		m->rate_intervals++;
	if (m->rate_intervals >= NDM_RATE_BUCKET_INTERVALS &&
	    now_us - m->rate_stamp_us > NDM_RATE_BUCKET_US) {
		m->max_rate = m->next_max_rate;
		m->next_max_rate = 0;
		m->rate_intervals = 0;
		m->rate_stamp_us = now_us;
	}
}

/*
 * Whether the link has become faster: an interval with a rate larger than all before, by
 * 1/NDM_FASTER_STEP, and a next one with no less than that, by the same tolerance, both
 * without a queue, and without a loss then or shortly before. Slow start finds the new rate
 * sooner than the policy. @lost: of the interval
 */
static inline bool ndm_faster(struct ndm_measure *m, u32 rate, u32 rtt_us, u32 lost)
{
	u32 step = m->max_rate / NDM_FASTER_STEP;
	bool before = m->faster;

	m->faster = 0;
	if (lost || m->loss_ring & ((1 << NDM_FASTER_AFTER) - 1) || m->app_limited ||
	    !m->max_rate || !rtt_us ||
	    ndm_without_wait_us(m, rtt_us) > m->min_rtt_us + m->min_rtt_us / 8)
		return false;
	if (before && rate >= m->max_rate - step)
		return true;
	m->faster = rate >= (u64)m->max_rate + step;
	return false;
}

static inline void ndm_plasticity_update(struct ndm_measure *m, bool loss)
{
	u32 plasticity = m->plasticity;

	if (loss)
		plasticity += NDM_PLASTICITY_LOSS;
	if (m->timed_out)
		plasticity += NDM_PLASTICITY_TIMEOUT;
	if (!loss && !m->timed_out)	/* at most 2^12 * 2^16 */
		plasticity = plasticity * NDM_PLASTICITY_DECAY >> 16;
	m->plasticity = min_t(u32, plasticity, NDM_ONE);
}

/* The mean RTT of the interval; 0 without a sample. */
static inline u32 ndm_mean_rtt(const struct ndm_measure *m)
{
	return m->rtt_count ? max_t(u32, m->rtt_sum_us / m->rtt_count, 1) : 0;
}

/* The smallest RTT of the interval; U32_MAX without a sample. */
static inline u32 ndm_least_rtt_us(const struct ndm_measure *m)
{
	return min_t(u32, m->least_rtt_us, m->low_rtt_us);
}

/*
 * The smoothed RTT of an interval with this mean RTT. Below all of the interval's samples, it
 * is that of packets before: of the SYN, for which no other packet waits.
 */
static inline u32 ndm_interval_srtt_us(const struct ndm_measure *m, u32 srtt_us, u32 rtt_us)
{
	return rtt_us && srtt_us ? max_t(u32, srtt_us, ndm_least_rtt_us(m)) : srtt_us;
}

/*
 * The RTT of rtt_ratio. The smoothed one weighs the last eight ACKs most. With a long wait
 * these are of one burst.
 */
static inline u32 ndm_shown_rtt_us(const struct ndm_measure *m, u32 srtt_us, u32 rtt_us)
{
	return rtt_us && m->wait_us > m->min_rtt_us / 8 ? rtt_us : srtt_us;
}

/*
 * Updates the wait after an interval with this mean RTT: a quarter of the way to what the
 * mean exceeds the smallest RTT by, so that single bursts change it little. While the
 * smallest RTT exceeds the last interval's mean, a growing queue varies the RTT.
 */
static inline void ndm_wait_update(struct ndm_measure *m, u32 rtt_us)
{
	u32 least_us = max_t(u32, ndm_least_rtt_us(m), m->min_rtt_us);
	u32 excess_us = min_t(u64, rtt_us - min_t(u32, rtt_us, least_us), 8ULL * m->min_rtt_us);

	if (excess_us <= m->wait_us)
		m->wait_us -= (m->wait_us - excess_us + 3) / 4;
	else if (least_us < m->last_rtt_us)
		m->wait_us += (excess_us - m->wait_us + 3) / 4;
}

/*
 * Updates minimum RTT and wait after an interval with this mean RTT. In a
 * connection's first intervals a minimum counts only when the RTT's deviation is at
 * most the RTT.
 */
static inline void ndm_rtt_update(struct ndm_measure *m,
				  const struct ndm_reading *now, u32 srtt_us,
				  u32 rtt_us, bool drained)
{
	if (m->decisions < NDM_UNSURE && now->mdev_us > srtt_us) {
		m->min_rtt_us = 0;
		m->next_min_rtt_us = 0;
	}
	/*
	 * A drain has too few packets for the smoothed RTT to follow. Where RTTs vary, they
	 * are too few for a mean, too.
	 */
	ndm_min_rtt_update(m, now->now_us,
			   drained && now->mdev_us <= srtt_us / 4 ?
				   min_t(u32, srtt_us, rtt_us) :
				   ndm_interval_srtt_us(m, srtt_us, rtt_us));
	/* The window of a drain changes the RTT within an interval. */
	if (rtt_us && !m->drain)
		ndm_wait_update(m, rtt_us);
}

/* The BDP of the path with its wait, packets with 12 fraction bits. */
static inline u64 ndm_bdp(const struct ndm_measure *m)
{
	/* Below 2^63 before the shift. */
	return ndm_explained_rtt_us(m) * m->max_rate >> (NDM_RATE_FRAC - 12);
}

/**
 * ndm_interval_close - end the interval and begin the next one
 * @m: the connection's measurements
 * @now: its clock, counters and gauges
 * @interval: filled with the interval's results
 */
static inline void ndm_interval_close(struct ndm_measure *m,
				      const struct ndm_reading *now,
				      struct ndm_interval *interval)
{
	u32 length_us = now->now_us - m->start_us;
	u32 span_us = max_t(u32, max_t(u32, length_us, now->sending_us), 1);
	u32 delivered = now->delivered - m->start_delivered;
	/* Negative when more losses were undone than occurred: then there were none. */
	u32 lost = (u32)max_t(s32, now->lost - m->start_lost, 0) + m->marked;
	u32 srtt_us = min_t(u32, now->srtt_us, NDM_RTT_MAX_US);
	u32 rtt_us = ndm_mean_rtt(m), path_us, rate;
	bool drained = m->drain == 1 && rtt_us;
	s32 entropy, gradient = 0;
	s16 *x = interval->x;
	u8 floor;

	/* delivered << 24 < 2^56; rates are capped at 256 packets/us. */
	rate = min_t(u64, div_u64((u64)delivered << NDM_RATE_FRAC, span_us), U32_MAX);
	ndm_rtt_update(m, now, srtt_us, rtt_us, drained);
	interval->before_us = m->last_rtt_us;
	interval->least_rtt_us = ndm_least_rtt_us(m);
	interval->rate = rate;
	interval->grew = rate > (u64)m->max_rate + m->max_rate / 4;
	interval->faster = ndm_faster(m, rate, rtt_us, lost);
	ndm_max_rate_update(m, now->now_us, rate);
	ndm_plasticity_update(m, lost);

	m->loss_ring = m->loss_ring << 1 | (lost ? 1 : 0);
	if (rtt_us) {
		u64 bin = clamp_t(s32,
				  ndm_quarter_octave(max_t(u32, ndm_without_wait_us(m, rtt_us), 1),
						     m->min_rtt_us),
				  0, 15);

		if (m->last_rtt_us) {
			m->delay_ring = m->delay_ring << 4 | bin;
			if (rtt_us >= m->last_rtt_us)
				gradient = ndm_ratio(rtt_us - m->last_rtt_us,
						     m->min_rtt_us, S16_MAX);
			else
				gradient = -ndm_ratio(m->last_rtt_us - rtt_us,
						      m->min_rtt_us, S16_MAX);
		} else {
			/* One sample has entropy 0: fill the ring with it. */
			m->delay_ring = bin * 0x1111111111111111ULL;
		}
		m->last_rtt_us = rtt_us;
	}

	/* 2458 + 1638 = 4096 and both entropies are at most 4096. */
	entropy = (2458 * ndm_binary_entropy_table[hweight16(m->loss_ring)] +
		   1638 * ndm_delay_entropy(m->delay_ring, &floor)) >> NDM_FEATURE_FRAC;

	path_us = ndm_without_wait_us(m, ndm_shown_rtt_us(m, srtt_us, rtt_us));
	x[NDM_IN_RTT_RATIO] = ndm_ratio(path_us - min_t(u32, path_us, m->min_rtt_us),
					m->min_rtt_us, S16_MAX);
	x[NDM_IN_ENTROPY] = entropy;
	/* Quarter octaves. */
	x[NDM_IN_QUEUE_FLOOR] = floor << (NDM_FEATURE_FRAC - 2);
	x[NDM_IN_CONGESTION] = -NDM_ONE;
	if (entropy < NDM_ENTROPY_NOISE &&
	    (lost || (ndm_rising(m, gradient) &&
		      x[NDM_IN_RTT_RATIO] > NDM_RISING_RTT_RATIO)))
		x[NDM_IN_CONGESTION] = NDM_ONE;
	x[NDM_IN_PLASTICITY] = m->plasticity;
	/* A path loses packets of its own, but marks none. */
	x[NDM_IN_LOSS_RATE] = ndm_loss_rate(lost, delivered, m->marked ? 0 : now->own);
	x[NDM_IN_RTT_VARIATION] = ndm_ratio(now->mdev_us, srtt_us, S16_MAX);
	x[NDM_IN_RTT_GRADIENT] = gradient;
	x[NDM_IN_DELIVERY_RATIO] = ndm_ratio(rate, m->max_rate, NDM_ONE);
	/* 12 fraction bits more, for BDPs of a few packets. */
	x[NDM_IN_INFLIGHT_RATIO] =
		min_t(u64, div64_u64((u64)m->start_inflight << (12 + NDM_FEATURE_FRAC),
				     max_t(u64, ndm_bdp(m), 1)),
		      S16_MAX);

	interval->length_us = length_us;
	interval->rtt_us = rtt_us;
	interval->delivered = delivered;
	interval->lost = lost;
	interval->low_rtt_us = m->low_rtt_us;
	interval->rtt_count = m->rtt_count;
	m->decisions++;
	ndm_interval_begin(m, now);
}

#endif /* NDM_FEATURES_H */
