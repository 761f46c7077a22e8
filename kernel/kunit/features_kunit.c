// SPDX-License-Identifier: GPL-2.0
/*
 * The inputs, one suite each. A story is a sequence of a connection's intervals
 * with the expected input at the end of each one, computed by hand. Q12: 4096 is 1.
 *
 * The stories call only the functions of ndm_features.h, so they do not depend on
 * its state, apart from the packets in flight at an interval's beginning.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/module.h>

#include "ndm/ndm_features.h"

#define ONE 4096
#define LIMIT 32767
#define SECOND_US 1000000U

enum event {
	NOTHING, TIMEOUT, TWO_TIMEOUTS, UNDO, TIMEOUT_UNDONE, MARK, MARK_UNDO
};

/* One or more equal intervals, and the expected input after the last one. */
struct step {
	u32 length_us;
	u32 delivered, lost;	/* in this interval, modulo 2^32 */
	u32 rtt_us, srtt_us, mdev_us;
	u32 inflight;		/* at the beginning */
	bool no_rtt;		/* without an RTT sample */
	u8 event;		/* before the end; UNDO: of all losses so far */
	u16 times;		/* number of such intervals; 0 means 1 */
	s16 x;
};

struct story {
	const char *name;
	u32 now_us, delivered, lost;	/* when the connection begins */
	struct step steps[8];		/* ends with the first one without a length */
};

struct connection {
	struct ndm_measure m;
	struct ndm_reading now;
};

static void open(struct connection *c, u32 now_us, u32 delivered, u32 lost)
{
	c->now = (struct ndm_reading) {
		.now_us = now_us,
		.delivered = delivered,
		.lost = lost,
	};
	ndm_measure_init(&c->m, &c->now);
}

static struct ndm_interval pass(struct connection *c, const struct step *s)
{
	struct ndm_interval interval;

	c->m.start_inflight = s->inflight;
	if (!s->no_rtt)
		ndm_measure_rtt(&c->m, s->rtt_us);
	if (s->event == TIMEOUT || s->event == TIMEOUT_UNDONE)
		ndm_measure_timeout(&c->m);
	if (s->event == TWO_TIMEOUTS) {
		ndm_measure_timeout(&c->m);
		ndm_measure_timeout(&c->m);
	}
	if (s->event == MARK || s->event == MARK_UNDO)
		ndm_measure_mark(&c->m);
	c->now.lost += s->lost;
	if (s->event == UNDO || s->event == TIMEOUT_UNDONE ||
	    s->event == MARK_UNDO)
		ndm_measure_undo(&c->m, c->now.lost);
	c->now.now_us += s->length_us;
	c->now.delivered += s->delivered;
	c->now.inflight = U32_MAX;	/* at the end: does not count */
	c->now.srtt_us = s->srtt_us;
	c->now.mdev_us = s->mdev_us;
	ndm_interval_close(&c->m, &c->now, &interval);
	return interval;
}

static void check_story(struct kunit *test, const struct story *story, int input)
{
	const struct step *s = story->steps;
	struct ndm_interval interval;
	struct connection c;
	int times;

	open(&c, story->now_us, story->delivered, story->lost);
	for (; s < story->steps + ARRAY_SIZE(story->steps) && s->length_us;
	     s++) {
		for (times = max_t(int, s->times, 1); times; times--)
			interval = pass(&c, s);
		KUNIT_EXPECT_EQ_MSG(test, interval.x[input], s->x,
				    "at step %d",
				    (int)(s - story->steps) + 1);
		KUNIT_EXPECT_EQ(test, interval.length_us, s->length_us);
	}
}

/* A suite of an input's stories and of further test cases. */
#define INPUT_SUITE(input, index, ...)					\
	KUNIT_ARRAY_PARAM_DESC(input, input##_stories, name);		\
	static void input##_test(struct kunit *test)			\
	{								\
		check_story(test, test->param_value, index);		\
	}								\
	static struct kunit_case input##_cases[] = {			\
		KUNIT_CASE_PARAM(input##_test, input##_gen_params),	\
		##__VA_ARGS__,						\
		{}							\
	};								\
	static struct kunit_suite input##_suite = {			\
		.name = "ndm_" #input,					\
		.test_cases = input##_cases,				\
	}

/* 41 ms with 50 packets. */
#define RTTS(rtt, srtt)							\
	.length_us = 40960, .delivered = 50, .rtt_us = (rtt), .srtt_us = (srtt)
#define CALM RTTS(40000, 40000)

/* -- rtt_ratio: srtt / min_rtt - 1 ------------------------------------------- */

#define SRTT(length, srtt, expected)					\
	{ .length_us = (length), .no_rtt = true, .srtt_us = (srtt),	\
	  .x = (expected) }

static const struct story rtt_ratio_stories[] = {
	{ "at the minimum", .steps = { SRTT(40000, 40000, 0) } },
	{ "a fifth above: 819.2", .steps = {
		SRTT(40000, 40000, 0), SRTT(40000, 48000, 819) } },
	{ "a third above: 1365.3", .steps = {
		SRTT(40000, 30000, 0), SRTT(40000, 40000, 1365) } },
	{ "twice", .steps = {
		SRTT(40000, 40000, 0), SRTT(40000, 80000, ONE) } },
	{ "one step of Q12", .steps = {
		SRTT(40000, 4096, 0), SRTT(40000, 4097, 1) } },
	{ "less than one step", .steps = {
		SRTT(40000, 4097, 0), SRTT(40000, 4098, 0) } },
	{ "the largest below the limit: 32763.9", .steps = {
		SRTT(40000, 1000, 0), SRTT(40000, 8999, 32763) } },
	{ "limited to 8", .steps = {
		SRTT(40000, 1000, 0), SRTT(40000, 9000, LIMIT),
		SRTT(40000, U32_MAX, LIMIT) } },
	{ "smallest and largest RTT", .steps = {
		SRTT(40000, 1, 0), SRTT(40000, 1 << 30, LIMIT) } },
	{ "never measured: 0 / 0", .steps = {
		SRTT(40000, 0, 0), SRTT(40000, 0, 0) } },
	{ "no longer measured", .steps = {
		SRTT(40000, 40000, 0), SRTT(40000, 0, 0),
		SRTT(40000, 48000, 819) } },
	{ "limited to 2^30 us", .steps = {
		SRTT(40000, 1 << 30, 0), SRTT(40000, U32_MAX, 0) } },
	/* It weighs an RTT from before the interval: of the SYN, say. */
	{ "a smoothed RTT below all samples is no minimum", .steps = {
		{ .length_us = 40000, .rtt_us = 48000, .srtt_us = 40000, .x = 0 },
		SRTT(40000, 60000, 1024), SRTT(40000, 40000, 0) } },
	{ "a new minimum", .steps = {
		SRTT(40000, 48000, 0), SRTT(40000, 40000, 0),
		SRTT(40000, 48000, 819) } },
	/* A minimum is valid until the end of its period of 30 s and of the next. */
	{ "renewed after 30 s", .steps = {
		SRTT(30 * SECOND_US, 40000, 0), SRTT(1, 80000, ONE),
		SRTT(30 * SECOND_US, 80000, ONE), SRTT(1, 80000, 0) } },
	{ "renewed across the clock's wrap", U32_MAX - 10 * SECOND_US, .steps = {
		SRTT(30 * SECOND_US, 40000, 0), SRTT(1, 80000, ONE),
		SRTT(30 * SECOND_US, 80000, ONE), SRTT(1, 80000, 0) } },
	{ "renewed with its period's minimum", .steps = {
		SRTT(SECOND_US, 20000, 0), SRTT(30 * SECOND_US, 60000, 8192),
		SRTT(SECOND_US, 50000, 6144), SRTT(SECOND_US, 40000, ONE),
		SRTT(29 * SECOND_US, 60000, 2048) } },
	{ "not renewed without an RTT", .steps = {
		SRTT(SECOND_US, 40000, 0), SRTT(40 * SECOND_US, 0, 0),
		SRTT(1, 80000, ONE) } },
	{ "one renewal after an idle hour", .steps = {
		SRTT(SECOND_US, 40000, 0), SRTT(3600 * SECOND_US, 80000, ONE),
		SRTT(31 * SECOND_US, 80000, 0) } },
};

