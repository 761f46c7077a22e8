// SPDX-License-Identifier: GPL-2.0
/*
 * The bound and the guard on simulated paths: round trips of RTT_US in which a share of the
 * packets is lost.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "ndm/ndm_bound.h"
#include "ndm/ndm_guard.h"

#define RTT_US 40000
#define FP(packets) ((packets) << NDM_CWND_FRAC)
#define PACKETS(fp) ((fp) >> NDM_CWND_FRAC)

/* -- a path ---------------------------------------------------------------- */

struct path {
	struct ndm_bound b;
	u32 now_us, lost, delivered;
	u32 cwnd_fp;
	u32 loss_per_mille;	/* of all packets */
	u32 room;		/* packets: what exceeds them is lost too */
	u32 remainder;		/* of the losses, per mille of a packet */
	bool reorders;
	bool starting;		/* in slow start */
};

static struct path path_of(u32 cwnd, u32 loss_per_mille, u32 room)
{
	return (struct path) { .cwnd_fp = FP(cwnd), .loss_per_mille = loss_per_mille,
			       .room = room };
}

/* One round trip of a policy that always wants @wanted packets. */
static void path_pass(struct path *p, u32 wanted)
{
	u32 sent = PACKETS(p->cwnd_fp);
	u32 lost, delivered;

	p->remainder += min(sent, p->room) * p->loss_per_mille;
	lost = p->remainder / 1000 + (sent - min(sent, p->room));
	p->remainder %= 1000;
	lost = min(lost, sent);
	delivered = sent - lost;
	p->now_us += RTT_US;
	p->lost += lost;
	p->delivered += delivered;
	p->cwnd_fp = ndm_bound_update(&p->b, p->starting, p->now_us, RTT_US, RTT_US, p->lost,
				      p->delivered, p->cwnd_fp, delivered, p->reorders);
	p->cwnd_fp = ndm_bounded(&p->b, max(p->cwnd_fp, FP(wanted)));
}

static void path_pass_times(struct path *p, u32 wanted, int times)
{
	while (times--)
		path_pass(p, wanted);
}

/* -- cuts and growth --------------------------------------------------------- */

struct cut_case {
	const char *name;
	u32 cwnd, carried, expected;	/* packets */
};

static const struct cut_case cut_cases[] = {
	{ "the whole window was carried", 100, 100, 69 },
	{ "more than the window", 100, U32_MAX, 69 },
	{ "less than the window", 100, 80, 55 },
	{ "at least half of the window counts", 100, 10, 34 },
	{ "the smallest window", 2, 2, 2 },
	{ "the largest window", NDM_CWND_MAX, NDM_CWND_MAX, 5865472 },
};

KUNIT_ARRAY_PARAM_DESC(cut, cut_cases, name);

static void cut_test(struct kunit *test)
{
	const struct cut_case *c = test->param_value;
	struct ndm_bound b = {};

	ndm_bound_cut(&b, 1000, ndm_bound_carried(FP(c->cwnd), c->carried));
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), c->expected);
}

struct grow_case {
	const char *name;
	u32 rtt_us;
	int rounds;
	u32 expected;	/* packets: a packet in each RTT + 0.4 (seconds)^3 */
	u32 length_us;	/* of an interval; 0: a round trip */
};

static const struct grow_case grow_cases[] = {
	{ "a packet in a round trip", 40000, 1, 1 },
	{ "1 s", 40000, 25, 25 },
	{ "5 s: 125 and 50", 40000, 125, 173 },
	{ "20 s: 500 and 3,200", 40000, 500, 3685 },
	{ "20 s of 1 ms: 20,000 and 3,200", 1000, 20000, 23183 },
	{ "59 s of 1 s: 59 and 82,152", 1000000, 59, 84229 },
	{ "1 s of 1 ms with an RTT of 100 us", 100, 1000, 10000, 1000 },
	{ "1 s of 100 ms with an RTT of 40 ms", 40000, 10, 25, 100000 },
};

