// SPDX-License-Identifier: GPL-2.0
/* When drains begin, what they find, and the contest that follows from it. */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/module.h>

#include "ndm/ndm_contest.h"
#include "ndm/ndm_drain.h"

#define MIN_US 40000
#define CWND(packets) ((packets) << NDM_CWND_FRAC)
#define RATE(packets, us) ((u32)(((u64)(packets) << NDM_RATE_FRAC) / (us)))

/* -- a fall of the RTT ------------------------------------------------------- */

/* The explained RTT is MIN_US. */
struct joined_case {
	const char *name;
	u32 before_us, rtt_us;
	u16 decisions;
	u8 wait;
	bool contest;
	bool expected;
	u8 wait_after;
	u32 shrunk_us;		/* by the flow's own window */
};

static const struct joined_case joined_cases[] = {
	{ "no RTT before", 0, 40000, 100, 0, false, false, 0 },
	{ "no fall", 80000, 80000, 100, 0, false, false, 0 },
	{ "a rise", 80000, 140000, 100, 0, false, false, 0 },
	{ "a fall of an eighth of the minimum", 50000, 45000, 8, 0, false, true, 0 },
	{ "a smaller fall", 50000, 45001, 100, 0, false, false, 0 },
	{ "a fall by a quarter of the queue", 140000, 115000, 8, 0, false, true, 0 },
	{ "by less than a quarter", 140000, 115001, 100, 0, false, false, 0 },
	{ "7 decisions after a drain", 140000, 40000, 7, 0, false, false, 0 },
	{ "below the explained RTT", 30000, 25000, 8, 0, false, true, 0 },
	{ "largest fall", U32_MAX, 0, U16_MAX, 0, false, true, 0 },
	{ "the flow's own window explains it", 140000, 90000, 100, 0, false, false, 0, 50000 },
	{ "it explains more", 140000, 90000, 100, 0, false, false, 0, U32_MAX },
	{ "it explains all but a quarter of the queue", 140000, 90000, 8, 0, false, true, 0,
	  25000 },
	{ "all but less than that", 140000, 90000, 100, 0, false, false, 0, 25001 },
	{ "a drain is near: all but an eighth", 140000, 90000, 4, 3, false, true, 3, 37500 },
	{ "a drain is near: all but less", 140000, 90000, 100, 3, false, false, 3, 37501 },
	{ "a drain is near: an eighth of the queue", 140000, 127500, 4, 3, false, true, 3 },
	{ "a drain is near: less than an eighth", 140000, 127501, 100, 3, false, false, 3 },
	{ "a drain is near: 3 decisions after one", 140000, 40000, 3, 3, false, false, 3 },
	{ "contest: half of the queue", 140000, 90000, 8, 0, true, true, 8 },
	{ "contest: less than half", 140000, 90001, 100, 0, true, false, 8 },
	{ "contest: 7 decisions after a drain", 140000, 90000, 7, 0, true, false, 8 },
	{ "contest: an eighth", 140000, 127500, 100, 0, true, false, 8 },
	{ "contest: less than an eighth", 140000, 127501, 100, 0, true, false, 0 },
	{ "contest: a drain is near", 140000, 127500, 100, 3, true, false, 3 },
	{ "contest: its own window explains half", 140000, 90000, 100, 0, true, false, 8, 25000 },
	{ "contest: its own window explains all", 140000, 90000, 100, 0, true, false, 0, 50000 },
	{ "contest: an eighth of the queue is little", 50000, 45001, 100, 0, true, false, 0 },
};

KUNIT_ARRAY_PARAM_DESC(joined, joined_cases, name);

static void drain_joined_test(struct kunit *test)
{
	const struct joined_case *c = test->param_value;
	struct ndm_drain d = { .decisions = c->decisions, .wait = c->wait };
	struct ndm_drain_view view = {
		.rtt_us = c->rtt_us,
		.before_us = c->before_us,
		.min_rtt_us = MIN_US,
		.explained_us = MIN_US,
		.shrunk_us = c->shrunk_us,
		.contest = c->contest,
	};

	KUNIT_EXPECT_EQ(test, ndm_drain_joined(&d, &view), c->expected);
	KUNIT_EXPECT_EQ(test, (int)d.wait, (int)c->wait_after);
}