/* An interval with two RTTs, and this smoothed RTT at its end. */
static struct ndm_interval pass_smoothed(struct connection *c, u32 first_us, u32 second_us,
					 u32 srtt_us)
{
	struct step step = { .length_us = 40000, .rtt_us = second_us, .srtt_us = srtt_us };

	ndm_measure_rtt(&c->m, first_us);
	return pass(c, &step);
}

/* An interval with two RTTs, whose mean is the smoothed RTT. */
static struct ndm_interval pass_two(struct connection *c, u32 first_us, u32 second_us)
{
	return pass_smoothed(c, first_us, second_us, (first_us + second_us) / 2);
}

/* As many times an interval with two RTTs. */
static void pass_times(struct connection *c, u32 first_us, u32 second_us, int times)
{
	while (times--)
		pass_two(c, first_us, second_us);
}

/* The wait goes a quarter of the way to what the mean RTT exceeds the smallest by, rounded up. */
static void wait_test(struct kunit *test)
{
	static const u32 rising[] = { 0, 0, 2500, 4375, 5782, 6837, 7628, 8221 };
	static const u32 falling[] = { 7500, 5625, 4218, 3163 };
	struct ndm_interval interval;
	struct connection c;
	int i;

	open(&c, 0, 0, 0);
	pass_two(&c, 40000, 40000);
	/* To 10 ms. */
	for (i = 0; i < ARRAY_SIZE(rising); i++) {
		KUNIT_EXPECT_EQ(test, c.m.wait_us, rising[i]);
		pass_two(&c, 60000, 40000);
	}
	/* Three quarters of the rest stay, rounded down: of 1334 us nothing after 24. */
	pass_times(&c, 60000, 40000, 24);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 10000);
	interval = pass_two(&c, 60000, 40000);
	/* It is no queue: 40 ms and 10 ms are the RTT without one. */
	KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_RTT_RATIO], 0);
	KUNIT_EXPECT_EQ(test, ndm_explained_rtt_us(&c.m), 50000);
	/* Nor is the smoothed RTT of a burst: the mean is 50 ms, too. */
	interval = pass_smoothed(&c, 60000, 40000, 90000);
	KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_RTT_RATIO], 0);
	/* A drain varies the RTT itself. */
	c.m.drain = 2;
	pass_two(&c, 50000, 50000);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 10000);
	c.m.drain = 0;
	/* A queue that stays is none. */
	for (i = 0; i < ARRAY_SIZE(falling); i++) {
		pass_two(&c, 50000, 50000);
		KUNIT_EXPECT_EQ(test, c.m.wait_us, falling[i]);
	}
	pass_times(&c, 50000, 50000, 40);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 0);
	/* Nor is one that grows. */
	pass_two(&c, 50000, 90000);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 0);
	pass_two(&c, 50000, 90000);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 5000);
}

/* Without a long wait the smoothed RTT counts. */
static void short_wait_test(struct kunit *test)
{
	struct ndm_interval interval;
	struct connection c;

	open(&c, 0, 0, 0);
	pass_two(&c, 40000, 40000);
	c.m.wait_us = 1581;
	/* The smallest RTT is no less than the last mean: the queue may grow. */
	pass_two(&c, 60000, 40000);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 1581);
	/* 90 ms - 3686 us are 40 ms * (1 + 4742.55 / 4096). */
	interval = pass_smoothed(&c, 60000, 40000, 90000);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 3686);
	KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_RTT_RATIO], 4742);
	/* An eighth of the minimum is short, more is long. */
	c.m.wait_us = 5000;
	KUNIT_EXPECT_EQ(test, ndm_shown_rtt_us(&c.m, 90000, 50000), 90000);
	c.m.wait_us = 5001;
	KUNIT_EXPECT_EQ(test, ndm_shown_rtt_us(&c.m, 90000, 50000), 50000);
	KUNIT_EXPECT_EQ(test, ndm_shown_rtt_us(&c.m, 90000, 0), 90000);
}

static void limits_of_wait_test(struct kunit *test)
{
	struct connection c;

	open(&c, 0, 0, 0);
	pass_two(&c, 40000, 40000);
	pass_two(&c, 50000, 50000);
	/* RTTs below the minimum do not count. */
	pass_two(&c, 30000, 50000);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 0);
	/* No more than eight times the minimum. */
	open(&c, 0, 0, 0);
	pass_two(&c, 1000, 1000);
	pass_times(&c, 1000, 101000, 60);
	KUNIT_EXPECT_EQ(test, c.m.wait_us, 8000);
	/* The largest RTTs. */
	open(&c, 0, 0, 0);
	pass_smoothed(&c, 1, 1, 1);
	pass_smoothed(&c, 1, NDM_RTT_MAX_US, U32_MAX);
	pass_smoothed(&c, 1, NDM_RTT_MAX_US, U32_MAX);
	KUNIT_EXPECT_LE(test, c.m.wait_us, 8);
	KUNIT_EXPECT_LE(test, ndm_explained_rtt_us(&c.m), 9);
}

