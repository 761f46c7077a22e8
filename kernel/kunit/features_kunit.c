// SPDX-License-Identifier: GPL-2.0
/*
 * The ten inputs, one suite each. A story is a sequence of intervals of a
 * connection with the expected input at the end of each interval, worked out by
 * hand. Q12: 4096 is 1.
 *
 * The stories go through the functions of ndm_features.h alone, so that they do
 * not depend on how it keeps what it knows.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/module.h>

#include "ndm/ndm_features.h"

#define ONE 4096
#define LIMIT 32767
#define SECOND_US 1000000U

enum happening {
	NOTHING, TIMEOUT, TWO_TIMEOUTS, UNDO, TIMEOUT_UNDONE, MARK, MARK_UNDO
};

/* What happens in one interval, and an input at its end. */
struct step {
	u32 length_us;
	u32 delivered, lost;	/* so many more, modulo 2^32 */
	u32 rtt_us, srtt_us, mdev_us;
	u32 inflight;
	bool no_rtt;		/* no sample */
	bool slow_start;
	u8 happening;		/* before the end; UNDO: all losses so far */
	u16 times;		/* so many such intervals; 0 means 1 */
	s16 x;			/* at the end of the last of them */
};

struct story {
	const char *name;
	u32 now_us, delivered, lost;	/* when the connection begins */
	struct step steps[8];		/* up to the first without a length */
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

	if (!s->no_rtt)
		ndm_measure_rtt(&c->m, s->rtt_us);
	if (s->happening == TIMEOUT || s->happening == TIMEOUT_UNDONE)
		ndm_measure_timeout(&c->m);
	if (s->happening == TWO_TIMEOUTS) {
		ndm_measure_timeout(&c->m);
		ndm_measure_timeout(&c->m);
	}
	if (s->happening == MARK || s->happening == MARK_UNDO)
		ndm_measure_mark(&c->m);
	c->now.lost += s->lost;
	if (s->happening == UNDO || s->happening == TIMEOUT_UNDONE ||
	    s->happening == MARK_UNDO)
		ndm_measure_undo(&c->m, c->now.lost);
	c->now.now_us += s->length_us;
	c->now.delivered += s->delivered;
	c->now.inflight = s->inflight;
	c->now.srtt_us = s->srtt_us;
	c->now.mdev_us = s->mdev_us;
	c->now.slow_start = s->slow_start;
	ndm_interval_close(&c->m, &c->now, &interval);
	return interval;
}

static void tell(struct kunit *test, const struct story *story, int input)
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