/* An eighth of the minimum RTT, on a long path 16 ms. */
static void is_queue_test(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, ndm_is_queue(5000, MIN_US));
	KUNIT_EXPECT_FALSE(test, ndm_is_queue(4999, MIN_US));
	KUNIT_EXPECT_TRUE(test, ndm_is_queue(16000, 270000));
	KUNIT_EXPECT_FALSE(test, ndm_is_queue(15999, 270000));
}

/* -- when a drain begins ----------------------------------------------------- */

#define STEADY (NDM_ONE / 8)
#define EIGHTH (MIN_US / 8)

/* 100 packets; as long after the last drain, before which the RTT was MIN_US. */
struct due_case {
	const char *name;
	u32 decision;
	u16 decisions;		/* since the last drain */
	u32 passed_us;		/* since then */
	u32 queue_us;
	s16 variation;		/* Q12 */
	u8 wait;
	bool contest;
	bool expected;
	bool first;		/* there was no drain */
	u32 fall_us;		/* of the RTT */
};

static const struct due_case due_cases[] = {
	{ "first decision", 0, 0, 0, 0, 0, 0, false, false, true },
	{ "before the first drain, long queue", 7, 7, 0, MIN_US, 0, 0, false, false, true },
	{ "one decision before the first drain", 7, 8, 0, EIGHTH, 0, 0, false, false, true },
	{ "first drain", 8, 8, 0, 0, 0, 0, false, true, true },
	{ "first drain, put off 7 decisions ago", 30, 7, 0, EIGHTH, 0, 0, false, false, true },
	{ "second drain, no queue", 16, 8, 0, 0, 0, 0, false, true },
	{ "one decision before the second", 15, 6, 0, EIGHTH, 0, 0, false, false },
	{ "half as old, no queue", 63, 31, 0, 0, 0, 0, false, true },
	{ "from the 64th decision on, no queue", 64, 32, 0, EIGHTH - 1, 0, 0, false, false },
	{ "half as old, a queue of an eighth", 90, 45, 0, EIGHTH, 0, 0, false, true },
	{ "one decision before that", 90, 44, 0, EIGHTH, 0, 0, false, false },
	{ "64 later, a queue of an eighth", 128, 64, 0, EIGHTH, 0, 0, false, true },
	{ "64 later, less", 128, 64, 0, EIGHTH - 1, 0, 0, false, false },
	{ "63 later", 128, 63, 0, EIGHTH, 0, 0, false, false },
	{ "after 10 s, no queue", 300, 10, NDM_DRAIN_US, 0, 0, 0, false, true },
	{ "before 10 s, no queue", 300, 255, NDM_DRAIN_US - 1, 0, 0, 0, false, false },
	{ "the time to confirm the last one", 30, 8, 0, 0, 0, 1, false, true },
	{ "one decision before that time", 30, 8, 0, 0, 0, 2, false, false },
	{ "one before that, a drain to join", 30, 8, 0, EIGHTH, 0, 2, false, true, false, EIGHTH },
	{ "a drain to join", 30, 8, 0, EIGHTH, 0, 0, false, true, false, EIGHTH },
	{ "nothing to join", 30, 8, 0, EIGHTH, 0, 0, false, false, false, EIGHTH - 1 },
	{ "twice the explained RTT", 30, 4, 0, MIN_US, 2 * STEADY, 0, false, true },
	{ "less than twice", 30, 4, 0, MIN_US - 1, 0, 0, false, false },
	{ "twice, just after a drain", 30, 3, 0, 10 * MIN_US, 0, 0, false, false },
	{ "twice, in contest", 30, 4, 0, MIN_US, 0, 0, true, false },
	{ "contest: 64 later", 90, 64, 0, EIGHTH, 0, 0, true, true },
	{ "contest: the queue has grown again", 90, 8, 0, EIGHTH, 0, 1, true, true },
	{ "contest: it falls by a third", 90, 8, 0, 2 * EIGHTH, 0, 0, true, false, false, EIGHTH },
	{ "contest: it falls by half", 90, 8, 0, EIGHTH, 0, 0, true, true, false, EIGHTH },
	{ "largest deviation", 90, 64, 0, EIGHTH, STEADY, 0, false, true },
	{ "deviation too large", 90, 64, 0, EIGHTH, STEADY + 1, 0, false, false },
	{ "too large to join", 30, 8, 0, EIGHTH, STEADY + 1, 0, false, false, false, EIGHTH },
	{ "largest to join, a drain is near", 30, 8, 0, EIGHTH, 2 * STEADY, 2, false, true, false,
	  EIGHTH },
	{ "largest to confirm", 30, 8, 0, 0, 2 * STEADY, 1, false, true },
	{ "too large to confirm", 30, 8, 0, 0, 2 * STEADY + 1, 1, false, false },
	{ "too large at twice the RTT", 30, 4, 0, MIN_US, 2 * STEADY + 1, 0, false, false },
	{ "largest counters", U32_MAX, U16_MAX, U32_MAX, U32_MAX - MIN_US, 0, U8_MAX, false, true },
};