INPUT_SUITE(rtt_ratio, NDM_IN_RTT_RATIO, KUNIT_CASE(wait_test), KUNIT_CASE(short_wait_test),
	    KUNIT_CASE(limits_of_wait_test));

/* -- entropy: 0.6 H2(losses) + 0.4 H(delays) / 4 ------------------------------ */

static const struct story entropy_stories[] = {
	{ "equal intervals", .steps = { { CALM, .times = 20, .x = 0 } } },
	{ "no RTT", .steps = {
		{ .length_us = 40000, .no_rtt = true, .x = 0 } } },
	/* H2(1/16) = 0.33729, H2(2/16) = 0.54356, H2(8/16) = 1, times 0.6 */
	{ "losses in 1, 2, 8, 16 of 16 intervals", .steps = {
		{ CALM, .lost = 1, .x = 829 },
		{ CALM, .lost = 9, .x = 1335 },
		{ CALM, .lost = 1, .times = 6, .x = 2458 },
		{ CALM, .lost = 1, .times = 8, .x = 0 },
		{ CALM, .times = 8, .x = 2458 },
		{ CALM, .times = 7, .x = 829 }, { CALM, .x = 0 } } },
	{ "a mark is a loss", .steps = {
		{ CALM, .event = MARK, .x = 829 } } },
	{ "undo of this interval's loss", .steps = {
		{ CALM, .lost = 1, .event = UNDO, .x = 0 } } },
	{ "undo of the last interval's loss", .steps = {
		{ CALM, .lost = 1, .x = 829 },
		{ CALM, .event = UNDO, .x = 0 } } },
	{ "no undo of an older loss", .steps = {
		{ CALM, .lost = 1, .x = 829 }, { CALM, .x = 829 },
		{ CALM, .event = UNDO, .x = 829 } } },
	/* p log p of 15/16 and 1/16: 0.33729, over 4, times 0.4: 138.2 */
	{ "1 of 16 delays differs", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(80000, 40000), .x = 137 } } },
	/* 1 bit of 4, times 0.4: 409.6 */
	{ "8 of 16 delays differ", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(80000, 40000), .times = 8, .x = 409 },
		{ RTTS(80000, 40000), .times = 8, .x = 0 } } },
	{ "the first delay fills the ring", .steps = {
		{ RTTS(80000, 40000), .x = 0 },
		{ RTTS(80000, 40000), .x = 0 } } },
	{ "an interval without an RTT does not count", .steps = {
		{ CALM, .x = 0 }, { RTTS(80000, 40000), .x = 137 },
		{ CALM, .no_rtt = true, .times = 20, .x = 137 } } },
	{ "just below a quarter octave", .steps = {
		{ CALM, .x = 0 }, { RTTS(47568, 40000), .x = 0 } } },
	{ "just above a quarter octave", .steps = {
		{ CALM, .x = 0 }, { RTTS(47569, 40000), .x = 137 } } },
	{ "delays below the minimum count as it", .steps = {
		{ CALM, .x = 0 }, { RTTS(1, 40000), .x = 0 } } },
	/* The last bin begins at 13.454 times the minimum. */
	{ "large delays share the last bin", .steps = {
		{ CALM, .no_rtt = true, .x = 0 },
		{ RTTS(40000 * 14, 40000), .x = 0 },
		{ RTTS(40000 * 16, 40000), .x = 0 },
		{ RTTS(U32_MAX, 40000), .x = 0 },
		{ RTTS(40000 * 13, 40000), .x = 137 } } },
};

/* 40 ms * 2^(i / 4), rounded up: the smallest RTT of each quarter octave. */
static const u32 octaves_us[] = {
	40000, 47569, 56569, 67272, 80000, 95137, 113138, 134544,
	160000, 190274, 226275, 269087, 320000, 380547, 452549, 538174,
};

/* Each quarter octave once is 4 bits; without losses, or in every other interval. */
static void maximum_entropy_test(struct kunit *test)
{
	static const s16 expected[] = { 1638, ONE };
	struct connection c;
	int i, k;

	for (k = 0; k < ARRAY_SIZE(expected); k++) {
		struct ndm_interval interval;

		open(&c, 0, 0, 0);
		for (i = 0; i < ARRAY_SIZE(octaves_us); i++) {
			struct step s = { RTTS(octaves_us[i], 40000) };

			s.lost = k * (i % 2);
			interval = pass(&c, &s);
		}
		KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_ENTROPY], expected[k]);
	}
}

INPUT_SUITE(entropy, NDM_IN_ENTROPY, KUNIT_CASE(maximum_entropy_test));

/* -- queue_floor: quarter octaves of the smallest RTT of 16 intervals ------------ */

static const struct story queue_floor_stories[] = {
	{ "no queue", .steps = { { CALM, .x = 0 }, { CALM, .x = 0 } } },
	{ "no RTT yet", .steps = { { .length_us = 1000, .no_rtt = true, .x = 0 } } },
	{ "a queue for 16 intervals", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(80000, 80000), .times = 15, .x = 0 },
		{ RTTS(80000, 80000), .x = ONE } } },
	{ "the smallest of 16 intervals", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(160000, 80000), .times = 15, .x = 0 },
		{ RTTS(80000, 80000), .x = ONE },
		{ RTTS(160000, 80000), .times = 15, .x = ONE },
		{ RTTS(160000, 80000), .x = 2 * ONE } } },
	{ "an empty queue ends it at once", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(80000, 80000), .times = 20, .x = ONE },
		{ CALM, .x = 0 } } },
	{ "an interval without RTT changes nothing", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(80000, 80000), .times = 16, .x = ONE },
		{ .length_us = 1000, .no_rtt = true, .srtt_us = 80000, .x = ONE } } },
	{ "the largest", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(NDM_RTT_MAX_US, 40000), .times = 16, .x = 15 * ONE / 4 } } },
};

INPUT_SUITE(queue_floor, NDM_IN_QUEUE_FLOOR);

/* -- congestion: low entropy, and loss or rising delay -------------------------- */

