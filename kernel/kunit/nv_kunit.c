// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of TCP-NV, one table each: results of the paper's formulas computed by
 * hand, also at the limits of their ranges.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/module.h>

#include "nv/nv.h"

#define SECOND_US 1000000U
#define MSS 1448

static const struct nv_params defaults = NV_PARAMS_DEFAULT;

/* -- the moving average of the RTT ---------------------------------------- */

struct average_case {
	const char *name;
	u32 avg_us, rtt_us, factor, expected_us;
};

static const struct average_case average_cases[] = {
	{ "first sample", 0, 40, 128, 40 },
	{ "factor 128: the mean", 100, 50, 128, 75 },
	{ "rounds down", 100, 51, 128, 75 },
	{ "factor 256: the new sample", 100, 7, 256, 7 },
	{ "factor 1", 25600, 0x100, 1, 25501 },
	{ "1 us stays 1 us", 1, 1, 128, 1 },
	{ "the average is never 0", 2, 1, 128, 1 },
	{ "10 s after 10 us", 10, 10000000, 128, 5000005 },
	{ "10 us after 10 s", 10000000, 10, 128, 5000005 },
	{ "longest RTTs", S32_MAX, S32_MAX, 128, S32_MAX },
};

KUNIT_ARRAY_PARAM_DESC(average, average_cases, name);

static void average_test(struct kunit *test)
{
	const struct average_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, nv_average_rtt(c->avg_us, c->rtt_us, c->factor),
			c->expected_us);
}

/* -- the minimum RTT and its warm reset ------------------------------------ */

struct min_rtt_step {
	u32 at_s, rtt_us, min_us, next_us;
};

struct min_rtt_case {
	const char *name;
	u32 start_us;
	struct min_rtt_step steps[6];
};

/* rtt_factor is 256, so that a sample is its own average; the period is 5 s. */
static const struct min_rtt_case min_rtt_cases[] = {
	{ "smallest of a period", 0,
	  { { 0, 50, 50, 50 }, { 1, 40, 40, 40 }, { 2, 60, 40, 40 } } },
	{ "renewed after a period", 0,
	  { { 1, 40, 40, 40 }, { 5, 60, 40, 60 }, { 6, 55, 40, 55 },
	    { 10, 70, 55, 70 }, { 11, 65, 55, 65 }, { 15, 90, 65, 90 } } },
	{ "not renewed before its end", 0,
	  { { 0, 40, 40, 40 }, { 4, 60, 40, 40 }, { 5, 60, 40, 60 } } },
	{ "kept while the flow is idle", 0,
	  { { 0, 40, 40, 40 }, { 5, 60, 40, 60 }, { 1000, 80, 60, 80 },
	    { 2000, 90, 80, 90 } } },
	{ "the clock wraps", U32_MAX - 2 * SECOND_US,
	  { { 0, 40, 40, 40 }, { 4, 50, 40, 40 }, { 5, 60, 40, 60 },
	    { 10, 70, 60, 70 } } },
};

KUNIT_ARRAY_PARAM_DESC(min_rtt, min_rtt_cases, name);

static void min_rtt_test(struct kunit *test)
{
	const struct min_rtt_case *c = test->param_value;
	const struct min_rtt_step *step = c->steps;
	struct nv_params p = defaults;
	struct nv_state nv;

	p.rtt_factor = 256;
	nv_init(&nv, c->start_us, 0);
	for (; step < c->steps + ARRAY_SIZE(c->steps) && step->rtt_us; step++) {
		nv_measure(&nv, &p, c->start_us + step->at_s * SECOND_US,
			   step->rtt_us, MSS);
		KUNIT_EXPECT_EQ(test, nv.min_rtt_us, step->min_us);
		KUNIT_EXPECT_EQ(test, nv.next_min_rtt_us, step->next_us);
	}
}