KUNIT_ARRAY_PARAM_DESC(due, due_cases, name);

static struct ndm_drain_view view_of(const struct due_case *c)
{
	return (struct ndm_drain_view) {
		.now_us = c->passed_us - 100,	/* the clock wraps */
		.decision = c->decision,
		.cwnd_fp = CWND(100),
		.rtt_us = MIN_US + c->queue_us,
		.before_us = c->fall_us ? MIN_US + c->queue_us + c->fall_us : 0,
		.min_rtt_us = MIN_US,
		.explained_us = MIN_US,
		.variation = c->variation,
		.contest = c->contest,
	};
}

static void drain_due_test(struct kunit *test)
{
	const struct due_case *c = test->param_value;
	struct ndm_drain_view view = view_of(c);
	struct ndm_drain d = {
		.us = -100,
		.before_us = c->first ? 0 : MIN_US,
		.decisions = c->decisions,
		.wait = c->wait,
	};

	KUNIT_EXPECT_EQ(test, ndm_drain_due(&d, &view), c->expected);
}

/* A drain that would be due. */
static bool due_with(u32 cwnd_fp, u32 rtt_us)
{
	struct ndm_drain d = { .before_us = MIN_US, .wait = 1 };
	struct ndm_drain_view view = {
		.decision = 8,
		.cwnd_fp = cwnd_fp,
		.rtt_us = rtt_us,
		.min_rtt_us = MIN_US,
		.explained_us = MIN_US,
	};

	return ndm_drain_due(&d, &view);
}

static void drain_needs_window_and_rtt_test(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, due_with(CWND(NDM_DRAIN_CWND_MIN), MIN_US));
	KUNIT_EXPECT_FALSE(test, due_with(CWND(NDM_DRAIN_CWND_MIN) - 1, MIN_US));
	KUNIT_EXPECT_FALSE(test, due_with(CWND(NDM_DRAIN_CWND_MIN), 0));
}

/* In contest a fall of an eighth has a drain wait for the queue to grow again. */
static void drain_waits_in_contest_test(struct kunit *test)
{
	struct ndm_drain d = { .before_us = MIN_US, .decisions = 20 };
	struct ndm_drain_view view = {
		.decision = 100,
		.cwnd_fp = CWND(100),
		.rtt_us = 127500,
		.before_us = 140000,
		.min_rtt_us = MIN_US,
		.explained_us = MIN_US,
		.contest = true,
	};
	int i;

	KUNIT_EXPECT_FALSE(test, ndm_drain_due(&d, &view));
	view.before_us = view.rtt_us;
	for (i = 1; i < NDM_DRAIN_SOON; i++)
		KUNIT_EXPECT_FALSE(test, ndm_drain_due(&d, &view));
	KUNIT_EXPECT_TRUE(test, ndm_drain_due(&d, &view));
}