static const struct story congestion_stories[] = {
	{ "no loss, steady delay", .steps = { { CALM, .x = -ONE }, { CALM, .x = -ONE } } },
	{ "a loss", .steps = {
		{ CALM, .lost = 1, .x = ONE }, { CALM, .x = -ONE } } },
	{ "a mark", .steps = {
		{ CALM, .event = MARK, .x = ONE }, { CALM, .x = -ONE } } },
	{ "an undone loss", .steps = {
		{ CALM, .lost = 1, .event = UNDO, .x = -ONE } } },
	{ "more undone than lost", .steps = {
		{ CALM, .lost = -5, .x = -ONE } } },
	/* gradient > 82 of Q12 (0.02): 811 us are 83.05; ratio > 410: 411.03 */
	{ "rising delay above the minimum", .steps = {
		{ CALM, .x = -ONE },
		{ RTTS(40811, 44014), .x = ONE } } },
	{ "gradient of 82.9", .steps = {
		{ CALM, .x = -ONE },
		{ RTTS(40810, 44014), .x = -ONE } } },
	{ "rtt_ratio of 410.0", .steps = {
		{ CALM, .x = -ONE },
		{ RTTS(40811, 44004), .x = -ONE } } },
	{ "falling delay", .steps = {
		{ RTTS(90000, 40000), .x = -ONE },
		{ RTTS(70000, 70000), .x = -ONE } } },
	{ "delay that has risen before", .steps = {
		{ CALM, .x = -ONE },
		{ RTTS(60000, 60000), .x = ONE },
		{ RTTS(60000, 60000), .x = -ONE } } },
	{ "a time-out alone is no congestion", .steps = {
		{ CALM, .event = TIMEOUT, .x = -ONE } } },
	/*
	 * Half of the delays in another bin: 409.5. With losses in 7 of 16
	 * intervals the sum is 2839.9, in 8 of 16 exactly 2867: 0.7, noise.
	 */
	{ "a loss just below 0.7 of entropy", .steps = {
		{ CALM, .times = 8, .x = -ONE },
		{ RTTS(80000, 40000), .x = -ONE },
		{ RTTS(80000, 40000), .lost = 1, .times = 7, .x = ONE } } },
	{ "a loss at 0.7: noise", .steps = {
		{ CALM, .times = 8, .x = -ONE },
		{ RTTS(80000, 40000), .lost = 1, .times = 8, .x = -ONE } } },
};

/* Where packets wait for others, delay rises by twice that before it is congestion. */
static void rising_beyond_wait_test(struct kunit *test)
{
	struct ndm_measure m = { .min_rtt_us = 40000, .wait_us = 3750 };

	/* Twice 3.75 of 40 ms are 768 of 4096. */
	KUNIT_EXPECT_FALSE(test, ndm_rising(&m, 82 + 768));
	KUNIT_EXPECT_TRUE(test, ndm_rising(&m, 83 + 768));
	/* Without a minimum, any wait is as long as possible. */
	m.min_rtt_us = 0;
	KUNIT_EXPECT_FALSE(test, ndm_rising(&m, S16_MAX));
	m.wait_us = 1U << 30;
	KUNIT_EXPECT_FALSE(test, ndm_rising(&m, S16_MAX));
}

INPUT_SUITE(congestion, NDM_IN_CONGESTION, KUNIT_CASE(rising_beyond_wait_test));

/* -- plasticity: NDM v1's ------------------------------------------------------- */

static const struct story plasticity_stories[] = {
	/* It starts at 0.3; each interval subtracts 0.5 %, rounded down. */
	{ "decays", .steps = {
		{ CALM, .x = 1222 }, { CALM, .x = 1215 },
		{ CALM, .x = 1208 } } },
	{ "a loss adds 0.1", .steps = {
		{ CALM, .lost = 1, .x = 1639 }, { CALM, .lost = 9, .x = 2049 },
		{ CALM, .x = 2038 } } },
	{ "a time-out adds 0.2 once", .steps = {
		{ CALM, .event = TIMEOUT, .x = 2048 },
		{ CALM, .x = 2037 } } },
	{ "two time-outs count once", .steps = {
		{ CALM, .event = TWO_TIMEOUTS, .x = 2048 } } },
	{ "a loss and a time-out", .steps = {
		{ CALM, .lost = 1, .event = TIMEOUT, .x = 2458 } } },
	{ "a mark is a loss", .steps = {
		{ CALM, .event = MARK, .x = 1639 },
		{ CALM, .lost = 1, .event = MARK, .x = 2049 } } },
	{ "undone loss and time-out", .steps = {
		{ CALM, .lost = 7, .event = TIMEOUT_UNDONE, .x = 1222 } } },
	{ "at most 1", .steps = {
		{ CALM, .lost = 1, .times = 6, .x = 3689 },
		{ CALM, .lost = 1, .x = ONE }, { CALM, .lost = 1, .x = ONE },
		{ CALM, .lost = 1, .event = TIMEOUT, .x = ONE },
		{ CALM, .x = 4075 } } },
	{ "decays to 0 and rises again", .steps = {
		{ CALM, .times = 1300, .x = 0 }, { CALM, .x = 0 },
		{ CALM, .lost = 1, .x = 410 } } },
};

INPUT_SUITE(plasticity, NDM_IN_PLASTICITY);

/* -- loss_rate: lost / (lost + delivered) ---------------------------------------- */

#define LOSSES(count, rest, expected)					\
	{ .length_us = 40000, .lost = (count), .delivered = (rest),	\
	  .x = (expected) }

static const struct story loss_rate_stories[] = {
	{ "none", .steps = { LOSSES(0, 50, 0) } },
	{ "nothing sent: 0 / 0", .steps = { LOSSES(0, 0, 0) } },
	{ "a quarter", .steps = { LOSSES(25, 75, 1024) } },
	{ "a third: 1365.3", .steps = { LOSSES(1, 2, 1365) } },
	{ "all", .steps = { LOSSES(5, 0, ONE) } },
	{ "only of this interval", .steps = {
		LOSSES(50, 50, 2048), LOSSES(0, 50, 0), LOSSES(1, 3, 1024) } },
	{ "1 of 4,097 is not rounded to 0", .steps = { LOSSES(1, 4096, 1) } },
	{ "1 of 2^32", .steps = { LOSSES(1, U32_MAX, 1) } },
	{ "2^31 - 1 of twice as many", .steps = { LOSSES(S32_MAX, S32_MAX, 2048) } },
	{ "all of 2^31 - 1", .steps = { LOSSES(S32_MAX, 0, ONE) } },
	{ "negative after an undo", .steps = {
		LOSSES(25, 75, 1024), LOSSES(-25, 50, 0),
		LOSSES(1, 3, 1024) } },
	{ "most negative", .steps = { LOSSES(1U << 31, 50, 0) } },
	{ "the counters wrap", 0, U32_MAX - 10, U32_MAX - 5, .steps = {
		LOSSES(25, 75, 1024) } },
	{ "undone", .steps = {
		{ .length_us = 40000, .lost = 25, .delivered = 75,
		  .event = UNDO, .x = 0 },
		LOSSES(25, 75, 1024) } },
	{ "a mark counts as one loss", .steps = {
		{ .length_us = 40000, .delivered = 3, .event = MARK,
		  .x = 1024 },
		LOSSES(0, 3, 0) } },
	{ "a mark and losses", .steps = {
		{ .length_us = 40000, .lost = 24, .delivered = 75,
		  .event = MARK, .x = 1024 } } },
	{ "a mark and 2^31 - 1 losses", .steps = {
		{ .length_us = 40000, .lost = S32_MAX, .event = MARK,
		  .x = ONE } } },
	{ "undo does not affect marks", .steps = {
		{ .length_us = 40000, .lost = 25, .delivered = 3,
		  .event = MARK_UNDO, .x = 1024 } } },
	{ "undone across the wrap", 0, 0, U32_MAX - 5, .steps = {
		{ .length_us = 40000, .lost = 25, .delivered = 75,
		  .event = UNDO, .x = 0 } } },
};