KUNIT_ARRAY_PARAM_DESC(grow, grow_cases, name);

static void grow_test(struct kunit *test)
{
	const struct grow_case *c = test->param_value;
	struct ndm_bound b = {};
	u32 now_us = U32_MAX - 100;	/* the clock wraps */
	u32 first;
	int i;

	ndm_bound_cut(&b, now_us, FP(1000));
	first = PACKETS(b.limit_fp);
	for (i = 0; i < c->rounds; i++) {
		now_us += c->length_us ? : c->rtt_us;
		ndm_bound_grow(&b, now_us, c->length_us ? : c->rtt_us, c->rtt_us);
	}
	/* Within 2 %, as time is in 1.024 ms, and a round trip's growth that of its end. */
	KUNIT_EXPECT_GE(test, PACKETS(b.limit_fp) - first + 1, c->expected * 49 / 50);
	KUNIT_EXPECT_LE(test, PACKETS(b.limit_fp) - first, c->expected * 51 / 50 + 1);
}

static void bound_ends_test(struct kunit *test)
{
	struct ndm_bound b = {};

	ndm_bound_grow(&b, 1000, RTT_US, RTT_US);
	KUNIT_EXPECT_EQ(test, b.limit_fp, 0);
	ndm_bound_cut(&b, 0, FP(1000));
	ndm_bound_grow(&b, NDM_BOUND_US, U32_MAX, 1);
	KUNIT_EXPECT_GT(test, b.limit_fp, FP(1000));
	KUNIT_EXPECT_EQ(test, ndm_bounded(&b, U32_MAX), b.limit_fp);
	ndm_bound_grow(&b, NDM_BOUND_US + 1, RTT_US, RTT_US);
	KUNIT_EXPECT_EQ(test, b.limit_fp, 0);
	KUNIT_EXPECT_EQ(test, ndm_bounded(&b, U32_MAX), U32_MAX);
	ndm_bound_cut(&b, 0, FP(NDM_CWND_MAX));
	ndm_bound_grow(&b, NDM_BOUND_US, U32_MAX, 1);
	ndm_bound_grow(&b, NDM_BOUND_US, U32_MAX, 1);
	KUNIT_EXPECT_LE(test, b.limit_fp, FP(NDM_CWND_MAX));
}

/* -- congestion and the path's own losses ------------------------------------ */

/* A policy that wants more than there is room for shares the path as Reno would. */
static void overload_test(struct kunit *test)
{
	struct path p = path_of(150, 0, 100);
	int i;

	path_pass_times(&p, 150, 2);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 69);
	for (i = 0; i < 1000; i++) {
		path_pass(&p, 150);
		KUNIT_EXPECT_LT(test, PACKETS(p.cwnd_fp), 112);
		KUNIT_EXPECT_GT(test, PACKETS(p.cwnd_fp), 47);
	}
	/* It has cut in each of some forty round trips, and lost less than 1 %. */
	KUNIT_EXPECT_LT(test, p.lost * 100, p.delivered);
	KUNIT_EXPECT_EQ(test, p.b.own, 0);
}

struct own_case {
	const char *name;
	u32 loss_per_mille;
	u32 least, most;	/* the window in the end; the policy wants 100 */
};

static const struct own_case own_cases[] = {
	{ "0.1 %", 1, 100, 100 },
	{ "1 %", 10, 100, 100 },
	{ "2 %", 20, 100, 100 },
	{ "3 %", 30, 100, 100 },
	{ "5 % is congestion", 50, 2, 50 },
	{ "20 % is congestion", 200, 2, 50 },
	{ "everything is lost", 1000, 2, 50 },
};

KUNIT_ARRAY_PARAM_DESC(own, own_cases, name);

static void own_losses_test(struct kunit *test)
{
	const struct own_case *c = test->param_value;
	struct path p = path_of(100, c->loss_per_mille, U32_MAX);
	u64 sum = 0;
	int i;

	path_pass_times(&p, 100, 200);
	for (i = 0; i < 200; i++) {
		path_pass(&p, 100);
		sum += PACKETS(p.cwnd_fp);
	}
	/* A repeated test takes less than a tenth of the window. */
	KUNIT_EXPECT_GE(test, div_u64(sum, 180), c->least);
	KUNIT_EXPECT_LE(test, div_u64(sum, 200), c->most);
}