/* A single small RTT counts only as far as it changes the average. */
static void rare_min_rtt_test(struct kunit *test)
{
	struct nv_state nv;
	int i;

	nv_init(&nv, 0, 0);
	for (i = 0; i < 10; i++)
		nv_measure(&nv, &defaults, i, 100, MSS);
	nv_measure(&nv, &defaults, 10, 20, MSS);
	KUNIT_EXPECT_EQ(test, nv.min_rtt_us, 60);
}

/* -- valid measurements ----------------------------------------------------- */

struct measure_case {
	const char *name;
	s32 rtt_us;
	u32 in_flight, acks, calls, avg_us;
};

static const struct measure_case measure_cases[] = {
	{ "an RTT and bytes in flight", 40, MSS, 1, 1, 40 },
	{ "no RTT: a retransmission", -1, MSS, 1, 0, 0 },
	{ "a negative RTT", S32_MIN, MSS, 1, 0, 0 },
	{ "an RTT of 0: a coarse clock", 0, MSS, 1, 0, 0 },
	{ "nothing in flight: an RTT, no rate", 40, 0, 1, 0, 40 },
	{ "largest values", S32_MAX, U32_MAX, 1, 1, S32_MAX },
};

KUNIT_ARRAY_PARAM_DESC(measure, measure_cases, name);

static void measure_test(struct kunit *test)
{
	const struct measure_case *c = test->param_value;
	struct nv_state nv;

	nv_init(&nv, 0, 0);
	nv_measure(&nv, &defaults, 0, c->rtt_us, c->in_flight);
	KUNIT_EXPECT_EQ(test, nv.acks, c->acks);
	KUNIT_EXPECT_EQ(test, nv.calls, c->calls);
	KUNIT_EXPECT_EQ(test, nv.avg_rtt_us, c->avg_us);
	KUNIT_EXPECT_EQ(test, nv.min_rtt_us, c->avg_us);
}

static void counters_saturate_test(struct kunit *test)
{
	struct nv_state nv;
	int i;

	nv_init(&nv, 0, 0);
	for (i = 0; i < U16_MAX + 10; i++)
		nv_measure(&nv, &defaults, i, 40, MSS);
	KUNIT_EXPECT_EQ(test, nv.acks, U16_MAX);
	KUNIT_EXPECT_EQ(test, nv.calls, U16_MAX);
	for (i = 0; i < U8_MAX + 10; i++) {
		struct nv_window win = { .cwnd = 100, .ssthresh = 2 };

		nv.calls = 0;
		nv_round_end(&nv, &defaults, &win, MSS, 0);
	}
	KUNIT_EXPECT_EQ(test, nv.rounds, U8_MAX);
}

/* -- the rate ---------------------------------------------------------------- */

struct rate_case {
	const char *name;
	struct nv_rate a, b;
	bool more;
};

static const struct rate_case rate_cases[] = {
	{ "more bytes in the same time", { 3000, 40 }, { 2000, 40 }, true },
	{ "the same bytes in more time", { 3000, 50 }, { 3000, 40 }, false },
	{ "equal fractions", { 6000, 80 }, { 3000, 40 }, false },
	{ "one byte of 2^32 more", { U32_MAX, 7 }, { U32_MAX - 1, 7 }, true },
	{ "one us of 2^31 less", { 9, S32_MAX - 1 }, { 9, S32_MAX }, true },
	{ "largest and smallest rate", { U32_MAX, 1 }, { 1, S32_MAX },
	  true },
};

KUNIT_ARRAY_PARAM_DESC(rate, rate_cases, name);

static void rate_test(struct kunit *test)
{
	const struct rate_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, nv_rate_exceeds(c->a, c->b), c->more);
	if (c->more)
		KUNIT_EXPECT_FALSE(test, nv_rate_exceeds(c->b, c->a));
}

/* The maximum is that since the last verdict, and its RTT is the averaged one. */
static void max_rate_test(struct kunit *test)
{
	struct nv_state nv;

	nv_init(&nv, 0, 0);
	nv_measure(&nv, &defaults, 0, 40, 10 * MSS);
	nv_measure(&nv, &defaults, 0, 60, 20 * MSS);
	nv_measure(&nv, &defaults, 0, 50, 5 * MSS);
	KUNIT_EXPECT_EQ(test, nv.max_rate.bytes, 20 * MSS);
	KUNIT_EXPECT_EQ(test, nv.max_rate.rtt_us, 50);
	nv_restart_measurement(&nv);
	nv_measure(&nv, &defaults, 0, 50, MSS);
	KUNIT_EXPECT_EQ(test, nv.max_rate.bytes, MSS);
}