static void loss_after_undo_counts_test(struct kunit *test)
{
	struct step s = LOSSES(10, 30, 0);
	struct connection c;

	open(&c, 0, 0, 0);
	c.now.lost = 7;
	ndm_measure_undo(&c.m, c.now.lost);
	KUNIT_EXPECT_EQ(test, pass(&c, &s).x[NDM_IN_LOSS_RATE], 1024);
}

/* Twice the losses that the path has at any window do not count, except beside a mark. */
static void own_losses_test(struct kunit *test)
{
	struct step lost = LOSSES(25, 75, 0);
	struct step marked = { .length_us = 40000, .lost = 24, .delivered = 75, .event = MARK };
	struct connection c;

	open(&c, 0, 0, 0);
	c.now.own = 412;
	KUNIT_EXPECT_EQ(test, pass(&c, &lost).x[NDM_IN_LOSS_RATE], 200);
	c.now.own = 512;
	KUNIT_EXPECT_EQ(test, pass(&c, &lost).x[NDM_IN_LOSS_RATE], 0);
	KUNIT_EXPECT_EQ(test, pass(&c, &marked).x[NDM_IN_LOSS_RATE], 1024);
}

/* The packets of an interval, beside their share: a mark is one of those lost. */
static void lost_packets_test(struct kunit *test)
{
	struct step lost = LOSSES(25, 75, 0), negative = LOSSES(-25, 50, 0);
	struct step marked = { .length_us = 40000, .lost = 24, .delivered = 75, .event = MARK };
	struct ndm_interval interval;
	struct connection c;

	open(&c, 0, 0, 0);
	c.now.own = 512;
	interval = pass(&c, &lost);
	KUNIT_EXPECT_EQ(test, interval.lost, 25);
	KUNIT_EXPECT_EQ(test, interval.delivered, 75);
	KUNIT_EXPECT_EQ(test, pass(&c, &marked).lost, 25);
	KUNIT_EXPECT_EQ(test, pass(&c, &negative).lost, 0);
}

INPUT_SUITE(loss_rate, NDM_IN_LOSS_RATE, KUNIT_CASE(loss_after_undo_counts_test),
	    KUNIT_CASE(own_losses_test), KUNIT_CASE(lost_packets_test));

/* -- rtt_variation: mdev / srtt --------------------------------------------------- */

#define MDEV(mdev, srtt, expected)					\
	{ .length_us = 40000, .rtt_us = 40000, .srtt_us = (srtt),	\
	  .mdev_us = (mdev), .x = (expected) }

static const struct story rtt_variation_stories[] = {
	{ "none", .steps = { MDEV(0, 40000, 0) } },
	{ "a tenth: 409.6", .steps = { MDEV(4000, 40000, 409) } },
	{ "as large as the RTT", .steps = { MDEV(40000, 40000, ONE) } },
	{ "independent of earlier intervals", .steps = {
		MDEV(40000, 40000, ONE), MDEV(10000, 40000, 1024),
		MDEV(10000, 20000, 2048) } },
	{ "the largest below the limit: 32763.9", .steps = {
		MDEV(7999, 1000, 32763) } },
	{ "limited to 8", .steps = {
		MDEV(8000, 1000, LIMIT), MDEV(U32_MAX, 1, LIMIT) } },
	{ "no RTT: 0 / 0", .steps = { MDEV(0, 0, 0) } },
	{ "no RTT and a deviation", .steps = { MDEV(1, 0, LIMIT) } },
	{ "RTT limited to 2^30 us", .steps = {
		MDEV(1 << 30, U32_MAX, ONE) } },
	{ "largest deviation", .steps = { MDEV(U32_MAX, U32_MAX, 16383) } },
};

INPUT_SUITE(rtt_variation, NDM_IN_RTT_VARIATION);

/* -- rtt_gradient: change of the mean RTT / min_rtt --------------------------------- */

#define RTT(rtt, srtt, expected)					\
	{ .length_us = 40000, .rtt_us = (rtt), .srtt_us = (srtt),	\
	  .x = (expected) }
#define NO_RTT(srtt, expected)						\
	{ .length_us = 40000, .no_rtt = true, .srtt_us = (srtt),	\
	  .x = (expected) }

static const struct story rtt_gradient_stories[] = {
	{ "first interval", .steps = { RTT(40000, 40000, 0) } },
	{ "equal RTTs", .steps = { RTT(40000, 40000, 0), RTT(40000, 40000, 0) } },
	{ "up and down by a fifth: 819.2", .steps = {
		RTT(40000, 40000, 0), RTT(48000, 40000, 819),
		RTT(40000, 40000, -819) } },
	{ "rounded to 0 from both sides", .steps = {
		RTT(40000, 40000, 0), RTT(40009, 40000, 0),
		RTT(40000, 40000, 0) } },
	{ "intervals without a sample are skipped", .steps = {
		RTT(40000, 40000, 0), NO_RTT(40000, 0), NO_RTT(40000, 0),
		RTT(48000, 40000, 819) } },
	{ "limited to -8 and 8", .steps = {
		RTT(1000, 1000, 0), RTT(8999, 1000, 32763),
		RTT(1000, 1000, -32763), RTT(9000, 1000, LIMIT),
		RTT(1000, 1000, -LIMIT), RTT(U32_MAX, 1000, LIMIT),
		RTT(1, 1000, -LIMIT) } },
	{ "no minimum yet: the limits", .steps = {
		RTT(10, 0, 0), RTT(10, 0, 0), RTT(11, 0, LIMIT),
		RTT(10, 0, -LIMIT) } },
	{ "an RTT of 0 counts as 1 us", .steps = {
		RTT(1000, 1000, 0), RTT(0, 1000, -4091), RTT(0, 1000, 0),
		RTT(1, 1000, 0) } },
	{ "RTT limited to 2^30 us", .steps = {
		RTT(1 << 30, 1 << 30, 0), RTT(U32_MAX, 1 << 30, 0) } },
};