/* A drain that cannot begin stays due. */
static void due_drain_waits_test(struct kunit *test)
{
	struct ndm_drain d = { .before_us = MIN_US, .decisions = 20, .wait = 1 };
	struct ndm_drain_view view = {
		.decision = 100,
		.cwnd_fp = CWND(100),
		.rtt_us = MIN_US,
		.before_us = MIN_US,
		.min_rtt_us = MIN_US,
		.explained_us = MIN_US,
		.variation = 2 * STEADY + 1,
	};

	KUNIT_EXPECT_FALSE(test, ndm_drain_due(&d, &view));
	view.variation = 2 * STEADY;
	KUNIT_EXPECT_TRUE(test, ndm_drain_due(&d, &view));
}

/* The third decision after slow start is the first that may join a drain. */
static void settled_test(struct kunit *test)
{
	struct ndm_drain d = { .before_us = MIN_US, .decisions = 20 };
	struct ndm_drain_view view = {
		.decision = 100,
		.cwnd_fp = CWND(100),
		.rtt_us = MIN_US,
		.before_us = MIN_US + EIGHTH,
		.min_rtt_us = MIN_US,
		.explained_us = MIN_US,
	};

	KUNIT_EXPECT_TRUE(test, ndm_drain_due(&d, &view));
	ndm_drain_settled(&d);
	d.decisions += 2;
	KUNIT_EXPECT_FALSE(test, ndm_drain_due(&d, &view));
	d.decisions++;
	KUNIT_EXPECT_TRUE(test, ndm_drain_due(&d, &view));
	d.decisions = 1;
	ndm_drain_settled(&d);
	KUNIT_EXPECT_EQ(test, (int)d.decisions, 1);
}

/* -- the window in a drain --------------------------------------------------- */

struct begin_case {
	const char *name;
	u64 explained_us;
	u32 rate;
	u32 expected;	/* packets: three quarters rounded up, and one */
};

static const struct begin_case begin_cases[] = {
	{ "100 packets: 75 and 1", 40000, RATE(100, 40000), 76 },
	{ "10 packets: 8 and 1", 40000, RATE(10, 40000), 9 },
	{ "125 packets, some of which wait for others: 94 and 1", 50000, RATE(100, 40000), 95 },
	{ "1 packet: 1 and 1", 40000, RATE(1, 40000), 2 },
	{ "nothing delivered", 40000, 0, NDM_CWND_MIN },
	{ "833,333 packets: 625,000 and 1", 100000, RATE(833333, 100000), 625001 },
	{ "the largest window", 2ULL << 30, U32_MAX, NDM_CWND_MAX },
};

KUNIT_ARRAY_PARAM_DESC(begin, begin_cases, name);

static void drain_begin_test(struct kunit *test)
{
	const struct begin_case *c = test->param_value;
	struct ndm_drain_view view = {
		.now_us = 1000,
		.rtt_us = 70000,
		.min_rtt_us = MIN_US,
		.explained_us = c->explained_us,
	};
	struct ndm_drain d = { .decisions = 70, .wait = 5, .before_us = 1, .flat_us = 60000 };

	ndm_drain_begin(&d, &view, c->rate);
	KUNIT_EXPECT_EQ(test, d.cwnd, c->expected);
	KUNIT_EXPECT_EQ(test, d.us, 1000);
	KUNIT_EXPECT_EQ(test, d.before_us, 70000);
	KUNIT_EXPECT_EQ(test, (int)d.decisions, 0);
	KUNIT_EXPECT_EQ(test, (int)d.wait, 0);
	/* What the last one has found stays until this one is over. */
	KUNIT_EXPECT_EQ(test, d.flat_us, 60000);
}

/* -- the window after a drain ------------------------------------------------ */

struct kept_case {
	const char *name;
	u32 before_us, rtt_us;	/* before the drain and in it */
	u16 expected;		/* Q12 */
};