/* -- the target window ------------------------------------------------------- */

struct target_case {
	const char *name;
	struct nv_rate max_rate;
	u32 min_rtt_us, mss, pad, expected;
};

static const struct target_case target_cases[] = {
	{ "no queue: packets in flight plus pad",
	  { 12 * MSS, 40 }, 40, MSS, 10, 22 },
	{ "RTT twice the minimum: half of them", { 40 * MSS, 80 }, 40, MSS, 10,
	  30 },
	{ "rounds up to a packet", { 10 * MSS + 1, 40 }, 40, MSS, 10,
	  21 },
	{ "less than a packet", { 1, 40 }, 20, MSS, 3, 4 },
	{ "no measurement", { 0, 0 }, 0, MSS, 10, 0 },
	{ "no minimum yet", { MSS, 40 }, 0, MSS, 10, 0 },
	{ "no segment size", { MSS, 40 }, 40, 0, 10, 0 },
	{ "limited to u32", { U32_MAX, 1 }, S32_MAX, 1, 10, U32_MAX },
	{ "largest divisor", { U32_MAX, U32_MAX }, U32_MAX, U32_MAX, 10,
	  11 },
};

KUNIT_ARRAY_PARAM_DESC(target, target_cases, name);

static void target_test(struct kunit *test)
{
	const struct target_case *c = test->param_value;
	const struct nv_state nv = {
		.max_rate = c->max_rate,
		.min_rtt_us = c->min_rtt_us,
	};

	KUNIT_EXPECT_EQ(test, nv_max_win(&nv, c->mss, c->pad), c->expected);
}

/* -- enough measurements ------------------------------------------------------ */

struct enough_case {
	const char *name;
	u16 calls;
	u8 rounds;
	bool slow_start, enough;
};

static const struct enough_case enough_cases[] = {
	{ "60 in 2 RTTs", 60, 2, false, true },
	{ "59", 59, 200, false, false },
	{ "one RTT", 1000, 1, false, false },
	{ "slow start: 30 in 2 RTTs", 30, 2, true, true },
	{ "slow start: 29", 29, 2, true, false },
	{ "slow start: one RTT", 30, 1, true, false },
	{ "saturated counters", U16_MAX, U8_MAX, false, true },
};

KUNIT_ARRAY_PARAM_DESC(enough, enough_cases, name);

static void enough_test(struct kunit *test)
{
	const struct enough_case *c = test->param_value;
	const struct nv_state nv = { .calls = c->calls, .rounds = c->rounds };

	KUNIT_EXPECT_EQ(test, nv_may_decrease(&nv, &defaults, c->slow_start),
			c->enough);
}

/* -- the decrease -------------------------------------------------------------- */

struct decrease_case {
	const char *name;
	u32 cwnd, max_win, mult, floor, expected;
};

static const struct decrease_case decrease_cases[] = {
	{ "38/128 of the excess", 300, 100, 38, 10, 241 },
	{ "at least 2", 101, 100, 38, 10, 99 },
	{ "all of the excess", 300, 100, 128, 10, 100 },
	{ "not below the floor", 12, 11, 38, 11, 11 },
	{ "stays at the floor", 10, 1, 128, 10, 10 },
	{ "not raised to the floor", 5, 2, 128, 10, 5 },
	{ "never 0", 2, 1, 128, 2, 2 },
	{ "largest cwnd", U32_MAX, 0, 128, 2, 2 },
	{ "largest cwnd, 38/128", U32_MAX, 0, 38, 2, 3019898880U },
};

KUNIT_ARRAY_PARAM_DESC(decrease, decrease_cases, name);