struct mean_case {
	const char *name;
	u32 rtt_us[2];		/* alternating */
	u32 count;
	u32 mean_us;
};

static const struct mean_case mean_cases[] = {
	{ "one", { 40000, 40000 }, 1, 40000 },
	{ "two", { 40000, 56000 }, 2, 48000 },
	{ "rounds down", { 3, 4 }, 2, 3 },
	{ "0 is 1", { 0, 0 }, 5, 1 },
	{ "largest count", { 1000, 1000 }, 65535, 1000 },
	{ "count halved once", { 1000, 1000 }, 65536, 1000 },
	{ "count halved repeatedly", { 1000, 1000 }, 140000, 1000 },
	{ "largest sum", { 1 << 30, 1 << 30 }, 3, 1 << 30 },
	{ "sum halved once", { 1 << 30, 1 << 30 }, 4, 1 << 30 },
	{ "sum halved repeatedly", { U32_MAX, U32_MAX }, 70000, 1 << 30 },
	{ "10 s each", { 10000000, 10000000 }, 1000, 10000000 },
};

KUNIT_ARRAY_PARAM_DESC(mean, mean_cases, name);

static void mean_test(struct kunit *test)
{
	const struct mean_case *c = test->param_value;
	struct ndm_reading now = { .now_us = 40000, .srtt_us = 40000 };
	struct ndm_interval interval;
	struct connection conn;
	u32 i;

	open(&conn, 0, 0, 0);
	for (i = 0; i < c->count; i++)
		ndm_measure_rtt(&conn.m, c->rtt_us[i & 1]);
	ndm_interval_close(&conn.m, &now, &interval);
	KUNIT_EXPECT_EQ(test, interval.rtt_us, c->mean_us);
	ndm_interval_close(&conn.m, &now, &interval);
	KUNIT_EXPECT_EQ_MSG(test, interval.rtt_us, 0, "the next interval has no sample");
}

/* The smallest RTT of an interval, and the mean of the last one that had one. */
static void interval_rtts_test(struct kunit *test)
{
	struct step none = NO_RTT(40000, 0);
	struct ndm_interval interval;
	struct connection c;
	int i;

	open(&c, 0, 0, 0);
	interval = pass(&c, &none);
	KUNIT_EXPECT_EQ(test, interval.before_us, 0);
	KUNIT_EXPECT_EQ(test, interval.least_rtt_us, U32_MAX);
	interval = pass_two(&c, 60000, 40000);
	KUNIT_EXPECT_EQ(test, interval.before_us, 0);
	KUNIT_EXPECT_EQ(test, interval.least_rtt_us, 40000);
	pass(&c, &none);
	/* In the first of three groups. */
	for (i = 0; i < 2 * NDM_RTT_GROUP; i++)
		ndm_measure_rtt(&c.m, i == 3 ? 41000 : 45000);
	interval = pass_two(&c, 46000, 46000);
	KUNIT_EXPECT_EQ(test, interval.before_us, 50000);
	KUNIT_EXPECT_EQ(test, interval.least_rtt_us, 41000);
}

INPUT_SUITE(rtt_gradient, NDM_IN_RTT_GRADIENT, KUNIT_CASE(interval_rtts_test),
	    KUNIT_CASE_PARAM(mean_test, mean_gen_params));

/* -- delivery_ratio: rate / max_rate -------------------------------------------------- */

/* With lengths such as 40960 us, rates and their ratios are exact. */
#define RATE(length, packets, expected)					\
	{ .length_us = (length), .delivered = (packets), .rtt_us = 40000, \
	  .srtt_us = 40000, .x = (expected) }

static const struct story delivery_ratio_stories[] = {
	{ "nothing delivered yet: 0 / 0", .steps = { RATE(40960, 0, 0) } },
	{ "the first rate is the maximum", .steps = { RATE(40960, 50, ONE) } },
	{ "nothing delivered after a maximum", .steps = {
		RATE(40960, 50, ONE), RATE(40960, 0, 0) } },
	{ "half and three quarters", .steps = {
		RATE(40960, 100, ONE), RATE(40960, 50, 2048),
		RATE(81920, 150, 3072), RATE(40960, 100, ONE) } },
	{ "a new maximum", .steps = {
		RATE(40960, 50, ONE), RATE(40960, 100, ONE),
		RATE(40960, 50, 2048) } },
	{ "rates are limited to 256 packets/us", .steps = {
		RATE(1, 256, ONE), RATE(1, U32_MAX, ONE),
		RATE(1, 128, 2048) } },
	{ "one packet in an hour", .steps = {
		RATE(40960, 40000, ONE), RATE(3600 * SECOND_US, 1, 0) } },
	{ "the packets wrap", 0, U32_MAX - 10, .steps = {
		RATE(40960, 100, ONE), RATE(40960, 50, 2048) } },
	{ "the clock wraps", U32_MAX - 10, .steps = {
		RATE(40960, 100, ONE), RATE(40960, 50, 2048) } },
	/* A maximum is renewed after 10 intervals and more than 200 ms. */
	{ "renewed after 10 intervals", .steps = {
		RATE(40960, 100, ONE),
		{ CALM, .times = 9, .x = 2048 },
		{ CALM, .times = 9, .x = 2048 },
		{ CALM, .x = ONE } } },
	{ "10 intervals are not enough in 200 ms", .steps = {
		RATE(20000, 100, ONE), /* 20 ms */
		{ .length_us = 20000, .delivered = 50, .times = 9, .x = 2048 },
		/* 220 ms: renewed, still with the first rate */
		{ .length_us = 20000, .delivered = 50, .x = 2048 },
		{ .length_us = 20000, .delivered = 50, .times = 10, .x = 2048 },
		{ .length_us = 20000, .delivered = 50, .x = ONE } } },
	{ "200 ms are not enough in 9 intervals", .steps = {
		RATE(1 << 20, 100, ONE),
		{ .length_us = 1 << 20, .delivered = 50, .times = 18,
		  .x = 2048 },
		{ .length_us = 1 << 20, .delivered = 50, .x = ONE } } },
	{ "renewed across the clock's wrap", U32_MAX - 100000, .steps = {
		RATE(40960, 100, ONE),
		{ CALM, .times = 18, .x = 2048 },
		{ CALM, .x = ONE } } },
	{ "300 short intervals: the counter does not wrap", .steps = {
		RATE(10, 100, ONE),
		{ .length_us = 10, .delivered = 50, .times = 300, .x = 2048 },
		{ .length_us = SECOND_US, .delivered = 5000000, .x = 2048 },
		{ .length_us = SECOND_US, .delivered = 5000000, .times = 9,
		  .x = 2048 },
		{ .length_us = SECOND_US, .delivered = 5000000, .x = ONE } } },
};