static void test_is_repeated_test(struct kunit *test)
{
	struct path p = path_of(100, 20, U32_MAX);
	int i;

	path_pass_times(&p, 100, 50);
	KUNIT_EXPECT_GE(test, p.b.own, (20 << NDM_FEATURE_FRAC) / 1000 / 2);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	for (i = 0; i < 2 * NDM_BOUND_KNOWN && !p.b.tested; i++)
		path_pass(&p, 100);
	KUNIT_EXPECT_TRUE(test, p.b.tested);
	path_pass_times(&p, 100, 50);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	KUNIT_EXPECT_EQ(test, p.b.confirmed, 2);
}

/* The own share follows the losses, up to the one that the test has found. */
static void own_share_follows_test(struct kunit *test)
{
	struct path p = path_of(100, 20, U32_MAX);
	u16 found;

	path_pass_times(&p, 100, 50);
	found = p.b.proved;
	KUNIT_EXPECT_GE(test, found, (20 << NDM_FEATURE_FRAC) / 1000 / 2);
	KUNIT_EXPECT_LE(test, p.b.own, found);
	p.loss_per_mille = 10;
	path_pass_times(&p, 100, 100);
	KUNIT_EXPECT_LE(test, p.b.own, (10 << NDM_FEATURE_FRAC) / 1000 + 4);
	KUNIT_EXPECT_GE(test, p.b.own, (10 << NDM_FEATURE_FRAC) / 1000 - 4);
	p.loss_per_mille = 19;
	path_pass_times(&p, 100, 50);
	KUNIT_EXPECT_GT(test, p.b.own, (15 << NDM_FEATURE_FRAC) / 1000);
	KUNIT_EXPECT_LE(test, p.b.own, found);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
}

/* More than twice the path's own share is congestion. */
static void congestion_on_lossy_path_test(struct kunit *test)
{
	struct path p = path_of(100, 10, U32_MAX);

	path_pass_times(&p, 100, 100);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	p.room = 80;
	path_pass_times(&p, 100, 3);
	KUNIT_EXPECT_TRUE(test, p.b.limit_fp);
	KUNIT_EXPECT_LT(test, PACKETS(p.cwnd_fp), 80);
}

/*
 * A share of more than a thirty-second is congestion, although it is less than twice the
 * path's own; not where packets have been proved to change their order.
 */
static void much_loss_is_congestion_test(struct kunit *test)
{
	struct path p = path_of(100, 25, U32_MAX);

	path_pass_times(&p, 100, 100);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	KUNIT_EXPECT_GT(test, p.b.own, (20 << NDM_FEATURE_FRAC) / 1000);
	p.loss_per_mille = 45;
	path_pass_times(&p, 100, 100);
	KUNIT_EXPECT_TRUE(test, p.b.limit_fp);
	p.b.own = (25 << NDM_FEATURE_FRAC) / 1000;
	p.b.proved = p.b.own;
	KUNIT_EXPECT_EQ(test, ndm_bound_tolerated(&p.b), NDM_BOUND_OWN_MAX);
	p.b.proved = NDM_BOUND_OWN_MAX + 1;
	KUNIT_EXPECT_EQ(test, ndm_bound_tolerated(&p.b), 2 * p.b.own + NDM_BOUND_SHARE);
}

/* The policy has answered the first loss: the bound is no smaller for that. */
static void cut_from_what_was_carried_test(struct kunit *test)
{
	struct path p = path_of(120, 0, 100);

	path_pass(&p, 40);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	p.cwnd_fp = FP(40);
	p.room = 38;
	path_pass(&p, 40);
	KUNIT_EXPECT_EQ(test, PACKETS(p.b.limit_fp), 69);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 40);
}