/* A suite of stories, and of test cases besides. */
#define INPUT_SUITE(input, index, ...)					\
	KUNIT_ARRAY_PARAM_DESC(input, input##_stories, name);		\
	static void input##_test(struct kunit *test)			\
	{								\
		tell(test, test->param_value, index);			\
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

/* 41 ms with 50 packets, and whatever else is said. */
#define RTTS(rtt, srtt)							\
	.length_us = 40960, .delivered = 50, .rtt_us = (rtt), .srtt_us = (srtt)
#define CALM RTTS(40000, 40000)

/* -- rtt_ratio: srtt / min_rtt - 1 ------------------------------------------- */

#define SRTT(length, srtt, expected)					\
	{ .length_us = (length), .rtt_us = 40000, .srtt_us = (srtt),	\
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
	{ "8 and more is the limit", .steps = {
		SRTT(40000, 1000, 0), SRTT(40000, 9000, LIMIT),
		SRTT(40000, U32_MAX, LIMIT) } },
	{ "1 us and the longest", .steps = {
		SRTT(40000, 1, 0), SRTT(40000, 1 << 30, LIMIT) } },
	{ "never measured: 0 / 0", .steps = {
		SRTT(40000, 0, 0), SRTT(40000, 0, 0) } },
	{ "no longer measured", .steps = {
		SRTT(40000, 40000, 0), SRTT(40000, 0, 0),
		SRTT(40000, 48000, 819) } },
	{ "longer than any: cut to 2^30", .steps = {
		SRTT(40000, 1 << 30, 0), SRTT(40000, U32_MAX, 0) } },
	{ "a new minimum", .steps = {
		SRTT(40000, 48000, 0), SRTT(40000, 40000, 0),
		SRTT(40000, 48000, 819) } },
	/* One minimum lasts for what is left of its 30 s and 30 s more. */
	{ "renewed after 30 s, by the collected one", .steps = {
		SRTT(30 * SECOND_US, 40000, 0), SRTT(1, 80000, ONE),
		SRTT(30 * SECOND_US, 80000, ONE), SRTT(1, 80000, 0) } },
	{ "renewed across the clock's wrap", U32_MAX - 10 * SECOND_US, .steps = {
		SRTT(30 * SECOND_US, 40000, 0), SRTT(1, 80000, ONE),
		SRTT(30 * SECOND_US, 80000, ONE), SRTT(1, 80000, 0) } },
	{ "what is collected is the least of its time", .steps = {
		SRTT(SECOND_US, 20000, 0), SRTT(30 * SECOND_US, 60000, 8192),
		SRTT(SECOND_US, 50000, 6144), SRTT(SECOND_US, 40000, ONE),
		SRTT(29 * SECOND_US, 60000, 2048) } },
	{ "renewed only with an RTT", .steps = {
		SRTT(SECOND_US, 40000, 0), SRTT(40 * SECOND_US, 0, 0),
		SRTT(1, 80000, ONE) } },
	{ "idle for an hour: one minimum more", .steps = {
		SRTT(SECOND_US, 40000, 0), SRTT(3600 * SECOND_US, 80000, ONE),
		SRTT(31 * SECOND_US, 80000, 0) } },
};

INPUT_SUITE(rtt_ratio, NDM_IN_RTT_RATIO);

/* -- entropy: 0.6 H2(losses) + 0.4 H(delays) / 4 ------------------------------ */

static const struct story entropy_stories[] = {
	{ "all alike", .steps = { { CALM, .times = 20, .x = 0 } } },
	{ "no RTT at all", .steps = {
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
		{ CALM, .happening = MARK, .x = 829 } } },
	{ "an undone loss is none, of this interval", .steps = {
		{ CALM, .lost = 1, .happening = UNDO, .x = 0 } } },
	{ "nor of the one before", .steps = {
		{ CALM, .lost = 1, .x = 829 },
		{ CALM, .happening = UNDO, .x = 0 } } },
	{ "an older one stays", .steps = {
		{ CALM, .lost = 1, .x = 829 }, { CALM, .x = 829 },
		{ CALM, .happening = UNDO, .x = 829 } } },
	/* p log p of 15/16 and 1/16: 0.33729, over 4, times 0.4: 138.2 */
	{ "1 of 16 delays is another", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(80000, 40000), .x = 137 } } },
	/* 1 bit of 4, times 0.4: 409.6 */
	{ "half of them are", .steps = {
		{ CALM, .x = 0 },
		{ RTTS(80000, 40000), .times = 8, .x = 409 },
		{ RTTS(80000, 40000), .times = 8, .x = 0 } } },
	{ "the first delay stands for 16", .steps = {
		{ RTTS(80000, 40000), .x = 0 },
		{ RTTS(80000, 40000), .x = 0 } } },
	{ "an interval without an RTT does not count", .steps = {
		{ CALM, .x = 0 }, { RTTS(80000, 40000), .x = 137 },
		{ CALM, .no_rtt = true, .times = 20, .x = 137 } } },
	{ "a quarter octave: 47568 us is below it", .steps = {
		{ CALM, .x = 0 }, { RTTS(47568, 40000), .x = 0 } } },
	{ "47569 us is above", .steps = {
		{ CALM, .x = 0 }, { RTTS(47569, 40000), .x = 137 } } },
	{ "below the minimum: as at it", .steps = {
		{ CALM, .x = 0 }, { RTTS(1, 40000), .x = 0 } } },
	/* 13.454 times the minimum is the last quarter octave. */
	{ "all that is far above it is alike", .steps = {
		{ RTTS(40000 * 14, 40000), .x = 0 },
		{ RTTS(40000 * 16, 40000), .x = 0 },
		{ RTTS(U32_MAX, 40000), .x = 0 },
		{ RTTS(40000 * 13, 40000), .x = 137 } } },
};

/* 40 ms * 2^(i / 4), rounded up: each the least of its quarter octave. */
static const u32 octaves_us[] = {
	40000, 47569, 56569, 67272, 80000, 95137, 113138, 134544,
	160000, 190274, 226275, 269087, 320000, 380547, 452549, 538174,
};

