/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the inputs of ndm_features.h must come to: from the history of the
 * connection instead of its running state, in 128 bits and, where the header
 * has tables, in floating point. An input that is missing here is checked for
 * its limits alone (features_fuzz.c).
 */
#ifndef NDM_FUZZ_EXACT_FEATURES_H
#define NDM_FUZZ_EXACT_FEATURES_H

#include <math.h>
#include <string.h>

#include "ndm/ndm_drain.h"
#include "ndm/ndm_features.h"
#include "require.h"

/* More than any RTT: there was none. Of rates, 0 says the same. */
#define EXACT_NO_RTT ((u64)1 << 32)

/* The best of a span of time and of the one before it. */
struct exact_window {
	u64 current, previous;
	u32 stamp_us;
	u32 intervals;
};

struct exact_connection {
	struct ndm_reading begin;	/* of the interval */
	struct exact_window min_rtt, max_rate;
	u64 rtt_sum_us, rtt_count;	/* of all samples of the interval */
	u32 least_rtt_us, most_rtt_us;	/* of them */
	u32 last_rtt_us;
	u32 plasticity;
	u32 decisions;
	u64 wait_us;
	bool loss[16];			/* newest first */
	u8 delay[16];			/* quarter octaves, newest first */
	u8 drain;			/* intervals that are left of one */
	u64 flat_us;			/* RTT of a drain that changed nothing; 0: none */
	bool faster;			/* the last interval was, than all before */
	bool timed_out, marked, app_limited;
};

static inline void exact_begin(struct exact_connection *c,
			       const struct ndm_reading *now)
{
	c->begin = *now;
	c->rtt_sum_us = 0;
	c->rtt_count = 0;
	c->timed_out = false;
	c->marked = false;
	c->app_limited = false;
}

static inline void exact_init(struct exact_connection *c,
			      const struct ndm_reading *now)
{
	*c = (struct exact_connection) {
		.min_rtt = { EXACT_NO_RTT, EXACT_NO_RTT, now->now_us, 0 },
		.max_rate = { 0, 0, now->now_us, 0 },
		.plasticity = 1229,
	};
	exact_begin(c, now);
}

static inline void exact_rtt(struct exact_connection *c, u32 rtt_us)
{
	rtt_us = rtt_us < 1073741824 ? rtt_us : 1073741824;
	if (!c->rtt_count || rtt_us < c->least_rtt_us)
		c->least_rtt_us = rtt_us;
	if (!c->rtt_count || rtt_us > c->most_rtt_us)
		c->most_rtt_us = rtt_us;
	c->rtt_sum_us += rtt_us;
	c->rtt_count++;
}

/*
 * The mean of the samples, where 32 bits hold their sum. Of more the older ones
 * count less: it is a mean of them all the same.
 */
static inline void check_rtt(const struct exact_connection *c, u32 rtt_us)
{
	u64 mean_us;

	if (!c->rtt_count) {
		REQUIRE(!rtt_us);
		return;
	}
	REQUIRE(rtt_us >= 1 && rtt_us + 1 >= c->least_rtt_us);
	REQUIRE(rtt_us == 1 || rtt_us <= c->most_rtt_us);
	mean_us = c->rtt_sum_us / c->rtt_count;
	REQUIRE(c->rtt_sum_us > 2147483648 || c->rtt_count > 65535 ||
		rtt_us == (mean_us ? mean_us : 1));
}

static inline void exact_undo(struct exact_connection *c, u32 lost)
{
	c->begin.lost = lost;
	c->loss[0] = false;
	c->timed_out = false;
}

static inline void exact_idle(struct exact_connection *c, u32 now_us,
			      u32 idle_us)
{
	u32 passed_us = now_us - c->begin.now_us;

	c->begin.now_us += idle_us < passed_us ? idle_us : passed_us;
	c->begin.inflight = 0;
}

static inline void exact_renew(struct exact_window *w, u32 now_us, u64 none)
{
	w->previous = w->current;
	w->current = none;
	w->stamp_us = now_us;
	w->intervals = 0;
}