/* The overshoot of slow start: what the path has carried stays. */
static void slow_start_overshoot_test(struct kunit *test)
{
	struct path p = path_of(200, 0, 100);

	p.starting = true;
	path_pass(&p, 200);
	p.starting = false;
	path_pass(&p, 200);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 100);
	/* The next losses are its own fault. */
	p.room = 80;
	path_pass_times(&p, 200, 3);
	KUNIT_EXPECT_LT(test, PACKETS(p.cwnd_fp), 80);
	/* So are those that come later than NDM_BOUND_OVERSHOOT round trips. */
	p = path_of(100, 0, 100);
	p.starting = true;
	path_pass(&p, 100);
	p.starting = false;
	path_pass_times(&p, 100, NDM_BOUND_OVERSHOOT);
	p.room = 80;
	path_pass_times(&p, 100, 2);
	KUNIT_EXPECT_LT(test, PACKETS(p.cwnd_fp), 80);
}

/* At least half of a window counts as carried: here half of the smallest one. */
static void overshoot_of_smallest_window_test(struct kunit *test)
{
	struct path p = path_of(NDM_CWND_MIN, 0, 0);

	p.starting = true;
	path_pass_times(&p, NDM_CWND_MIN, 2);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, FP(NDM_CWND_MIN));
	KUNIT_EXPECT_EQ(test, p.cwnd_fp, FP(NDM_CWND_MIN));
}

static void single_burst_is_no_congestion_test(struct kunit *test)
{
	struct path p = path_of(100, 0, U32_MAX);

	p.room = 90;
	path_pass(&p, 100);
	p.room = U32_MAX;
	path_pass_times(&p, 100, 20);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 100);
}

static void undo_lifts_the_bound_test(struct kunit *test)
{
	struct path p = path_of(100, 0, 90);

	path_pass_times(&p, 100, 2);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 62);
	KUNIT_EXPECT_EQ(test, PACKETS(ndm_bound_undo(&p.b, p.lost, p.delivered)), 100);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	KUNIT_EXPECT_GT(test, p.b.own, 0);
	KUNIT_EXPECT_EQ(test, ndm_bound_undo(&p.b, p.lost, p.delivered), 0);
	/* Losses that have been undone do not count. */
	p.cwnd_fp = FP(90);
	path_pass_times(&p, 90, 20);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
}

static void path_mark(struct path *p)
{
	ndm_bound_cut(&p->b, p->now_us, p->cwnd_fp);
	p->cwnd_fp = ndm_bounded(&p->b, p->cwnd_fp);
}

/* The sample of the losses has larger windows, from before the marks. */
static void losses_after_marks_test(struct kunit *test)
{
	struct path p = path_of(100, 0, U32_MAX);
	u32 limit_fp;
	int i;

	for (i = 0; i < 2; i++) {
		p = path_of(100, 0, U32_MAX);
		p.starting = i;
		path_pass(&p, 100);
		p.starting = false;
		path_mark(&p);
		KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 69);
		path_mark(&p);
		KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 48);
		p.room = 45;
		path_pass(&p, 100);
		limit_fp = p.b.limit_fp;
		KUNIT_EXPECT_EQ(test, PACKETS(limit_fp), 49);
		path_pass(&p, 100);
		KUNIT_EXPECT_TRUE(test, p.b.tested);
		KUNIT_EXPECT_EQ(test, p.b.limit_fp, limit_fp);
	}
}