/* Each quarter octave once is 4 bits; and losses in every other interval. */
static void most_entropy_test(struct kunit *test)
{
	static const s16 losses_in[][2] = { { 0, 1638 }, { 2, ONE } };
	struct connection c;
	int i, k;

	for (k = 0; k < ARRAY_SIZE(losses_in); k++) {
		struct ndm_interval interval;

		open(&c, 0, 0, 0);
		for (i = 0; i < ARRAY_SIZE(octaves_us); i++) {
			struct step s = { RTTS(octaves_us[i], 40000) };

			s.lost = losses_in[k][0] ? i % losses_in[k][0] : 0;
			interval = pass(&c, &s);
		}
		KUNIT_EXPECT_EQ(test, interval.x[NDM_IN_ENTROPY],
				losses_in[k][1]);
	}
}

INPUT_SUITE(entropy, NDM_IN_ENTROPY, KUNIT_CASE(most_entropy_test));

/* -- slow_start: a gauge ------------------------------------------------------- */

static const struct story slow_start_stories[] = {
	{ "1 and -1, at once", .steps = {
		{ CALM, .slow_start = true, .x = ONE },
		{ CALM, .x = -ONE },
		{ CALM, .slow_start = true, .x = ONE } } },
	{ "whatever else there is", .steps = {
		{ CALM, .slow_start = true, .lost = 50, .happening = TIMEOUT,
		  .x = ONE },
		{ .length_us = 1, .no_rtt = true, .x = -ONE } } },
};

INPUT_SUITE(slow_start, NDM_IN_SLOW_START);

/* -- congestion: low entropy, and loss or rising delay -------------------------- */

static const struct story congestion_stories[] = {
	{ "calm", .steps = { { CALM, .x = -ONE }, { CALM, .x = -ONE } } },
	{ "a loss, and then none", .steps = {
		{ CALM, .lost = 1, .x = ONE }, { CALM, .x = -ONE } } },
	{ "a mark, and then none", .steps = {
		{ CALM, .happening = MARK, .x = ONE }, { CALM, .x = -ONE } } },
	{ "a loss undone", .steps = {
		{ CALM, .lost = 1, .happening = UNDO, .x = -ONE } } },
	{ "more undone than lost", .steps = {
		{ CALM, .lost = -5, .x = -ONE } } },
	/* gradient > 82 of Q12 (0.02): 811 us are 83.05; ratio > 410: 411.03 */
	{ "delay rises, above the minimum", .steps = {
		{ CALM, .x = -ONE },
		{ RTTS(40811, 44014), .x = ONE } } },
	{ "it rises by 82.9", .steps = {
		{ CALM, .x = -ONE },
		{ RTTS(40810, 44014), .x = -ONE } } },
	{ "it is above by 410.0", .steps = {
		{ CALM, .x = -ONE },
		{ RTTS(40811, 44004), .x = -ONE } } },
	{ "it falls", .steps = {
		{ RTTS(90000, 40000), .x = -ONE },
		{ RTTS(70000, 70000), .x = -ONE } } },
	{ "it has risen before", .steps = {
		{ CALM, .x = -ONE },
		{ RTTS(60000, 60000), .x = ONE },
		{ RTTS(60000, 60000), .x = -ONE } } },
	{ "a time-out alone says nothing", .steps = {
		{ CALM, .happening = TIMEOUT, .x = -ONE } } },
	/*
	 * Half of the delays elsewhere: 409.5. With losses in 7 of 16
	 * intervals 2839.9 in all, in 8 of 16 exactly 2867: 0.7, noise.
	 */
	{ "a loss just below 0.7 of entropy", .steps = {
		{ CALM, .times = 8, .x = -ONE },
		{ RTTS(80000, 40000), .x = -ONE },
		{ RTTS(80000, 40000), .lost = 1, .times = 7, .x = ONE } } },
	{ "a loss at 0.7: noise", .steps = {
		{ CALM, .times = 8, .x = -ONE },
		{ RTTS(80000, 40000), .lost = 1, .times = 8, .x = -ONE } } },
};

INPUT_SUITE(congestion, NDM_IN_CONGESTION);

/* -- plasticity: NDM v1's ------------------------------------------------------- */