static const struct kept_case kept_cases[] = {
	{ "no queue before", 40000, 40000, 4096 },
	{ "a queue of a quarter", 50000, 40000, 4096 },
	{ "half of it was the flow's queue", 80000, 40000, 2560 },
	{ "nine tenths", 400000, 40000, 512 },
	{ "the queue of others", 400000, 400000, 4096 },
	{ "the largest", 1, NDM_RTT_MAX_US, 4096 },
	{ "never nothing", NDM_RTT_MAX_US, 1, 1 },
	{ "no RTT before", 0, 40000, 4096 },
};

KUNIT_ARRAY_PARAM_DESC(kept, kept_cases, name);

static void drain_kept_test(struct kunit *test)
{
	const struct kept_case *c = test->param_value;
	struct ndm_drain d = { .before_us = c->before_us };

	KUNIT_EXPECT_EQ(test, ndm_drain_kept(&d, c->rtt_us), c->expected);
}

/* -- a longer route ---------------------------------------------------------- */

struct route_case {
	const char *name;
	u32 flat_us;			/* the last drain has found it */
	u32 before_us, rtt_us, least_us;
	u32 min_us;			/* after the drain; MIN_US before it */
	u32 flat_after_us;		/* to confirm; 0: nothing */
	bool expected;			/* at least twice as long */
};

static const struct route_case route_cases[] = {
	{ "shorter by more than a thirty-second", 0, 100000, 96874, 96874, MIN_US, 0, false },
	{ "by a thirty-second", 0, 100000, 96875, 96875, MIN_US, 96875, false },
	{ "the mean is no shorter", 0, 100000, 100000, 90000, MIN_US, 90000, false },
	{ "no longer than the minimum", 0, 41250, 41250, 41250, MIN_US, 0, false },
	{ "little longer", 0, 41251, 41251, 41251, 41251, 0, false },
	{ "longer by less than an eighth", 0, 44999, 44999, 44999, 44999, 0, false },
	{ "by an eighth", 0, 45000, 45000, 45000, MIN_US, 45000, false },
	{ "found again", 60000, 60000, 60000, 60000, 60000, 0, false },
	{ "longer by a sixty-fourth", 60000, 61000, 61000, 60937, 60000, 0, false },
	{ "by more", 60000, 61000, 61000, 60938, MIN_US, 60938, false },
	{ "shorter by a sixty-fourth", 60937, 61000, 61000, 60000, 60000, 0, false },
	{ "shorter by more", 60938, 61000, 61000, 60000, MIN_US, 60000, false },
	{ "little longer, after a much longer one", 60000, 42000, 42000, 42000, 42000, 0, false },
	{ "a queue the second time", 100000, 100000, 96874, 96874, MIN_US, 0, false },
	{ "twice as long", 80000, 80000, 80000, 80000, 80000, 0, true },
	{ "almost twice", 79999, 80000, 80000, 80000, 79999, 0, false },
	{ "the longest", NDM_RTT_MAX_US, NDM_RTT_MAX_US, NDM_RTT_MAX_US, NDM_RTT_MAX_US,
	  NDM_RTT_MAX_US, 0, true },
};

KUNIT_ARRAY_PARAM_DESC(route, route_cases, name);

static void drain_route_test(struct kunit *test)
{
	const struct route_case *c = test->param_value;
	struct ndm_drain d = { .before_us = c->before_us, .flat_us = c->flat_us };
	struct ndm_measure m = {
		.min_rtt_us = MIN_US,
		.next_min_rtt_us = MIN_US + 1,
		.min_rtt_stamp_us = 1,
	};
	bool longer = c->min_us > MIN_US;

	KUNIT_EXPECT_EQ(test, ndm_drain_route(&d, &m, 1000, c->rtt_us, c->least_us), c->expected);
	KUNIT_EXPECT_EQ(test, m.min_rtt_us, c->min_us);
	KUNIT_EXPECT_EQ(test, m.next_min_rtt_us, longer ? c->min_us : MIN_US + 1);
	KUNIT_EXPECT_EQ(test, m.min_rtt_stamp_us, longer ? 1000 : 1);
	KUNIT_EXPECT_EQ(test, d.flat_us, c->flat_after_us);
	/* Soon a drain confirms it. */
	KUNIT_EXPECT_EQ(test, (int)d.wait, c->flat_after_us ? NDM_DRAIN_SOON : 0);
}