/* A mark, or the guard's pause, ends the test of a cut: its window is not restored. */
static void undo_long_after_a_mark_test(struct kunit *test)
{
	struct path p;
	int i;

	for (i = 0; i < 2; i++) {
		p = path_of(1000, 0, 900);
		path_pass_times(&p, 1000, 2);
		KUNIT_EXPECT_EQ(test, PACKETS(p.b.tested_fp), 1000);
		if (i)
			ndm_bound_follow(&p.b, p.now_us, RTT_US, RTT_US, false, p.cwnd_fp, 629);
		else
			path_mark(&p);
		KUNIT_EXPECT_EQ(test, ndm_bound_undo(&p.b, p.lost, p.delivered), 0);
		p.cwnd_fp = FP(40);
		for (; p.b.limit_fp; p.now_us += NDM_BOUND_US / 2)
			path_pass(&p, 40);
		p.room = 36;
		path_pass_times(&p, 40, 3);
		KUNIT_EXPECT_TRUE(test, p.b.tested);
		KUNIT_EXPECT_LT(test, PACKETS(p.cwnd_fp), 36);
		KUNIT_EXPECT_EQ(test, PACKETS(ndm_bound_undo(&p.b, p.lost, p.delivered)), 40);
	}
}

/* Where packets change their order, the losses of eight round trips are judged together. */
static void late_packets_test(struct kunit *test)
{
	struct path p = path_of(100, 0, 80);
	int i;

	p.reorders = true;
	for (i = 0; i < 48; i++) {
		p.room = i % 8 < 4 ? 80 : 100;
		path_pass(&p, 100);
		/* All of them arrive in the end. */
		if (i % 8 == 4)
			p.lost = 0;
	}
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	p.room = 80;
	path_pass_times(&p, 100, 2 * NDM_BOUND_ROUNDS);
	KUNIT_EXPECT_GT(test, p.b.limit_fp, 0);
}

static void counters_may_fall_test(struct kunit *test)
{
	struct path p = path_of(100, 0, U32_MAX);

	p.lost = 50;
	path_pass_times(&p, 100, 8);
	/* DSACKs take back more than was lost. */
	p.lost = 10;
	path_pass_times(&p, 100, 8);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	KUNIT_EXPECT_EQ(test, p.b.own, 0);
}

/* As after the guard's longest pause, in which no sample begins. */
static void long_sample_test(struct kunit *test)
{
	struct ndm_bound b = {};

	KUNIT_EXPECT_EQ(test, ndm_bound_see(&b, 1, U32_MAX).share, 0);
	KUNIT_EXPECT_EQ(test, ndm_bound_see(&b, 1U << 30, 3U << 30).share, 1024);
	KUNIT_EXPECT_EQ(test, ndm_bound_see(&b, S32_MAX, U32_MAX).share, 1365);
}

static void follow_test(struct kunit *test)
{
	struct ndm_bound b = {};

	ndm_bound_follow(&b, 1000, RTT_US, RTT_US, false, FP(100), 100);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 100);
	ndm_bound_follow(&b, 1000 + RTT_US, RTT_US, RTT_US, false, FP(100), 100);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 101);
	/* One loss is enough. */
	ndm_bound_follow(&b, 1000 + 2 * RTT_US, RTT_US, RTT_US, true, FP(101), 101);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 70);
	/* After a minute without loss: from the window. */
	ndm_bound_follow(&b, 2000 + 2 * RTT_US + NDM_BOUND_US, RTT_US, RTT_US, false, FP(500), 500);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 500);
}

static struct kunit_case bound_cases[] = {
	KUNIT_CASE_PARAM(cut_test, cut_gen_params),
	KUNIT_CASE_PARAM(grow_test, grow_gen_params),
	KUNIT_CASE(bound_ends_test),
	KUNIT_CASE(overload_test),
	KUNIT_CASE_PARAM(own_losses_test, own_gen_params),
	KUNIT_CASE(test_is_repeated_test),
	KUNIT_CASE(own_share_follows_test),
	KUNIT_CASE(congestion_on_lossy_path_test),
	KUNIT_CASE(much_loss_is_congestion_test),
	KUNIT_CASE(cut_from_what_was_carried_test),
	KUNIT_CASE(slow_start_overshoot_test),
	KUNIT_CASE(overshoot_of_smallest_window_test),
	KUNIT_CASE(single_burst_is_no_congestion_test),
	KUNIT_CASE(undo_lifts_the_bound_test),
	KUNIT_CASE(losses_after_marks_test),
	KUNIT_CASE(undo_long_after_a_mark_test),
	KUNIT_CASE(late_packets_test),
	KUNIT_CASE(counters_may_fall_test),
	KUNIT_CASE(long_sample_test),
	KUNIT_CASE(follow_test),
	{}
};