/* The filtered minimum RTT, 0 for none, after one more smoothed RTT. */
static inline u32 exact_min_rtt(struct exact_window *w, u32 now_us, u32 srtt_us)
{
	u64 least;

	if (srtt_us && srtt_us < w->current)
		w->current = srtt_us;
	if (srtt_us && now_us - w->stamp_us > 30000000)
		exact_renew(w, now_us, EXACT_NO_RTT);
	least = w->current < w->previous ? w->current : w->previous;
	return least < EXACT_NO_RTT ? least : 0;
}

/* Whether a queue is an eighth of the minimum RTT, rounded down, or 16 ms. */
static inline bool exact_is_queue(s64 queue_us, s64 min_rtt_us)
{
	return 8 * queue_us + 7 >= min_rtt_us || queue_us >= 16000;
}

/*
 * A drain is over: of these mean RTTs before and in it, and of this smallest RTT in it. One that
 * changed nothing has found a longer route: at once within an eighth of the known one, else where
 * the next one finds the same RTT. Returns whether it is at least twice as long.
 */
static inline bool exact_route(struct exact_connection *c, u32 now_us, s64 before_us, s64 rtt_us,
			       u64 least_us, u64 min_rtt_us)
{
	u64 known_us = c->flat_us, small_us = least_us;

	c->flat_us = 0;
	if (rtt_us < before_us - before_us / 32 || least_us <= min_rtt_us + min_rtt_us / 32)
		return false;
	if (known_us && known_us < small_us)
		small_us = known_us;
	if (exact_is_queue(least_us - min_rtt_us, min_rtt_us)) {
		u64 large_us = known_us > least_us ? known_us : least_us;

		if (!known_us || large_us > small_us + small_us / 64) {
			c->flat_us = least_us;
			return false;
		}
	}
	c->min_rtt = (struct exact_window) { small_us, small_us, now_us, 0 };
	return small_us / 2 >= min_rtt_us;
}

/* What is left of an RTT without the wait for other packets. */
static inline u32 exact_without_wait(const struct exact_connection *c, u32 rtt_us)
{
	return rtt_us > c->wait_us ? rtt_us - c->wait_us : 0;
}

/*
 * The wait goes a quarter of the way to what the mean RTT exceeds the smallest one by, rounded
 * up; not up where the smallest one shows a queue that grows.
 */
static inline void exact_wait(struct exact_connection *c, u64 rtt_us, u64 min_rtt_us)
{
	u64 least_us = c->least_rtt_us > min_rtt_us ? c->least_rtt_us : min_rtt_us;
	u64 goal_us = rtt_us > least_us ? rtt_us - least_us : 0;

	if (goal_us > 8 * min_rtt_us)
		goal_us = 8 * min_rtt_us;
	if (goal_us < c->wait_us)
		c->wait_us = (3 * c->wait_us + goal_us) / 4;
	else if (goal_us > c->wait_us && least_us < c->last_rtt_us)
		c->wait_us = (3 * c->wait_us + goal_us + 3) / 4;
}

/* The minimum RTT after an interval of this mean RTT. */
static inline u32 exact_rtt_update(struct exact_connection *c,
				   const struct ndm_reading *now, u32 srtt_us,
				   u32 rtt_us)
{
	bool drained = c->drain == 1 && rtt_us;
	bool steady = now->mdev_us <= srtt_us / 4;
	u32 least_us = srtt_us, min_rtt_us;

	if (drained && steady)
		least_us = rtt_us < srtt_us ? rtt_us : srtt_us;
	else if (rtt_us && srtt_us && srtt_us < c->least_rtt_us)
		least_us = c->least_rtt_us;
	if (c->decisions < 8 && now->mdev_us > srtt_us) {
		c->min_rtt.current = EXACT_NO_RTT;
		c->min_rtt.previous = EXACT_NO_RTT;
	}
	min_rtt_us = exact_min_rtt(&c->min_rtt, now->now_us, least_us);
	if (rtt_us && !c->drain)
		exact_wait(c, rtt_us, min_rtt_us);
	return min_rtt_us;
}

/* The maximum rate after one more. A rate that the application has limited only raises it. */
static inline u32 exact_max_rate(struct exact_window *w, u32 now_us, u32 rate,
				 bool app_limited)
{
	u32 known = w->current > w->previous ? w->current : w->previous;

	if (app_limited && rate <= known)
		return known;
	if (rate > w->current)
		w->current = rate;
	w->intervals++;
	if (w->intervals >= 10 && now_us - w->stamp_us > 200000)
		exact_renew(w, now_us, 0);
	return w->current > w->previous ? w->current : w->previous;
}