struct idle_case {
	const char *name;
	u32 now_us;		/* when the connection begins */
	u32 passed_us;		/* since the interval began */
	u32 idle_us;		/* idle part of it */
	u32 length_us;		/* expected: the rest of it plus 40960 us */
	s16 x;			/* expected, with half of the last interval's packets */
};

static const struct idle_case idle_cases[] = {
	{ "never idle", 0, 40960, 0, 81920, 1024 },
	{ "always idle", 0, 60000000, 60000000, 40960, 2048 },
	{ "partly idle", 0, 60000000, 59990000, 50960, 1646 },
	{ "idle before the interval", 0, 1000, 60000000, 40960, 2048 },
	{ "idle for 2^32 us", 0, 1000, U32_MAX, 40960, 2048 },
	{ "idle while the clock wraps", U32_MAX - 50000, 60000000, 60000000, 40960,
	  2048 },
	{ "partly idle while the clock wraps", U32_MAX - 50000, 60000000, 59990000,
	  50960, 1646 },
};

KUNIT_ARRAY_PARAM_DESC(idle, idle_cases, name);

/* An interval's length and rate exclude idle time. */
static void idle_test(struct kunit *test)
{
	const struct idle_case *c = test->param_value;
	struct step first = RATE(40960, 100, ONE), second = first;
	struct ndm_interval interval;
	struct connection conn;

	open(&conn, c->now_us, 0, 0);
	pass(&conn, &first);
	conn.now.now_us += c->passed_us;
	ndm_measure_idle(&conn.m, conn.now.now_us, c->idle_us);
	second.delivered = 50;
	interval = pass(&conn, &second);
	KUNIT_EXPECT_EQ(test, interval.length_us, c->length_us);
	KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_DELIVERY_RATIO], c->x);
}

struct over_case {
	const char *name;
	u32 now_us, delivered;	/* when the interval begins */
	u32 length_us, prior;	/* time and packets since then, modulo 2^32 */
	bool over;
};

static const struct over_case over_cases[] = {
	{ "0 us", 0, 0, 0, 0, false },
	{ "999 us", 0, 0, 999, 5, false },
	{ "1 ms", 0, 0, 1000, 5, true },
	{ "first packet of the interval", 0, 100, 40000, 0, true },
	{ "last packet before the interval", 0, 100, 40000, -1, false },
	{ "no packet of the interval delivered", 0, 100, SECOND_US, -100, false },
	{ "the clock wraps: 999 us", U32_MAX - 10, 0, 999, 0, false },
	{ "the clock wraps: 1 ms", U32_MAX - 10, 0, 1000, 0, true },
	{ "the packets wrap", 0, U32_MAX, 1000, 1, true },
	{ "one packet before the wrap", 0, 0, 1000, U32_MAX, false },
	{ "2^31 - 1 packets", 0, 7, 1000, S32_MAX, true },
};

KUNIT_ARRAY_PARAM_DESC(over, over_cases, name);

/* A packet-timed round trip of at least 1 ms. */
static void over_test(struct kunit *test)
{
	const struct over_case *c = test->param_value;
	struct connection conn;

	open(&conn, c->now_us, c->delivered, 0);
	KUNIT_EXPECT_EQ(test, ndm_interval_over(&conn.m,
						c->now_us + c->length_us,
						c->delivered + c->prior),
			c->over);
}

/* An interval excludes idle time: 60 s idle and 999 us are too short. */
static void over_after_idle_test(struct kunit *test)
{
	struct connection c;

	open(&c, U32_MAX - 500, 0, 0);
	c.now.now_us += 60 * SECOND_US;
	ndm_measure_idle(&c.m, c.now.now_us, 60 * SECOND_US);
	KUNIT_EXPECT_FALSE(test, ndm_interval_over(&c.m, c.now.now_us + 999, 0));
	KUNIT_EXPECT_TRUE(test, ndm_interval_over(&c.m, c.now.now_us + 1000, 0));
}

struct sending_case {
	const char *name;
	u32 sending_us;		/* of the second interval of 10 ms, modulo 2^32 */
	s16 x;			/* expected; 50 of 100 packets of 40.96 ms */
};

static const struct sending_case sending_cases[] = {
	{ "unknown", 0, 8192 / 2 },
	{ "ACKs that were collected", 20480, ONE },
	{ "sent as slowly as before", 40960, 2048 },
	{ "longer than the interval", 81920, 1024 },
	{ "a burst", 10, ONE },
};

KUNIT_ARRAY_PARAM_DESC(sending, sending_cases, name);

/* Packets that are acknowledged faster than they were sent prove no larger rate. */
static void sending_time_test(struct kunit *test)
{
	const struct sending_case *c = test->param_value;
	struct step first = RATE(40960, 100, ONE);
	struct step second = RATE(10000, 50, ONE);
	struct ndm_interval interval;
	struct connection conn;

	open(&conn, 0, 0, 0);
	pass(&conn, &first);
	conn.now.sending_us = c->sending_us;
	interval = pass(&conn, &second);
	KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_DELIVERY_RATIO], c->x);
}

struct faster_case {
	const char *name;
	u32 delivered[12];	/* packets of round trips of 40 ms, 1000 before */
	u32 rtt_us[12];		/* 40 ms where it is 0 */
	u32 lossy;		/* the round trip with a loss, from 1 */
	int expected;		/* the round trip that finds a faster link, from 1; 0: none */
};

static const struct faster_case faster_cases[] = {
	{ "the same rate", { 1000, 1000, 1000, 1000, 1000, 1000 } },
	{ "a sixty-fourth more each time", { 1016, 1032, 1049 }, .expected = 2 },
	{ "less than that", { 1015, 1030, 1046, 1062, 1078, 1094 } },
	{ "a sixty-fourth less in the second", { 1100, 1083 }, .expected = 2 },
	{ "more than that less in the second", { 1100, 1082, 1200, 1181, 1300, 1279 } },
	{ "a loss in the second",
	  { 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000, 2110, 2220 },
	  .lossy = 2, .expected = 12 },
	{ "a queue in the second", { 1100, 1200, 1300, 1400, 1500, 1600 },
	  { 0, 45100 }, .expected = 4 },
	{ "a small queue is none", { 1100, 1200 }, { 44900, 44900 }, .expected = 2 },
};

KUNIT_ARRAY_PARAM_DESC(faster, faster_cases, name);