static struct kunit_suite bound_suite = {
	.name = "ndm_bound",
	.test_cases = bound_cases,
};

/* -- the guard --------------------------------------------------------------- */

/* A horizon, repeated. The window goes in even steps from first to last. */
struct horizon_case {
	const char *name;
	u32 first, last;	/* packets */
	u32 rtt_us;		/* explained: RTT_US and the standing queue */
	u32 lost;		/* packets in each interval */
	u32 delivered;		/* likewise; the path has carried 100 */
	bool unused;
	bool expected;		/* starving */
	u32 standing_us;
};

#define RATE(packets) ((u32)((u64)(packets) * (1 << NDM_RATE_FRAC) / RTT_US))	/* in a RTT */
#define ABOVE (RTT_US / 16 * 17)	/* the largest RTT without a queue */

static const struct horizon_case horizon_cases[] = {
	{ "as much as the path has carried", 64, 64, RTT_US, 0, 100, false, false },
	{ "less than a quarter", 3, 3, RTT_US, 0, 23, false, true },
	{ "more than a quarter", 3, 3, RTT_US, 0, 26, false, false },
	{ "the largest RTT without a queue", 3, 3, ABOVE, 0, 23, false, true },
	{ "a queue", 3, 3, ABOVE + 1, 0, 23, false, false },
	{ "no RTT", 3, 3, 0, 0, 23, false, false },
	{ "a loss", 3, 3, RTT_US, 1, 23, false, false },
	{ "no data", 3, 3, RTT_US, 0, 23, true, false },
	{ "growth by a quarter", 16, 20, RTT_US, 0, 23, false, true },
	{ "growth by more", 16, 21, RTT_US, 0, 23, false, false },
	{ "a standing queue", 3, 3, 4 * RTT_US - 1, 0, 23, false, false, 3 * RTT_US - 1 },
	{ "a longer route", 3, 3, 4 * RTT_US, 0, 23, false, true, 3 * RTT_US },
	{ "an empty path after a standing queue", 3, 3, ABOVE, 0, 23, false, true, RTT_US },
	{ "a part of a standing queue", 3, 3, ABOVE + 1, 0, 23, false, false, RTT_US },
};

KUNIT_ARRAY_PARAM_DESC(horizon, horizon_cases, name);

/* One horizon. Returns whether the guard intervenes. */
static bool horizon(struct ndm_guard *g, struct ndm_guard_view *view,
		    const struct horizon_case *c)
{
	int i;

	g->first_fp = FP(c->first);
	for (i = 1; i <= NDM_GUARD_HORIZON; i++) {
		view->now_us += RTT_US;
		view->lost += c->lost;
		view->delivered += c->delivered;
		view->rate = RATE(c->delivered);
		/* A few intervals with a queue do not matter. */
		view->rtt_us = i % 9 ? c->rtt_us : 8 * RTT_US;
		view->used = !c->unused;
		view->standing_us = c->standing_us;
		view->explained_us = RTT_US + c->standing_us;
		view->cwnd_fp = FP(c->first) + (FP(c->last) - FP(c->first)) * i /
					       NDM_GUARD_HORIZON;
		ndm_guard_carried(g, view);
		if (ndm_guard_check(g, view))
			return true;
	}
	return false;
}

/* A guard that has seen a path carry 100 packets in a round trip. */
static struct ndm_guard used_guard(struct ndm_guard_view *view)
{
	struct ndm_guard g = {};

	*view = (struct ndm_guard_view) { .explained_us = RTT_US, .rate = RATE(100) };
	ndm_guard_carried(&g, view);
	return g;
}