/* Whether an interval keeps the rate of one before that was faster than all others. */
static inline bool exact_faster(struct exact_connection *c, u64 rate, u32 rtt_us,
				u32 min_rtt_us, u32 lost)
{
	u64 known = c->max_rate.current > c->max_rate.previous ? c->max_rate.current :
								 c->max_rate.previous;
	bool fast = known && rtt_us && !lost && !memchr(c->loss, true, 8) && !c->app_limited &&
		    exact_without_wait(c, rtt_us) <= min_rtt_us + (u64)min_rtt_us / 8;
	bool faster = fast && c->faster && rate + known / 20 >= known;

	c->faster = fast && !faster && rate >= known + known / 20;
	return faster;
}

/* a / b with 12 fraction bits, at most @limit. */
static inline s64 exact_ratio(unsigned __int128 a, unsigned __int128 b,
			      u32 limit)
{
	unsigned __int128 ratio;

	if (!b)
		return a ? limit : 0;
	ratio = a * 4096 / b;
	return ratio < limit ? (s64)ratio : limit;
}

/* -p log2 p of p = k / 16. */
static inline double exact_plogp(unsigned int k)
{
	static double known[17];

	if (k && k < 16 && !known[k])
		known[k] = -log2(k / 16.0) * k / 16;
	return known[k];
}

static inline double exact_entropy(const struct exact_connection *c)
{
	unsigned int count[16] = {}, losses = 0, i;
	double delay = 0;

	for (i = 0; i < 16; i++) {
		losses += c->loss[i];
		count[c->delay[i]]++;
	}
	for (i = 0; i < 16; i++)
		delay += exact_plogp(count[i]);
	return 0.6 * (exact_plogp(losses) + exact_plogp(16 - losses)) +
	       0.4 * delay / 4;
}

/*
 * The quarter octave of @rtt_us above @min_rtt_us must be @bin; at its very
 * ends the thresholds of ndm_quarter_octave() are off by 5e-10.
 */
static inline void check_bin(u32 rtt_us, u32 min_rtt_us, u8 bin)
{
	double quarters = 4 * log2((double)rtt_us / (min_rtt_us ?: 1));

	REQUIRE(bin <= 15);
	REQUIRE(bin == 0 || quarters > bin - 1e-8);
	REQUIRE(bin == 15 || quarters < bin + 1 + 1e-8);
}

/* The histories take in a mean RTT, and the gradient is returned. */
static inline s64 exact_delay(struct exact_connection *c, u32 rtt_us,
			      u32 min_rtt_us, u8 bin)
{
	s64 gradient = 0;

	if (c->last_rtt_us) {
		memmove(c->delay + 1, c->delay, 15);
		c->delay[0] = bin;
		if (rtt_us < c->last_rtt_us)
			gradient = -exact_ratio(c->last_rtt_us - rtt_us,
						min_rtt_us, 32767);
		else
			gradient = exact_ratio(rtt_us - c->last_rtt_us,
					       min_rtt_us, 32767);
	} else {
		memset(c->delay, bin, 16);
	}
	c->last_rtt_us = rtt_us;
	return gradient;
}

static inline void exact_plasticity(struct exact_connection *c, bool lost)
{
	if (lost || c->timed_out)
		c->plasticity += 410 * lost + 819 * c->timed_out;
	else
		c->plasticity = (u64)c->plasticity * 65208 / 65536;
	if (c->plasticity > 4096)
		c->plasticity = 4096;
}