static void decrease_test(struct kunit *test)
{
	const struct decrease_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test,
			nv_decreased_cwnd(c->cwnd, c->max_win, c->mult,
					  c->floor),
			c->expected);
}

/* -- ssthresh ------------------------------------------------------------------- */

struct ssthresh_case {
	const char *name;
	u32 max_win, factor, expected;
};

static const struct ssthresh_case ssthresh_cases[] = {
	{ "8: the target window", 40, 8, 40 },
	{ "4: half of it", 41, 4, 20 },
	{ "16: twice", 40, 16, 80 },
	{ "at least 2", 1, 1, 2 },
	{ "at most the infinite ssthresh", U32_MAX, 255, NV_SSTHRESH_MAX },
};

KUNIT_ARRAY_PARAM_DESC(ssthresh, ssthresh_cases, name);

static void ssthresh_test(struct kunit *test)
{
	const struct ssthresh_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, nv_congestion_ssthresh(c->max_win, c->factor),
			c->expected);
}

struct loss_case {
	const char *name;
	u32 cwnd, factor, expected;
};

static const struct loss_case loss_cases[] = {
	{ "half", 40, 512, 20 },
	{ "a quarter", 40, 256, 10 },
	{ "rounds down", 41, 512, 20 },
	{ "at least 2", 3, 512, 2 },
	{ "one packet", 1, 1, 2 },
	{ "largest factor", 1024, 1023, 1023 },
	{ "largest cwnd", U32_MAX, 1023, 4290772991U },
};

KUNIT_ARRAY_PARAM_DESC(loss, loss_cases, name);

static void loss_test(struct kunit *test)
{
	const struct loss_case *c = test->param_value;
	struct nv_params p = defaults;

	p.loss_dec_factor = c->factor;
	KUNIT_EXPECT_EQ(test, nv_loss_ssthresh(c->cwnd, &p), c->expected);
}

/* -- growth ----------------------------------------------------------------------- */

struct growth_case {
	const char *name;
	u32 factor;
	u32 steps[9];	/* packets a round trip */
};