static void faster_link_test(struct kunit *test)
{
	const struct faster_case *c = test->param_value;
	struct step step = { .length_us = 40000, .delivered = 1000, .rtt_us = 40000,
			     .srtt_us = 40000 };
	struct connection conn;
	int i, found = 0;

	open(&conn, 0, 0, 0);
	pass(&conn, &step);
	for (i = 0; i < ARRAY_SIZE(c->delivered) && !found; i++) {
		step.delivered = c->delivered[i];
		step.lost = c->lossy == i + 1;
		step.rtt_us = c->rtt_us[i] ? c->rtt_us[i] : 40000;
		if (pass(&conn, &step).faster)
			found = i + 1;
	}
	KUNIT_EXPECT_EQ(test, found, c->expected);
}

/* 100 Gbit/s: 8.33 packets in a microsecond, 833,333 of them in 100 ms. */
static void fast_and_far_test(struct kunit *test)
{
	struct step step = { .length_us = 100000, .delivered = 833333, .rtt_us = 100000,
			     .srtt_us = 100000, .inflight = 833333 };
	struct ndm_interval interval;
	struct connection conn;

	open(&conn, U32_MAX - 50000, U32_MAX - 400000, 0);
	pass(&conn, &step);
	KUNIT_EXPECT_EQ(test, conn.m.max_rate, (u32)((833333ULL << NDM_RATE_FRAC) / 100000));
	step.delivered /= 2;
	interval = pass(&conn, &step);
	KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_DELIVERY_RATIO], ONE / 2 - 1);
	KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_INFLIGHT_RATIO], ONE);
	KUNIT_EXPECT_EQ(test, ndm_bdp(&conn.m) >> 12, 833332);
}

/* Packets that wait for others are on the path, too. */
static void bdp_has_wait_test(struct kunit *test)
{
	struct ndm_measure m = { .min_rtt_us = 40000, .max_rate = 1 << NDM_RATE_FRAC };

	KUNIT_EXPECT_EQ(test, ndm_bdp(&m), 40000 << 12);
	m.wait_us = 10000;
	KUNIT_EXPECT_EQ(test, ndm_bdp(&m), 50000 << 12);
	/* The largest: both RTT and wait. */
	m.min_rtt_us = NDM_RTT_MAX_US;
	m.wait_us = NDM_RTT_MAX_US;
	m.max_rate = U32_MAX;
	KUNIT_EXPECT_EQ(test, ndm_bdp(&m), (1ULL << 51) - (1ULL << 19));
}

/* The application has sent more, which tells nothing about the link. */
static void app_limited_is_not_faster_test(struct kunit *test)
{
	struct step step = { .length_us = 40000, .delivered = 100, .rtt_us = 40000,
			     .srtt_us = 40000 };
	struct connection conn;
	int i;

	open(&conn, 0, 0, 0);
	for (i = 0; i < 10; i++) {
		conn.m.app_limited = 1;
		step.delivered += 10;
		KUNIT_EXPECT_FALSE(test, pass(&conn, &step).faster);
	}
}

INPUT_SUITE(delivery_ratio, NDM_IN_DELIVERY_RATIO,
	    KUNIT_CASE_PARAM(sending_time_test, sending_gen_params),
	    KUNIT_CASE_PARAM(faster_link_test, faster_gen_params),
	    KUNIT_CASE(fast_and_far_test),
	    KUNIT_CASE(bdp_has_wait_test),
	    KUNIT_CASE(app_limited_is_not_faster_test),
	    KUNIT_CASE_PARAM(idle_test, idle_gen_params),
	    KUNIT_CASE_PARAM(over_test, over_gen_params),
	    KUNIT_CASE(over_after_idle_test));

/* -- inflight_ratio: in flight / (max_rate * min_rtt) ----------------------------------- */

/* A packet per us and 4096 us: a path of 4096 packets. */
#define FLIGHT(length, packets, rtt, flight, expected)			\
	{ .length_us = (length), .delivered = (packets), .no_rtt = true, \
	  .srtt_us = (rtt), .inflight = (flight), .x = (expected) }

static const struct story inflight_ratio_stories[] = {
	{ "nothing in flight", .steps = { FLIGHT(4096, 4096, 4096, 0, 0) } },
	{ "one packet", .steps = {
		FLIGHT(4096, 4096, 4096, 1, 1) } },
	{ "a full path", .steps = {
		FLIGHT(4096, 4096, 4096, 4096, ONE) } },
	{ "half a path, then a queue", .steps = {
		FLIGHT(4096, 4096, 4096, 2048, 2048),
		FLIGHT(4096, 4096, 4096, 8192, 8192) } },
	{ "uses max_rate and min_rtt", .steps = {
		FLIGHT(4096, 4096, 4096, 4096, ONE),
		FLIGHT(4096, 2048, 8192, 4096, ONE) } },
	{ "limited to 8", .steps = {
		FLIGHT(4096, 4096, 4096, 32767, 32767),
		FLIGHT(4096, 4096, 4096, 32768, LIMIT),
		FLIGHT(4096, 4096, 4096, U32_MAX, LIMIT) } },
	{ "no rate, nothing in flight: 0", .steps = {
		FLIGHT(4096, 0, 4096, 0, 0) } },
	{ "no rate yet: the limit", .steps = {
		FLIGHT(4096, 0, 4096, 1, LIMIT) } },
	{ "no RTT yet", .steps = {
		FLIGHT(4096, 4096, 0, 0, 0), FLIGHT(4096, 4096, 0, 1, LIMIT) } },
	/* 1/4 packet per us for 10 us: 1 of 2.5 packets, 1638.4 */
	{ "a path of 2.5 packets", .steps = {
		FLIGHT(4000, 1000, 10, 1, 1638) } },
	/* two packets in flight are 4 times as many */
	{ "a path of half a packet", .steps = {
		FLIGHT(4000, 1000, 2, 2, 16384) } },
	{ "largest path: 2^8 packets/us for 2^30 us", .steps = {
		FLIGHT(1, U32_MAX, 1 << 30, 1, 0),
		FLIGHT(1, U32_MAX, 1 << 30, U32_MAX, 64) } },
};

INPUT_SUITE(inflight_ratio, NDM_IN_INFLIGHT_RATIO);

kunit_test_suites(&rtt_ratio_suite, &entropy_suite, &queue_floor_suite,
		  &congestion_suite, &plasticity_suite, &loss_rate_suite,
		  &rtt_variation_suite, &rtt_gradient_suite,
		  &delivery_ratio_suite, &inflight_ratio_suite);

MODULE_DESCRIPTION("KUnit tests of NDM's inputs");
MODULE_LICENSE("GPL");