/* -- findings ---------------------------------------------------------------- */

/* Two findings before, and a last queue of 80 ms. */
struct finding_case {
	const char *name;
	bool on;
	u32 queue_us, left_us;
	u16 losses;
	int expected;	/* findings */
};

#define ALL_BEFORE ((u16)~((1 << NDM_CONTEST_CLEAN) - 1))

static const struct finding_case finding_cases[] = {
	{ "half of the queue is left", false, 80000, 40000, 0, 3 },
	{ "more than an eighth", false, 80000, 10001, 0, 3 },
	{ "an eighth", false, 80000, 10000, 0, 1 },
	{ "a small queue becomes no smaller", false, 10000, 10000, 0, 1 },
	{ "no queue", false, 0, 0, 0, 1 },
	{ "no queue is left, a loss 7 intervals ago", false, 80000, 0, 1 << 6, 2 },
	{ "no queue is left, losses before that", false, 80000, 0, ALL_BEFORE, 1 },
	{ "a queue is left, losses in all intervals", false, 80000, 40000, U16_MAX, 3 },
	{ "an eighth shorter than the last one", false, 70000, 70000, 0, 3 },
	{ "shorter than that", false, 69999, 69999, 0, 2 },
	{ "longer than the last one", false, U32_MAX, U32_MAX, 0, 3 },
	{ "contest: half of the queue is left", true, 80000, 40000, 0, 1 },
	{ "contest: an eighth", true, 80000, 10000, 0, 3 },
	{ "contest: no queue is left, a loss", true, 80000, 0, 1, 2 },
	{ "contest: shorter than the last one", true, 69999, 69999, 0, 2 },
};

KUNIT_ARRAY_PARAM_DESC(finding, finding_cases, name);

static void finding_test(struct kunit *test)
{
	const struct finding_case *c = test->param_value;
	struct ndm_contest contest = { .on = c->on, .findings = 2, .queue_us = 80000 };
	struct ndm_contest_view view = {
		.queue_us = c->queue_us,
		.left_us = c->left_us,
		.min_rtt_us = MIN_US,
		.losses = c->losses,
	};

	ndm_contest_judge(&contest, &view);
	KUNIT_EXPECT_EQ(test, (int)contest.findings, c->expected);
	KUNIT_EXPECT_EQ(test, contest.on, c->on);
	KUNIT_EXPECT_EQ(test, contest.queue_us, c->queue_us);
}

/* Of the queue, all or nothing is left. */
static void judge_queue(struct ndm_contest *c, u32 queue_us, bool left, u32 cwnd)
{
	struct ndm_contest_view view = {
		.queue_us = queue_us,
		.left_us = left ? queue_us : 0,
		.min_rtt_us = MIN_US,
		.cwnd_fp = CWND(cwnd),
	};

	ndm_contest_judge(c, &view);
}

/* MIN_US, and with each finding an eighth more. */
static void judge(struct ndm_contest *c, bool left, u32 cwnd)
{
	judge_queue(c, left && c->findings ? c->queue_us + c->queue_us / 8 : MIN_US, left, cwnd);
}

/* The queue before the first finding, and before the fourth. */
struct grown_case {
	const char *name;
	u32 first_us, queue_us;
	bool expected;
};

static const struct grown_case grown_cases[] = {
	{ "by an eighth", 80000, 90000, true },
	{ "by less", 80000, 89999, false },
	{ "not at all", 80000, 80000, false },
	{ "shorter", 80000, 70000, false },
	{ "the longest", U32_MAX, U32_MAX, false },
	{ "to the longest", U32_MAX / 2, U32_MAX, true },
};

KUNIT_ARRAY_PARAM_DESC(grown, grown_cases, name);