static const struct growth_case growth_cases[] = {
	{ "0: linear", 0, { 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ "1: doubled every 2", 1, { 1, 1, 2, 2, 4, 4, 8, 8, 16 } },
	{ "2: doubled every 3", 2, { 1, 1, 1, 2, 2, 2, 4, 4, 4 } },
};

KUNIT_ARRAY_PARAM_DESC(growth, growth_cases, name);

static void growth_test(struct kunit *test)
{
	const struct growth_case *c = test->param_value;
	struct nv_params p = defaults;
	struct nv_state nv;
	int i;

	p.cwnd_growth_factor = c->factor;
	nv_init(&nv, 0, 0);
	nv_allow_growth(&nv, &p, true);	/* slow start does not count */
	for (i = 0; i < ARRAY_SIZE(c->steps); i++) {
		nv_allow_growth(&nv, &p, false);
		KUNIT_EXPECT_EQ(test, nv_growth_acks(&nv, 4096),
				4096 / c->steps[i]);
	}
	for (i = 0; i < 100; i++)
		nv_allow_growth(&nv, &p, false);
	KUNIT_EXPECT_LE(test, nv.growth_shift, NV_GROWTH_SHIFT_MAX);
	KUNIT_EXPECT_GE(test, nv_growth_acks(&nv, 1), 1);
	/* congestion */
	nv_change_owner(&nv, 0);
	nv_allow_growth(&nv, &p, false);
	KUNIT_EXPECT_EQ(test, nv_growth_acks(&nv, 4096), 4096);
}

/* -- the verdict at the end of a round trip ------------------------------------------ */

struct round_case {
	const char *name;
	struct nv_window win;
	u16 acks, calls;
	u8 rounds;		/* before this one */
	u8 growth;		/* before */
	u32 bdp;		/* packets at max_rate and min_rtt */
	struct nv_window expected;
	u8 expected_growth;
	bool afresh;		/* a verdict was made */
};

static const struct round_case round_cases[] = {
	{ "below: grows at once", { 47, 2 }, 2, 2, 0, 0, 40, { 47, 2 }, 1,
	  true },
	{ "within pad_buffer: holds", { 48, 2 }, 50, 50, 0, 1, 40, { 48, 2 },
	  0, true },
	{ "at the target: holds", { 50, 2 }, 50, 50, 0, 1, 40, { 50, 2 }, 0,
	  true },
	{ "above: decreases", { 90, 2 }, 60, 60, 1, 1, 40, { 79, 50 }, 0,
	  true },
	{ "above, few measurements: waits", { 90, 2 }, 59, 59, 1, 1, 40,
	  { 90, 2 }, 1, false },
	{ "above, waiting: growth stays off", { 90, 2 }, 59, 59, 1, 0, 40,
	  { 90, 2 }, 0, false },
	{ "above, first RTT: waits", { 90, 2 }, 60, 60, 0, 1, 40, { 90, 2 }, 1,
	  false },
	{ "slow start: decreases earlier", { 90, 1000 }, 30, 30, 1, 1, 40, { 79, 50 }, 0,
	  true },
	{ "slow start: grows", { 30, 1000 }, 30, 30, 0, 1, 40, { 30, 1000 }, 1,
	  true },
	{ "one ACK: grows, no verdict", { 90, 2 }, 1, 100, 5, 0, 40, { 90, 2 },
	  1, false },
	{ "nothing measured: no change", { 90, 2 }, 5, 0, 5, 1, 0, { 90, 2 }, 1,
	  false },
	{ "not below min_cwnd", { 12, 2 }, 60, 60, 1, 1, 1, { 10, 11 }, 0, true },
};

KUNIT_ARRAY_PARAM_DESC(round, round_cases, name);

static void round_test(struct kunit *test)
{
	const struct round_case *c = test->param_value;
	struct nv_window win = c->win;
	struct nv_state nv;

	nv_init(&nv, 0, 0);
	nv.min_rtt_us = 40;
	nv.max_rate = (struct nv_rate) { c->bdp * MSS, c->bdp ? 40 : 0 };
	nv.acks = c->acks;
	nv.calls = c->calls;
	nv.rounds = c->rounds;
	nv.growth = c->growth;
	nv.growth_shift = 3;
	nv_round_end(&nv, &defaults, &win, MSS, 0);
	KUNIT_EXPECT_EQ(test, win.cwnd, c->expected.cwnd);
	KUNIT_EXPECT_EQ(test, win.ssthresh, c->expected.ssthresh);
	KUNIT_EXPECT_EQ(test, nv.growth, c->expected_growth);
	KUNIT_EXPECT_EQ(test, nv.max_rate.bytes,
			c->afresh ? 0 : c->bdp * MSS);
	KUNIT_EXPECT_EQ(test, nv.calls, c->afresh ? 0 : c->calls);
	KUNIT_EXPECT_EQ(test, nv.rounds, c->afresh ? 0 : c->rounds + 1);
	if (win.cwnd < c->win.cwnd)
		KUNIT_EXPECT_EQ_MSG(test, nv.growth_shift, 0,
				    "growth is linear after congestion");
}

struct boundary_case {
	const char *name;
	u32 end_seq, snd_una;
	bool over;
};

static const struct boundary_case boundary_cases[] = {
	{ "data sent before the round", 1000, 1000, false },
	{ "first byte of the round", 1000, 1001, true },
	{ "sequence numbers wrap", U32_MAX, 1, true },
	{ "sequence numbers wrap, before the round", 1, U32_MAX, false },
};

KUNIT_ARRAY_PARAM_DESC(boundary, boundary_cases, name);

static void boundary_test(struct kunit *test)
{
	const struct boundary_case *c = test->param_value;
	struct nv_state nv;

	nv_init(&nv, 0, c->end_seq);
	KUNIT_EXPECT_EQ(test, nv_round_is_over(&nv, c->snd_una), c->over);
}

/* -- the kernel takes or returns the window -------------------------------------------- */

static void change_owner_test(struct kunit *test)
{
	struct nv_state nv;

	nv_init(&nv, 7, 0);
	nv_measure(&nv, &defaults, 7, 40, MSS);
	nv.rounds = 3;
	nv.growth = 0;
	nv.growth_shift = 3;
	nv.probe_rounds = 2;
	nv_change_owner(&nv, 5000);
	KUNIT_EXPECT_EQ(test, nv.max_rate.bytes, 0);
	KUNIT_EXPECT_EQ(test, nv.calls, 0);
	KUNIT_EXPECT_EQ(test, nv.rounds, 0);
	KUNIT_EXPECT_EQ(test, nv.acks, 0);
	KUNIT_EXPECT_EQ(test, nv.round_end_seq, 5000);
	KUNIT_EXPECT_EQ(test, nv.growth, 1);
	KUNIT_EXPECT_EQ(test, nv.growth_shift, 0);
	KUNIT_EXPECT_EQ(test, nv.probe_rounds, 0);
	KUNIT_EXPECT_EQ_MSG(test, nv.min_rtt_us, 40, "the path is the same");
}

/* -- the temporary decrease --------------------------------------------------------------- */

struct probe_case {
	const char *name;
	u32 delta, factor, cwnd, ssthresh, during;	/* during 0: none */
};

static const struct probe_case probe_cases[] = {
	{ "off by default", 0, 8, 100, 2, 0 },
	{ "off for 0 RTTs", 0, 4, 100, 2, 0 },
	{ "off with dec_factor 8", 3, 8, 100, 2, 0 },
	{ "to 5/8 for 3 RTTs", 3, 5, 100, 2, 62 },
	{ "to 4/8 for one RTT", 1, 4, 100, 2, 50 },
	{ "not below min_cwnd", 3, 1, 40, 2, 10 },
	{ "not at min_cwnd", 3, 1, 10, 2, 0 },
	{ "not in slow start", 3, 4, 100, 1000, 0 },
	{ "largest cwnd", 255, 7, U32_MAX, 2, 3758096383U },
};

KUNIT_ARRAY_PARAM_DESC(probe, probe_cases, name);

static void probe_test(struct kunit *test)
{
	const struct probe_case *c = test->param_value;
	struct nv_window win = { .cwnd = c->cwnd, .ssthresh = c->ssthresh };
	struct nv_params p = defaults;
	struct nv_state nv;
	int round;

	p.rtt_cnt_inc_delta = c->delta;
	p.dec_factor = c->factor;
	nv_init(&nv, 0, 0);
	for (round = 0; round < 3; round++) {
		/* random = 0 waits for one round, the minimum. */
		bool verdict = !nv_probe(&nv, &p, &win, 0);
		u32 left = c->delta;

		if (!c->during) {
			KUNIT_EXPECT_TRUE(test, verdict);
			KUNIT_EXPECT_EQ(test, win.cwnd, c->cwnd);
			continue;
		}
		while (left--) {
			KUNIT_EXPECT_FALSE(test, verdict);
			KUNIT_EXPECT_EQ(test, win.cwnd, c->during);
			KUNIT_EXPECT_EQ(test, nv.growth, 0);
			verdict = !nv_probe(&nv, &p, &win, 0);
		}
		KUNIT_EXPECT_FALSE(test, verdict);
		KUNIT_EXPECT_EQ(test, win.cwnd, c->cwnd);
	}
}

/* The cwnd is not restored if the kernel has changed it meanwhile. */
static void probe_changed_by_kernel_test(struct kunit *test)
{
	struct nv_window win = { .cwnd = 100, .ssthresh = 2 };
	struct nv_params p = defaults;
	struct nv_state nv;

	p.rtt_cnt_inc_delta = 1;
	p.dec_factor = 4;
	nv_init(&nv, 0, 0);
	KUNIT_EXPECT_TRUE(test, nv_probe(&nv, &p, &win, 0));
	KUNIT_EXPECT_EQ(test, win.cwnd, 50);
	win.cwnd = 20;
	KUNIT_EXPECT_TRUE(test, nv_probe(&nv, &p, &win, 0));
	KUNIT_EXPECT_EQ(test, win.cwnd, 20);
}

/* The mean of all possible waits is 256 round trips. */
static void probe_wait_test(struct kunit *test)
{
	struct nv_params p = defaults;
	u64 sum = 0;
	u32 i;

	p.rtt_cnt_inc_delta = 1;
	p.dec_factor = 4;
	for (i = 0; i < NV_PROBE_WAIT_RANGE; i++) {
		struct nv_window win = { .cwnd = 100, .ssthresh = 2 };
		struct nv_state nv;
		u32 random = i * (U32_MAX / NV_PROBE_WAIT_RANGE + 1);
		u32 waited = 1;

		nv_init(&nv, 0, 0);
		while (!nv_probe(&nv, &p, &win, random) && waited < 1000)
			waited++;
		KUNIT_EXPECT_EQ(test, waited, i + 1);
		sum += waited;
	}
	KUNIT_EXPECT_EQ(test, sum, 256ULL * NV_PROBE_WAIT_RANGE);
}

/* -- the paper's defaults -------------------------------------------------------------------- */

static void defaults_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, defaults.pad, 10);
	KUNIT_EXPECT_EQ(test, defaults.pad_buffer, 2);
	KUNIT_EXPECT_EQ(test, defaults.reset_period, 5);
	KUNIT_EXPECT_EQ(test, defaults.min_cwnd, 10);
	KUNIT_EXPECT_EQ(test, defaults.dec_eval_min_calls, 60);
	KUNIT_EXPECT_EQ(test, defaults.ssthresh_eval_min_calls, 30);
	KUNIT_EXPECT_EQ(test, defaults.rtt_min_cnt, 2);
	KUNIT_EXPECT_EQ(test, defaults.cong_decrease_mult, 38);
	KUNIT_EXPECT_EQ(test, defaults.ssthresh_factor, 8);
	KUNIT_EXPECT_EQ(test, defaults.rtt_factor, 128);
	KUNIT_EXPECT_EQ(test, defaults.rtt_cnt_inc_delta, 0);
	KUNIT_EXPECT_EQ(test, defaults.dec_factor, 8);
	KUNIT_EXPECT_EQ(test, defaults.loss_dec_factor, 512);
	KUNIT_EXPECT_EQ(test, defaults.cwnd_growth_factor, 0);
}