static const struct story plasticity_stories[] = {
	/* starts at 0.3; each interval subtracts 0.5 %, rounded down */
	{ "decays", .steps = {
		{ CALM, .x = 1222 }, { CALM, .x = 1215 },
		{ CALM, .x = 1208 } } },
	{ "a loss: 0.1 more", .steps = {
		{ CALM, .lost = 1, .x = 1639 }, { CALM, .lost = 9, .x = 2049 },
		{ CALM, .x = 2038 } } },
	{ "a time-out: 0.2 more, in its interval", .steps = {
		{ CALM, .happening = TIMEOUT, .x = 2048 },
		{ CALM, .x = 2037 } } },
	{ "two time-outs count once", .steps = {
		{ CALM, .happening = TWO_TIMEOUTS, .x = 2048 } } },
	{ "both", .steps = {
		{ CALM, .lost = 1, .happening = TIMEOUT, .x = 2458 } } },
	{ "a mark is a loss", .steps = {
		{ CALM, .happening = MARK, .x = 1639 },
		{ CALM, .lost = 1, .happening = MARK, .x = 2049 } } },
	{ "undone: neither", .steps = {
		{ CALM, .lost = 7, .happening = TIMEOUT_UNDONE, .x = 1222 } } },
	{ "at most 1", .steps = {
		{ CALM, .lost = 1, .times = 6, .x = 3689 },
		{ CALM, .lost = 1, .x = ONE }, { CALM, .lost = 1, .x = ONE },
		{ CALM, .lost = 1, .happening = TIMEOUT, .x = ONE },
		{ CALM, .x = 4075 } } },
	{ "down to nothing, and up again", .steps = {
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
	{ "of its own interval alone", .steps = {
		LOSSES(50, 50, 2048), LOSSES(0, 50, 0), LOSSES(1, 3, 1024) } },
	{ "one of the most that can be", .steps = { LOSSES(1, U32_MAX, 0) } },
	{ "half of the most", .steps = { LOSSES(S32_MAX, S32_MAX, 2048) } },
	{ "all of the most", .steps = { LOSSES(S32_MAX, 0, ONE) } },
	{ "less than none: taken back since", .steps = {
		LOSSES(25, 75, 1024), LOSSES(-25, 50, 0),
		LOSSES(1, 3, 1024) } },
	{ "by far less than none", .steps = { LOSSES(1U << 31, 50, 0) } },
	{ "the counters wrap", 0, U32_MAX - 10, U32_MAX - 5, .steps = {
		LOSSES(25, 75, 1024) } },
	{ "undone", .steps = {
		{ .length_us = 40000, .lost = 25, .delivered = 75,
		  .happening = UNDO, .x = 0 },
		LOSSES(25, 75, 1024) } },
	{ "a mark counts as one, in its interval", .steps = {
		{ .length_us = 40000, .delivered = 3, .happening = MARK,
		  .x = 1024 },
		LOSSES(0, 3, 0) } },
	{ "a mark and losses", .steps = {
		{ .length_us = 40000, .lost = 24, .delivered = 75,
		  .happening = MARK, .x = 1024 } } },
	{ "a mark after the most that can be", .steps = {
		{ .length_us = 40000, .lost = S32_MAX, .happening = MARK,
		  .x = ONE } } },
	{ "losses are undone, a mark is not", .steps = {
		{ .length_us = 40000, .lost = 25, .delivered = 3,
		  .happening = MARK_UNDO, .x = 1024 } } },
	{ "undone across the wrap", 0, 0, U32_MAX - 5, .steps = {
		{ .length_us = 40000, .lost = 25, .delivered = 75,
		  .happening = UNDO, .x = 0 } } },
};

/* Only what was lost before the undo is undone. */
static void lost_after_undo_test(struct kunit *test)
{
	struct step s = LOSSES(10, 30, 0);
	struct connection c;

	open(&c, 0, 0, 0);
	c.now.lost = 7;
	ndm_measure_undo(&c.m, c.now.lost);
	KUNIT_EXPECT_EQ(test, pass(&c, &s).x[NDM_IN_LOSS_RATE], 1024);
}

INPUT_SUITE(loss_rate, NDM_IN_LOSS_RATE, KUNIT_CASE(lost_after_undo_test));

/* -- rtt_variation: mdev / srtt --------------------------------------------------- */

#define MDEV(mdev, srtt, expected)					\
	{ .length_us = 40000, .rtt_us = 40000, .srtt_us = (srtt),	\
	  .mdev_us = (mdev), .x = (expected) }

static const struct story rtt_variation_stories[] = {
	{ "none", .steps = { MDEV(0, 40000, 0) } },
	{ "a tenth: 409.6", .steps = { MDEV(4000, 40000, 409) } },
	{ "all of it", .steps = { MDEV(40000, 40000, ONE) } },
	{ "of this moment alone", .steps = {
		MDEV(40000, 40000, ONE), MDEV(10000, 40000, 1024),
		MDEV(10000, 20000, 2048) } },
	{ "the largest below the limit: 32763.9", .steps = {
		MDEV(7999, 1000, 32763) } },
	{ "8 and more is the limit", .steps = {
		MDEV(8000, 1000, LIMIT), MDEV(U32_MAX, 1, LIMIT) } },
	{ "no RTT: 0 / 0", .steps = { MDEV(0, 0, 0) } },
	{ "no RTT and a deviation", .steps = { MDEV(1, 0, LIMIT) } },
	{ "longer than any: cut to 2^30", .steps = {
		MDEV(1 << 30, U32_MAX, ONE) } },
	{ "of the longest", .steps = { MDEV(U32_MAX, U32_MAX, 16383) } },
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
	{ "the first has none before it", .steps = { RTT(40000, 40000, 0) } },
	{ "as before", .steps = { RTT(40000, 40000, 0), RTT(40000, 40000, 0) } },
	{ "up and down by a fifth: 819.2", .steps = {
		RTT(40000, 40000, 0), RTT(48000, 40000, 819),
		RTT(40000, 40000, -819) } },
	{ "rounded to 0 from both sides", .steps = {
		RTT(40000, 40000, 0), RTT(40009, 40000, 0),
		RTT(40000, 40000, 0) } },
	{ "without a sample 0, then against the last one", .steps = {
		RTT(40000, 40000, 0), NO_RTT(40000, 0), NO_RTT(40000, 0),
		RTT(48000, 40000, 819) } },
	{ "8 and more is the limit, on both sides", .steps = {
		RTT(1000, 1000, 0), RTT(8999, 1000, 32763),
		RTT(1000, 1000, -32763), RTT(9000, 1000, LIMIT),
		RTT(1000, 1000, -LIMIT), RTT(U32_MAX, 1000, LIMIT),
		RTT(1, 1000, -LIMIT) } },
	{ "no minimum yet: one of the limits", .steps = {
		RTT(10, 0, 0), RTT(10, 0, 0), RTT(11, 0, LIMIT),
		RTT(10, 0, -LIMIT) } },
	{ "an RTT of 0 counts as 1 us", .steps = {
		RTT(1000, 1000, 0), RTT(0, 1000, -4091), RTT(0, 1000, 0),
		RTT(1, 1000, 0) } },
	{ "longer than any: cut to 2^30", .steps = {
		RTT(1 << 30, 1 << 30, 0), RTT(U32_MAX, 1 << 30, 0) } },
};

struct mean_case {
	const char *name;
	u32 rtt_us[2];		/* in turn */
	u32 count;
	u32 mean_us;
};

static const struct mean_case mean_cases[] = {
	{ "one", { 40000, 40000 }, 1, 40000 },
	{ "two", { 40000, 56000 }, 2, 48000 },
	{ "rounds down", { 3, 4 }, 2, 3 },
	{ "0 is 1", { 0, 0 }, 5, 1 },
	{ "the counter's end", { 1000, 1000 }, 65535, 1000 },
	{ "beyond the counter's end", { 1000, 1000 }, 65536, 1000 },
	{ "twice beyond it", { 1000, 1000 }, 140000, 1000 },
	{ "the sum's end", { 1 << 30, 1 << 30 }, 3, 1 << 30 },
	{ "beyond the sum's end", { 1 << 30, 1 << 30 }, 4, 1 << 30 },
	{ "far beyond it", { U32_MAX, U32_MAX }, 70000, 1 << 30 },
	{ "10 s each", { 10000000, 10000000 }, 1000, 10000000 },
};

KUNIT_ARRAY_PARAM_DESC(mean, mean_cases, name);

/* However many samples there are, of equal ones the mean is each. */
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
	KUNIT_EXPECT_EQ_MSG(test, interval.rtt_us, 0, "the next has none");
}

INPUT_SUITE(rtt_gradient, NDM_IN_RTT_GRADIENT,
	    KUNIT_CASE_PARAM(mean_test, mean_gen_params));

/* -- delivery_ratio: rate / max_rate -------------------------------------------------- */

/* Of times like 40960 us, rates and their quotients are whole numbers. */
#define RATE(length, packets, expected)					\
	{ .length_us = (length), .delivered = (packets), .rtt_us = 40000, \
	  .srtt_us = 40000, .x = (expected) }

static const struct story delivery_ratio_stories[] = {
	{ "nothing yet: 0 / 0", .steps = { RATE(40960, 0, 0) } },
	{ "the first is the most", .steps = { RATE(40960, 50, ONE) } },
	{ "nothing after something", .steps = {
		RATE(40960, 50, ONE), RATE(40960, 0, 0) } },
	{ "half and three quarters", .steps = {
		RATE(40960, 100, ONE), RATE(40960, 50, 2048),
		RATE(81920, 150, 3072), RATE(40960, 100, ONE) } },
	{ "a new most", .steps = {
		RATE(40960, 50, ONE), RATE(40960, 100, ONE),
		RATE(40960, 50, 2048) } },
	{ "more than 256 packets/us is as many", .steps = {
		RATE(1, 256, ONE), RATE(1, U32_MAX, ONE),
		RATE(1, 128, 2048) } },
	{ "one packet in an hour", .steps = {
		RATE(40960, 40000, ONE), RATE(3600 * SECOND_US, 1, 0) } },
	{ "the packets wrap", 0, U32_MAX - 10, .steps = {
		RATE(40960, 100, ONE), RATE(40960, 50, 2048) } },
	{ "the clock wraps", U32_MAX - 10, .steps = {
		RATE(40960, 100, ONE), RATE(40960, 50, 2048) } },
	/* A most is renewed after 10 intervals and more than 200 ms. */
	{ "renewed by the collected one", .steps = {
		RATE(40960, 100, ONE),
		{ CALM, .times = 9, .x = 2048 },
		{ CALM, .times = 9, .x = 2048 },
		{ CALM, .x = ONE } } },
	{ "10 intervals are not enough in 200 ms", .steps = {
		RATE(20000, 100, ONE), /* 20 ms */
		{ .length_us = 20000, .delivered = 50, .times = 9, .x = 2048 },
		/* 220 ms: renewed, by the first one still */
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
	u32 idle_us;		/* of that */
	u32 length_us;		/* what is left of it, and 40960 us more */
	s16 x;			/* of half as many packets as before in 40960 us */
};

static const struct idle_case idle_cases[] = {
	{ "none", 0, 40960, 0, 81920, 1024 },
	{ "all", 0, 60000000, 60000000, 40960, 2048 },
	{ "a part", 0, 60000000, 59990000, 50960, 1646 },
	{ "more than has passed", 0, 1000, 60000000, 40960, 2048 },
	{ "longer than the clock goes", 0, 1000, U32_MAX, 40960, 2048 },
	{ "across the clock's wrap", U32_MAX - 50000, 60000000, 60000000, 40960,
	  2048 },
	{ "a part across it", U32_MAX - 50000, 60000000, 59990000, 50960, 1646 },
};

KUNIT_ARRAY_PARAM_DESC(idle, idle_cases, name);

/* Idle time is neither in the interval's length nor in its rate. */
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
	u32 length_us, prior;	/* since, and packets since, modulo 2^32 */
	bool over;
};

static const struct over_case over_cases[] = {
	{ "at once", 0, 0, 0, 0, false },
	{ "999 us", 0, 0, 999, 5, false },
	{ "1 ms", 0, 0, 1000, 5, true },
	{ "the first packet of the interval", 0, 100, 40000, 0, true },
	{ "the last one before it", 0, 100, 40000, -1, false },
	{ "long, but none of it delivered", 0, 100, SECOND_US, -100, false },
	{ "the clock wraps: 999 us", U32_MAX - 10, 0, 999, 0, false },
	{ "the clock wraps: 1 ms", U32_MAX - 10, 0, 1000, 0, true },
	{ "the packets wrap", 0, U32_MAX, 1000, 1, true },
	{ "the packets wrap, one before", 0, 0, 1000, U32_MAX, false },
	{ "the most packets that are ahead", 0, 7, 1000, S32_MAX, true },
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

/* Idle time is not part of an interval: 60 s idle and 999 us are too short. */
static void over_after_idle_test(struct kunit *test)
{
	struct connection c;

	open(&c, U32_MAX - 500, 0, 0);
	c.now.now_us += 60 * SECOND_US;
	ndm_measure_idle(&c.m, c.now.now_us, 60 * SECOND_US);
	KUNIT_EXPECT_FALSE(test, ndm_interval_over(&c.m, c.now.now_us + 999, 0));
	KUNIT_EXPECT_TRUE(test, ndm_interval_over(&c.m, c.now.now_us + 1000, 0));
}

INPUT_SUITE(delivery_ratio, NDM_IN_DELIVERY_RATIO,
	    KUNIT_CASE_PARAM(idle_test, idle_gen_params),
	    KUNIT_CASE_PARAM(over_test, over_gen_params),
	    KUNIT_CASE(over_after_idle_test));

/* -- inflight_ratio: in flight / (max_rate * min_rtt) ----------------------------------- */

/* A packet per us and 4096 us: a path of 4096 packets. */
#define FLIGHT(length, packets, rtt, flight, expected)			\
	{ .length_us = (length), .delivered = (packets), .rtt_us = 40000, \
	  .srtt_us = (rtt), .inflight = (flight), .x = (expected) }

static const struct story inflight_ratio_stories[] = {
	{ "nothing", .steps = { FLIGHT(4096, 4096, 4096, 0, 0) } },
	{ "one packet of the path", .steps = {
		FLIGHT(4096, 4096, 4096, 1, 1) } },
	{ "the path full", .steps = {
		FLIGHT(4096, 4096, 4096, 4096, ONE) } },
	{ "half of it, and a queue as long again", .steps = {
		FLIGHT(4096, 4096, 4096, 2048, 2048),
		FLIGHT(4096, 4096, 4096, 8192, 8192) } },
	{ "of this moment alone, on the best of the path", .steps = {
		FLIGHT(4096, 4096, 4096, 4096, ONE),
		FLIGHT(4096, 2048, 8192, 4096, ONE) } },
	{ "8 and more is the limit", .steps = {
		FLIGHT(4096, 4096, 4096, 32767, 32767),
		FLIGHT(4096, 4096, 4096, 32768, LIMIT),
		FLIGHT(4096, 4096, 4096, U32_MAX, LIMIT) } },
	{ "no rate, nothing in flight: 0", .steps = {
		FLIGHT(4096, 0, 4096, 0, 0) } },
	{ "no rate yet: the limit", .steps = {
		FLIGHT(4096, 0, 4096, 1, LIMIT) } },
	{ "no RTT yet", .steps = {
		FLIGHT(4096, 4096, 0, 0, 0), FLIGHT(4096, 4096, 0, 1, LIMIT) } },
	/* 1/4 packet per us for 10 us: 2.5 packets, of which 1 is 1638.4 */
	{ "a path of a few packets keeps its fraction", .steps = {
		FLIGHT(4000, 1000, 10, 1, 1638) } },
	/* 1/2 packet: two in flight are 4 times as many */
	{ "a path of less than one", .steps = {
		FLIGHT(4000, 1000, 2, 2, 16384) } },
	{ "the largest path: 2^8 packets/us for 2^30 us", .steps = {
		FLIGHT(1, U32_MAX, 1 << 30, 1, 0),
		FLIGHT(1, U32_MAX, 1 << 30, U32_MAX, 64) } },
};

INPUT_SUITE(inflight_ratio, NDM_IN_INFLIGHT_RATIO);

kunit_test_suites(&rtt_ratio_suite, &entropy_suite, &slow_start_suite,
		  &congestion_suite, &plasticity_suite, &loss_rate_suite,
		  &rtt_variation_suite, &rtt_gradient_suite,
		  &delivery_ratio_suite, &inflight_ratio_suite);

MODULE_DESCRIPTION("KUnit tests of NDM's ten inputs");
MODULE_LICENSE("GPL");