static void horizon_test(struct kunit *test)
{
	const struct horizon_case *c = test->param_value;
	struct ndm_guard_view view;
	struct ndm_guard g = used_guard(&view);

	KUNIT_EXPECT_FALSE(test, horizon(&g, &view, c));
	KUNIT_EXPECT_EQ(test, (int)g.strikes, (int)c->expected);
	KUNIT_EXPECT_EQ(test, horizon(&g, &view, c), c->expected);
	KUNIT_EXPECT_EQ(test, (int)g.pause, c->expected ? NDM_GUARD_PAUSE : 0);
}

static const struct horizon_case bad = { "", 3, 3, RTT_US, 0, 5, false, true };
static const struct horizon_case good = { "", 64, 64, RTT_US, 0, 100, false, false };

static void strikes_in_a_row_test(struct kunit *test)
{
	struct ndm_guard_view view;
	struct ndm_guard g = used_guard(&view);
	int i;

	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_FALSE(test, horizon(&g, &view, i % 2 ? &good : &bad));
}

/* What the path has carried is forgotten, so that a slower path is no reason for ever. */
static void carried_is_forgotten_test(struct kunit *test)
{
	static const struct horizon_case slow = { "", 9, 9, RTT_US, 0, 20, false, true };
	struct ndm_guard_view view;
	struct ndm_guard g = used_guard(&view);
	int i, interventions = 0;

	for (i = 0; i < 20; i++)
		interventions += horizon(&g, &view, &slow);
	KUNIT_EXPECT_LE(test, interventions, 2);
}

/* A link that becomes slower makes a queue of the window that it carried. A small window says
 * nothing about the link: its RTT doubles because of others.
 */
static void slower_link_test(struct kunit *test)
{
	static const struct horizon_case slow = { "", 20, 20, RTT_US, 0, 20, false, false };
	struct ndm_guard_view view;
	struct ndm_guard g = used_guard(&view), other;

	view.rate = RATE(20);
	view.rtt_us = 2 * RTT_US + 1;
	view.cwnd_fp = FP(49);
	other = g;
	ndm_guard_carried(&other, &view);
	KUNIT_EXPECT_FALSE(test, horizon(&other, &view, &slow));
	KUNIT_EXPECT_TRUE(test, horizon(&other, &view, &slow));

	view.rate = RATE(20);
	view.rtt_us = 2 * RTT_US + 1;
	view.cwnd_fp = FP(50);
	ndm_guard_carried(&g, &view);
	KUNIT_EXPECT_FALSE(test, horizon(&g, &view, &slow));
	KUNIT_EXPECT_FALSE(test, horizon(&g, &view, &slow));
}

/* Each intervention lasts twice as long as the one before. */
static void pause_doubles_test(struct kunit *test)
{
	struct ndm_guard_view view;
	struct ndm_guard g = used_guard(&view);
	int i, waited;

	for (i = 0; i < 12; i++) {
		view.rate = U32_MAX;
		ndm_guard_carried(&g, &view);
		KUNIT_EXPECT_FALSE(test, horizon(&g, &view, &bad));
		KUNIT_EXPECT_TRUE(test, horizon(&g, &view, &bad));
		for (waited = 1; !ndm_guard_wait(&g); waited++)
			;
		KUNIT_EXPECT_EQ(test, waited,
				NDM_GUARD_PAUSE << min_t(int, i, NDM_GUARD_PAUSE_LONGEST));
		KUNIT_EXPECT_EQ(test, g.first_fp, 0);
	}
}

static struct kunit_case guard_cases[] = {
	KUNIT_CASE_PARAM(horizon_test, horizon_gen_params),
	KUNIT_CASE(strikes_in_a_row_test),
	KUNIT_CASE(carried_is_forgotten_test),
	KUNIT_CASE(slower_link_test),
	KUNIT_CASE(pause_doubles_test),
	{}
};

static struct kunit_suite guard_suite = {
	.name = "ndm_guard",
	.test_cases = guard_cases,
};

kunit_test_suites(&bound_suite, &guard_suite);

MODULE_DESCRIPTION("KUnit tests of NDM's bound and guard");
MODULE_LICENSE("GPL");