static struct kunit_case nv_cases[] = {
	KUNIT_CASE(defaults_test),
	KUNIT_CASE_PARAM(average_test, average_gen_params),
	KUNIT_CASE_PARAM(min_rtt_test, min_rtt_gen_params),
	KUNIT_CASE(rare_min_rtt_test),
	KUNIT_CASE_PARAM(measure_test, measure_gen_params),
	KUNIT_CASE(counters_saturate_test),
	KUNIT_CASE_PARAM(rate_test, rate_gen_params),
	KUNIT_CASE(max_rate_test),
	KUNIT_CASE_PARAM(target_test, target_gen_params),
	KUNIT_CASE_PARAM(enough_test, enough_gen_params),
	KUNIT_CASE_PARAM(decrease_test, decrease_gen_params),
	KUNIT_CASE_PARAM(ssthresh_test, ssthresh_gen_params),
	KUNIT_CASE_PARAM(loss_test, loss_gen_params),
	KUNIT_CASE_PARAM(growth_test, growth_gen_params),
	KUNIT_CASE_PARAM(round_test, round_gen_params),
	KUNIT_CASE_PARAM(boundary_test, boundary_gen_params),
	KUNIT_CASE(change_owner_test),
	KUNIT_CASE_PARAM(probe_test, probe_gen_params),
	KUNIT_CASE(probe_changed_by_kernel_test),
	KUNIT_CASE(probe_wait_test),
	{}
};

static struct kunit_suite nv_suite = {
	.name = "nv",
	.test_cases = nv_cases,
};

kunit_test_suite(nv_suite);

MODULE_DESCRIPTION("KUnit tests of TCP-NV");
MODULE_LICENSE("GPL");