/* The interval that @got says of has ended at @now. */
static inline void check_close(struct exact_connection *c,
			       const struct ndm_reading *now,
			       const struct ndm_interval *got)
{
	u32 length_us = now->now_us - c->begin.now_us;
	u32 delivered = now->delivered - c->begin.delivered;
	u32 lost = now->lost - c->begin.lost;
	u32 srtt_us = now->srtt_us < 1073741824 ? now->srtt_us : 1073741824;
	unsigned __int128 rate = delivered, bdp;
	u32 span_us = length_us > now->sending_us ? length_us : now->sending_us;
	u32 rtt_us = got->rtt_us, min_rtt_us, max_rate, path_us;
	const s16 *x = got->x;
	int i, floor = 15;
	s64 gradient = 0, rising, share, usual;
	u64 known;

	if (lost > 2147483647)
		lost = 0;
	lost += c->marked;
	rate = (rate << 24) / (span_us ?: 1);
	if (rate > 4294967295)
		rate = 4294967295;
	min_rtt_us = exact_rtt_update(c, now, srtt_us, rtt_us);
	known = c->max_rate.current > c->max_rate.previous ? c->max_rate.current :
							     c->max_rate.previous;
	REQUIRE(got->grew == (rate > known + known / 4));
	REQUIRE(got->faster == exact_faster(c, rate, rtt_us, min_rtt_us, lost));
	max_rate = exact_max_rate(&c->max_rate, now->now_us, rate, c->app_limited);
	exact_plasticity(c, lost);
	memmove(c->loss + 1, c->loss, 15 * sizeof(*c->loss));
	c->loss[0] = lost;

	REQUIRE(got->length_us == length_us);
	REQUIRE(got->delivered == delivered && got->lost == lost);
	REQUIRE(got->before_us == c->last_rtt_us);
	REQUIRE(got->least_rtt_us == (c->rtt_count ? c->least_rtt_us : U32_MAX));
	check_rtt(c, rtt_us);
	if (rtt_us) {
		u32 without_us = exact_without_wait(c, rtt_us) ?: 1;
		int bin = ndm_quarter_octave(without_us, min_rtt_us);

		bin = bin < 0 ? 0 : bin > 15 ? 15 : bin;
		check_bin(without_us, min_rtt_us, bin);
		gradient = exact_delay(c, rtt_us, min_rtt_us, bin);
	}

	path_us = exact_without_wait(c, rtt_us && c->wait_us > min_rtt_us / 8 ? rtt_us : srtt_us);
	REQUIRE(x[NDM_IN_RTT_RATIO] ==
		exact_ratio(path_us - (path_us < min_rtt_us ? path_us :
							      min_rtt_us),
			    min_rtt_us, 32767));
	/* Rounded: 18 entries of the tables, both weights, two quotients. */
	REQUIRE(fabs(x[NDM_IN_ENTROPY] - 4096 * exact_entropy(c)) < 4);
	REQUIRE(x[NDM_IN_ENTROPY] >= 0 && x[NDM_IN_ENTROPY] <= 4096);
	for (i = 0; i < 16; i++)
		floor = c->delay[i] < floor ? c->delay[i] : floor;
	REQUIRE(x[NDM_IN_QUEUE_FLOOR] == 1024 * floor);
	rising = 82 + 8192 * c->wait_us / (min_rtt_us ?: 1);
	REQUIRE(x[NDM_IN_CONGESTION] ==
		(x[NDM_IN_ENTROPY] < 2867 &&
				 (lost || (gradient > rising &&
					   x[NDM_IN_RTT_RATIO] > 410)) ?
			 4096 : -4096));
	REQUIRE(x[NDM_IN_PLASTICITY] == c->plasticity);
	share = exact_ratio(lost, (u64)lost + delivered, 4096) ?: !!lost;
	usual = c->marked ? 0 : 2 * now->own;
	REQUIRE(x[NDM_IN_LOSS_RATE] == (share > usual ? share - usual : 0));
	REQUIRE(x[NDM_IN_RTT_VARIATION] ==
		exact_ratio(now->mdev_us, srtt_us, 32767));
	REQUIRE(x[NDM_IN_RTT_GRADIENT] == gradient);
	REQUIRE(x[NDM_IN_DELIVERY_RATIO] == exact_ratio(rate, max_rate, 4096));
	bdp = max_rate;
	bdp = bdp * (min_rtt_us + c->wait_us) >> 12;
	REQUIRE(x[NDM_IN_INFLIGHT_RATIO] ==
		exact_ratio((u64)c->begin.inflight << 12, bdp ?: 1, 32767));
	c->decisions++;
	exact_begin(c, now);
}

#endif /* NDM_FUZZ_EXACT_FEATURES_H */