static void contest_begins_if_the_queue_has_grown_test(struct kunit *test)
{
	const struct grown_case *g = test->param_value;
	struct ndm_contest c = {};
	int i;

	for (i = 0; i < 3; i++)
		judge_queue(&c, g->first_us, true, 100);
	KUNIT_EXPECT_EQ(test, (int)c.findings, 3);
	judge_queue(&c, g->queue_us, true, 100);
	KUNIT_EXPECT_EQ(test, c.on, g->expected);
	/* The next finding is a first one. */
	KUNIT_EXPECT_EQ(test, (int)c.findings, 0);
	judge_queue(&c, g->queue_us, true, 90);
	KUNIT_EXPECT_EQ(test, c.entry_fp, g->expected ? CWND(100) : CWND(90));
}

static void four_findings_begin_and_end_contest_test(struct kunit *test)
{
	struct ndm_contest c = {};
	int i;

	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_FALSE(test, c.on);
		judge(&c, true, 100 - i);
	}
	KUNIT_EXPECT_TRUE(test, c.on);
	KUNIT_EXPECT_EQ(test, (int)c.findings, 0);
	/* The window from before the first finding: they may have reduced it. */
	KUNIT_EXPECT_EQ(test, c.entry_fp, CWND(100));
	/* A queue that is left confirms the mode. */
	judge(&c, true, 50);
	KUNIT_EXPECT_EQ(test, (int)c.findings, 0);
	KUNIT_EXPECT_EQ(test, c.entry_fp, CWND(100));
	c.cut = true;
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_TRUE(test, c.on);
		judge(&c, false, 50);
	}
	KUNIT_EXPECT_FALSE(test, c.on);
	KUNIT_EXPECT_FALSE(test, c.cut);
	KUNIT_EXPECT_EQ(test, (int)c.findings, 0);
}

/* Findings for and against alternate: the walk goes nowhere. */
static void findings_walk_test(struct kunit *test)
{
	struct ndm_contest c = {};
	int i;

	judge(&c, true, 100);
	judge(&c, true, 90);
	for (i = 0; i < 100; i++) {
		judge(&c, i % 2, 80);
		KUNIT_EXPECT_FALSE(test, c.on);
	}
	KUNIT_EXPECT_EQ(test, (int)c.findings, 2);
	KUNIT_EXPECT_EQ(test, c.entry_fp, CWND(100));
	/* Back at its beginning, the next finding is a first one. */
	judge(&c, false, 80);
	judge(&c, false, 80);
	judge(&c, false, 70);
	KUNIT_EXPECT_EQ(test, (int)c.findings, 0);
	judge(&c, true, 60);
	KUNIT_EXPECT_EQ(test, c.entry_fp, CWND(60));
}

static struct kunit_case drain_cases[] = {
	KUNIT_CASE_PARAM(drain_joined_test, joined_gen_params),
	KUNIT_CASE(is_queue_test),
	KUNIT_CASE_PARAM(drain_due_test, due_gen_params),
	KUNIT_CASE(drain_needs_window_and_rtt_test),
	KUNIT_CASE(drain_waits_in_contest_test),
	KUNIT_CASE(due_drain_waits_test),
	KUNIT_CASE(settled_test),
	KUNIT_CASE_PARAM(drain_begin_test, begin_gen_params),
	KUNIT_CASE_PARAM(drain_kept_test, kept_gen_params),
	KUNIT_CASE_PARAM(drain_route_test, route_gen_params),
	{}
};

static struct kunit_suite drain_suite = {
	.name = "ndm_drain",
	.test_cases = drain_cases,
};

static struct kunit_case contest_cases[] = {
	KUNIT_CASE_PARAM(finding_test, finding_gen_params),
	KUNIT_CASE_PARAM(contest_begins_if_the_queue_has_grown_test, grown_gen_params),
	KUNIT_CASE(four_findings_begin_and_end_contest_test),
	KUNIT_CASE(findings_walk_test),
	{}
};

static struct kunit_suite contest_suite = {
	.name = "ndm_contest",
	.test_cases = contest_cases,
};

kunit_test_suites(&drain_suite, &contest_suite);

MODULE_DESCRIPTION("KUnit tests of NDM's drains and contest");
MODULE_LICENSE("GPL");
