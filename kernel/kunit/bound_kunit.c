// SPDX-License-Identifier: GPL-2.0
/*
 * The bound on simulated paths: round trips of RTT_US in which a share of the
 * packets is lost. What exceeds the packets that a path holds makes a queue.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "ndm/ndm_bound.h"

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
	u32 holds;		/* packets without a queue; 0: none ever shows */
	u32 remainder;		/* of the losses, per mille of a packet */
	bool starting;		/* in slow start */
	bool unfilled;
};

static struct path path_of(u32 cwnd, u32 loss_per_mille, u32 room)
{
	return (struct path) { .cwnd_fp = FP(cwnd), .loss_per_mille = loss_per_mille,
			       .room = room };
}

/* The queue of as many packets. */
static u32 path_queue_us(const struct path *p, u32 packets)
{
	return p->holds && packets > p->holds ? (packets - p->holds) * RTT_US / p->holds : 0;
}

/* One round trip of a policy that always wants @wanted packets. */
static void path_pass(struct path *p, u32 wanted)
{
	u32 sent = PACKETS(p->cwnd_fp);
	struct ndm_bound_round round;
	u32 lost, delivered;

	p->remainder += min(sent, p->room) * p->loss_per_mille;
	lost = p->remainder / 1000 + (sent - min(sent, p->room));
	p->remainder %= 1000;
	lost = min(lost, sent);
	delivered = sent - lost;
	p->now_us += RTT_US;
	p->lost += lost;
	p->delivered += delivered;
	round = (struct ndm_bound_round) {
		.now_us = p->now_us,
		.length_us = RTT_US,
		.rtt_us = RTT_US,
		.queue_us = path_queue_us(p, min(sent, p->room)),
		.min_rtt_us = RTT_US,
		.lost = p->lost,
		.delivered = p->delivered,
		.carried = delivered,
		.cwnd_fp = p->cwnd_fp,
		.starting = p->starting,
		.unfilled = p->unfilled,
	};
	p->cwnd_fp = ndm_bound_update(&p->b, &round);
	p->cwnd_fp = ndm_bounded(&p->b, max(p->cwnd_fp, FP(wanted)));
}

static void path_pass_times(struct path *p, u32 wanted, int times)
{
	while (times--)
		path_pass(p, wanted);
}

/* A path of 100 packets on which a queue has been seen to build, with a window of 100. */
static struct path path_seen(u32 loss_per_mille, u32 room)
{
	struct path p = path_of(150, 0, U32_MAX);

	p.holds = 100;
	path_pass_times(&p, 150, 8);
	p.cwnd_fp = FP(100);
	p.loss_per_mille = loss_per_mille;
	p.room = room;
	return p;
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
	struct ndm_bound_round round = { .cwnd_fp = FP(c->cwnd), .carried = c->carried };
	struct ndm_bound b = {};

	ndm_bound_cut(&b, 1000, ndm_bound_carried(&round));
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

/* The bound grows in an interval of @length_us that ends at @now_us. */
static void grow(struct ndm_bound *b, u32 now_us, u32 length_us, u32 rtt_us)
{
	struct ndm_bound_round round = {
		.now_us = now_us,
		.length_us = length_us,
		.rtt_us = rtt_us,
	};

	ndm_bound_grow(b, &round);
}

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
		grow(&b, now_us, c->length_us ? : c->rtt_us, c->rtt_us);
	}
	/* Within 2 %, as time is in 1.024 ms, and a round trip's growth that of its end. */
	KUNIT_EXPECT_GE(test, PACKETS(b.limit_fp) - first + 1, c->expected * 49 / 50);
	KUNIT_EXPECT_LE(test, PACKETS(b.limit_fp) - first, c->expected * 51 / 50 + 1);
}

static void bound_ends_test(struct kunit *test)
{
	struct ndm_bound b = {};

	grow(&b, 1000, RTT_US, RTT_US);
	KUNIT_EXPECT_EQ(test, b.limit_fp, 0);
	ndm_bound_cut(&b, 0, FP(1000));
	grow(&b, NDM_BOUND_US, U32_MAX, 1);
	KUNIT_EXPECT_GT(test, b.limit_fp, FP(1000));
	KUNIT_EXPECT_EQ(test, ndm_bounded(&b, U32_MAX), b.limit_fp);
	grow(&b, NDM_BOUND_US + 1, RTT_US, RTT_US);
	KUNIT_EXPECT_EQ(test, b.limit_fp, 0);
	KUNIT_EXPECT_EQ(test, ndm_bounded(&b, U32_MAX), U32_MAX);
	ndm_bound_cut(&b, 0, FP(NDM_CWND_MAX));
	grow(&b, NDM_BOUND_US, U32_MAX, 1);
	grow(&b, NDM_BOUND_US, U32_MAX, 1);
	KUNIT_EXPECT_LE(test, b.limit_fp, FP(NDM_CWND_MAX));
}

/* Without a smoothed RTT, a packet in each interval. */
static void growth_without_rtt_test(struct kunit *test)
{
	struct ndm_bound b = {};

	ndm_bound_cut(&b, 0, FP(1000));
	grow(&b, 1000, 1000, 0);
	KUNIT_EXPECT_EQ(test, b.limit_fp, (FP(1000) * 179 >> 8) + FP(1));
}

/* -- congestion and the path's own losses ------------------------------------ */

/* A policy that wants more than there is room for shares the path as Reno would. */
static void overload_test(struct kunit *test)
{
	static const u32 holds[] = { 0, 60 };	/* without and with a queue */
	int i, k;

	for (k = 0; k < ARRAY_SIZE(holds); k++) {
		struct path p = path_of(150, 0, 100);

		p.holds = holds[k];
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
}

struct own_case {
	const char *name;
	u32 most_us, queue_us;	/* the longest queue, and that of the round trip */
	u32 lost, carried;
	bool expected;
	bool starting, unfilled;
};

static const struct own_case own_cases[] = {
	{ "below a quarter of the longest queue", 20000, 4999, 2, 98, true },
	{ "a quarter of it", 20000, 5000, 2, 98, false },
	{ "at a full queue", 20000, 20000, 1, 99, false },
	{ "the longest queue is an eighth of the RTT", 5000, 1249, 2, 98, true },
	{ "it is shorter", 4999, 0, 2, 98, false },
	{ "no queue has ever shown", 0, 0, 1, 99, false },
	{ "a thirty-second and two packets", 20000, 0, 34, 990, true },
	{ "a packet more", 20000, 0, 35, 989, false },
	{ "two packets, and nothing arrives", 20000, 0, 2, 0, true },
	{ "three packets, and nothing arrives", 20000, 0, 3, 0, false },
	{ "no loss", 20000, 0, 0, 100, true },
	{ "everything is lost", 20000, 0, U32_MAX, 0, false },
	{ "the largest counters", 20000, 0, U32_MAX / 32, U32_MAX - U32_MAX / 32, true },
	{ "slow start, an eighth and two packets", 0, 0, 12, 68, true, true, true },
	{ "slow start, a packet more", 0, 0, 13, 67, false, true, true },
	{ "slow start, at a queue", 20000, 20000, 12, 68, true, true, true },
	{ "slow start, the path is full", 20000, 0, 1, 99, false, true, false },
	{ "after slow start a small window has no more", 20000, 0, 12, 68, false, false, true },
};

KUNIT_ARRAY_PARAM_DESC(own, own_cases, name);

static void own_losses_test(struct kunit *test)
{
	const struct own_case *c = test->param_value;
	struct ndm_bound b = { .most_us = c->most_us };
	struct ndm_bound_round round = {
		.queue_us = c->queue_us,
		.min_rtt_us = RTT_US,
		.carried = c->carried,
		.starting = c->starting,
		.unfilled = c->unfilled,
	};

	KUNIT_EXPECT_EQ(test, ndm_bound_own(&b, &round, c->lost), c->expected);
}

struct share_case {
	const char *name;
	u32 loss_per_mille;
	u32 least, most;	/* the window in the end; the policy wants 100 */
};

static const struct share_case share_cases[] = {
	{ "0.1 %", 1, 100, 100 },
	{ "1 %", 10, 100, 100 },
	{ "2 %", 20, 100, 100 },
	{ "3 %", 30, 100, 100 },
	{ "5 %: a thirty-second and two packets", 50, 100, 100 },
	{ "10 % is congestion", 100, 2, 50 },
	{ "20 % is congestion", 200, 2, 50 },
	{ "everything is lost", 1000, 2, 50 },
};

KUNIT_ARRAY_PARAM_DESC(share, share_cases, name);

/* Losses at any window, where a queue has been seen to build. */
static void lossy_path_test(struct kunit *test)
{
	const struct share_case *c = test->param_value;
	struct path p = path_seen(c->loss_per_mille, U32_MAX);
	u64 sum = 0;
	int i;

	path_pass_times(&p, 100, 200);
	for (i = 0; i < 200; i++) {
		path_pass(&p, 100);
		sum += PACKETS(p.cwnd_fp);
	}
	KUNIT_EXPECT_GE(test, div_u64(sum, 200), c->least);
	KUNIT_EXPECT_LE(test, div_u64(sum, 200), c->most);
}

/* The same losses at a full queue are congestion, and so they are where none has shown. */
static void losses_at_full_queue_test(struct kunit *test)
{
	struct path p = path_seen(0, U32_MAX);

	p.cwnd_fp = FP(150);
	p.loss_per_mille = 20;
	path_pass_times(&p, 150, 2);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 102);
	KUNIT_EXPECT_EQ(test, p.b.own, 0);

	p = path_of(100, 20, U32_MAX);
	path_pass_times(&p, 100, 2);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 68);
	KUNIT_EXPECT_EQ(test, p.b.own, 0);
}

/* A share of @per_mille of packets, Q16. */
static u32 own_of(u32 per_mille)
{
	return ((per_mille << NDM_FEATURE_FRAC) / 1000) << NDM_BOUND_OWN_FRAC;
}

static void own_share_follows_test(struct kunit *test)
{
	struct path p = path_seen(20, U32_MAX);

	path_pass(&p, 100);
	KUNIT_EXPECT_EQ(test, p.b.own, own_of(20) / 8);
	/* Rounding leaves it within 8 below. */
	path_pass_times(&p, 100, 100);
	KUNIT_EXPECT_LE(test, p.b.own, own_of(20));
	KUNIT_EXPECT_GT(test, p.b.own, own_of(20) - 8);
	p.loss_per_mille = 10;
	path_pass_times(&p, 100, 100);
	KUNIT_EXPECT_EQ(test, p.b.own, own_of(10));
	p.loss_per_mille = 0;
	path_pass_times(&p, 100, 100);
	KUNIT_EXPECT_EQ(test, p.b.own, 0);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
}

/* The path's own losses are no part of a sample: two others in it are too few. */
static void own_losses_are_no_sample_test(struct kunit *test)
{
	struct path p = path_seen(50, U32_MAX);

	path_pass_times(&p, 100, 4);
	KUNIT_EXPECT_EQ(test, p.lost, 20);
	p.b.own = 0;
	p.cwnd_fp = FP(150);
	p.loss_per_mille = 7;
	path_pass_times(&p, 150, 2);
	KUNIT_EXPECT_EQ(test, p.lost, 22);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
}

/* More than twice the path's own share is congestion. */
static void congestion_on_lossy_path_test(struct kunit *test)
{
	struct path p = path_seen(10, U32_MAX);

	path_pass_times(&p, 100, 100);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	/* At the queue's end: 1.5 % are less than twice as many, 4 % are more. */
	p.cwnd_fp = FP(150);
	p.loss_per_mille = 15;
	path_pass_times(&p, 150, 100);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	p.loss_per_mille = 40;
	path_pass_times(&p, 150, 8);
	KUNIT_EXPECT_TRUE(test, p.b.limit_fp);
	KUNIT_EXPECT_LT(test, PACKETS(p.cwnd_fp), 120);
}

/* Something drops what exceeds a rate: many are lost without a queue. */
static void policed_path_test(struct kunit *test)
{
	struct path p = path_seen(0, 80);

	path_pass_times(&p, 100, 3);
	KUNIT_EXPECT_TRUE(test, p.b.limit_fp);
	KUNIT_EXPECT_LT(test, PACKETS(p.cwnd_fp), 80);
}

/* Slow start loses packets before it has filled the path. */
static void losses_in_slow_start_test(struct kunit *test)
{
	struct path p = path_of(100, 100, U32_MAX);

	p.starting = true;
	p.unfilled = true;
	path_pass_times(&p, 100, 50);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 100);
	/* They may be those of the path, at most a thirty-second. */
	KUNIT_EXPECT_LE(test, p.b.own, NDM_BOUND_OWN_MAX << NDM_BOUND_OWN_FRAC);
	KUNIT_EXPECT_GT(test, p.b.own, (NDM_BOUND_OWN_MAX << NDM_BOUND_OWN_FRAC) - 8);
	p.unfilled = false;
	path_pass_times(&p, 100, NDM_BOUND_ROUNDS);
	KUNIT_EXPECT_TRUE(test, p.b.limit_fp);
}

/* Where no queue shows, what slow start has learned fades. */
static void own_share_fades_test(struct kunit *test)
{
	struct path p = path_of(100, 0, U32_MAX);

	p.b.own = 2000;
	p.starting = true;
	path_pass_times(&p, 100, 50);
	KUNIT_EXPECT_EQ(test, p.b.own, 2000);
	p.starting = false;
	path_pass(&p, 100);
	KUNIT_EXPECT_EQ(test, p.b.own, 1968);
	/* Rounded up, so that it ends. */
	path_pass_times(&p, 100, 300);
	KUNIT_EXPECT_EQ(test, p.b.own, 0);
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

/* The kernel undoes a recovery: its losses were none. Returns the window, in packets. */
static u32 path_undo(struct path *p)
{
	ndm_bound_forget(&p->b, p->lost);
	return PACKETS(ndm_bound_undo(&p->b));
}

static void undo_lifts_the_bound_test(struct kunit *test)
{
	struct path p = path_of(100, 0, 90);

	ndm_bound_recover(&p.b);
	path_pass_times(&p, 100, 2);
	KUNIT_EXPECT_EQ(test, PACKETS(p.cwnd_fp), 62);
	KUNIT_EXPECT_EQ(test, path_undo(&p), 100);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	KUNIT_EXPECT_EQ(test, path_undo(&p), 0);
	/* Losses that have been undone do not count. */
	p.cwnd_fp = FP(90);
	path_pass_times(&p, 90, 20);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
}

/* An undo takes back no cut of a recovery before. */
static void undo_of_a_later_recovery_test(struct kunit *test)
{
	struct path p = path_of(100, 0, 90);
	u32 limit_fp;

	ndm_bound_recover(&p.b);
	path_pass_times(&p, 100, 2);
	KUNIT_EXPECT_EQ(test, PACKETS(p.b.limit_fp), 62);
	/* A recovery without a cut. */
	ndm_bound_recover(&p.b);
	path_pass(&p, 100);
	limit_fp = p.b.limit_fp;
	KUNIT_EXPECT_EQ(test, PACKETS(limit_fp), 62);
	KUNIT_EXPECT_EQ(test, path_undo(&p), 0);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, limit_fp);
	/* One with two: the bound of the first recovery comes back. */
	ndm_bound_recover(&p.b);
	p.room = 50;
	path_pass(&p, 100);
	limit_fp = p.b.limit_fp;
	KUNIT_EXPECT_EQ(test, PACKETS(limit_fp), 62);
	path_pass(&p, 100);
	KUNIT_EXPECT_LT(test, p.b.limit_fp, FP(50));
	p.room = 20;
	path_pass_times(&p, 100, 3);
	KUNIT_EXPECT_LT(test, p.b.limit_fp, FP(30));
	KUNIT_EXPECT_EQ(test, path_undo(&p), 62);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, limit_fp);
}

static void path_mark(struct path *p)
{
	ndm_bound_mark(&p->b, p->now_us, p->cwnd_fp);
	p->cwnd_fp = ndm_bounded(&p->b, p->cwnd_fp);
}

/* A mark is no loss: an undo does not take its cut back. */
static void undo_beside_a_mark_test(struct kunit *test)
{
	struct path p = path_of(100, 0, U32_MAX);
	u32 limit_fp;

	ndm_bound_recover(&p.b);
	path_mark(&p);
	limit_fp = p.b.limit_fp;
	KUNIT_EXPECT_EQ(test, path_undo(&p), 0);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, limit_fp);
	p.room = 50;
	path_pass(&p, 100);
	limit_fp = p.b.limit_fp;
	path_pass(&p, 100);
	KUNIT_EXPECT_LT(test, p.b.limit_fp, limit_fp);
	path_undo(&p);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, limit_fp);
	/* Nor a cut before it, which the mark confirms. */
	path_pass_times(&p, 100, 3);
	KUNIT_EXPECT_NE(test, p.b.uncut_fp, 0);
	path_mark(&p);
	limit_fp = p.b.limit_fp;
	KUNIT_EXPECT_EQ(test, path_undo(&p), 0);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, limit_fp);
}

/*
 * The sample of the losses has larger windows, from before the marks: 0.7 of them is more than
 * the marks have left.
 */
static void losses_after_marks_test(struct kunit *test)
{
	struct path p;
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
		KUNIT_EXPECT_EQ(test, PACKETS(p.b.limit_fp), 49);
		path_pass(&p, 100);
		KUNIT_EXPECT_EQ(test, PACKETS(p.b.limit_fp), 49);
	}
}

/* Congestion shows in a sample of eight round trips, in two of them at least. */
static void sample_test(struct kunit *test)
{
	struct path p = path_of(100, 0, U32_MAX);
	int i;

	for (i = 0; i < 40; i++) {
		p.room = i % NDM_BOUND_ROUNDS ? U32_MAX : 90;
		path_pass(&p, 100);
	}
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
	for (i = 0; i < NDM_BOUND_ROUNDS; i++) {
		KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
		p.room = i % (NDM_BOUND_ROUNDS - 1) ? U32_MAX : 90;
		path_pass(&p, 100);
	}
	KUNIT_EXPECT_EQ(test, PACKETS(p.b.limit_fp), 69);
	/* The packets of the next round trip were sent before the cut. */
	p.cwnd_fp = FP(100);
	p.room = 60;
	path_pass(&p, 100);
	KUNIT_EXPECT_EQ(test, PACKETS(p.b.limit_fp), 69);
}

/* The bound grows from the ninth round trip after a cut on. */
static void held_test(struct kunit *test)
{
	struct path p = path_of(100, 0, 90);
	u32 cut_fp;

	path_pass_times(&p, 100, 2);
	cut_fp = p.b.limit_fp;
	KUNIT_EXPECT_EQ(test, PACKETS(cut_fp), 62);
	p.room = U32_MAX;
	path_pass_times(&p, 100, NDM_BOUND_ROUNDS);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, cut_fp);
	path_pass(&p, 100);
	KUNIT_EXPECT_GE(test, p.b.limit_fp, cut_fp + NDM_CWND_ONE);
}

/* Two packets in eight round trips are too few. */
static void two_losses_test(struct kunit *test)
{
	struct path p = path_of(100, 0, U32_MAX);
	int i;

	for (i = 0; i < 80; i++) {
		p.room = i % 4 ? U32_MAX : 99;
		path_pass(&p, 100);
	}
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
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

static void largest_counters_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ndm_bound_share(0, 0), 0);
	KUNIT_EXPECT_EQ(test, ndm_bound_share(0, U32_MAX), 0);
	KUNIT_EXPECT_EQ(test, ndm_bound_share(1U << 30, 3U << 30), 1024);
	KUNIT_EXPECT_EQ(test, ndm_bound_share(S32_MAX, U32_MAX), 1365);
	KUNIT_EXPECT_EQ(test, ndm_bound_share(U32_MAX, 0), NDM_ONE);
}

/* -- a flow that follows the bound ------------------------------------------- */

/* A round trip, later by RTT_US, of a window that has been carried whole. */
static void next_round(struct ndm_bound_round *r, u32 cwnd)
{
	r->now_us += RTT_US;
	r->length_us = RTT_US;
	r->rtt_us = RTT_US;
	r->carried = cwnd;
	r->cwnd_fp = FP(cwnd);
}

static void follow_test(struct kunit *test)
{
	struct ndm_bound_round r = {};
	struct ndm_bound b = {};

	next_round(&r, 100);
	ndm_bound_follow(&b, &r, false, false);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 100);
	next_round(&r, 100);
	ndm_bound_follow(&b, &r, false, false);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 101);
	/* One loss is enough. */
	next_round(&r, 101);
	ndm_bound_follow(&b, &r, true, false);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 70);
	/* The next ones were sent before the cut. */
	next_round(&r, 101);
	ndm_bound_follow(&b, &r, true, false);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 71);
	next_round(&r, 71);
	ndm_bound_follow(&b, &r, true, false);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 49);
	/* After a minute without loss: from the window. */
	r.now_us += NDM_BOUND_US;
	next_round(&r, 500);
	ndm_bound_follow(&b, &r, false, false);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 500);
}

/* Until the link is known to be full, a quarter of the window more. */
static void probing_test(struct kunit *test)
{
	struct ndm_bound_round r = {};
	struct ndm_bound b = {};

	next_round(&r, 100);
	ndm_bound_follow(&b, &r, false, true);
	KUNIT_EXPECT_EQ(test, b.limit_fp, FP(100));
	/* 25 and 1 */
	next_round(&r, 100);
	ndm_bound_follow(&b, &r, false, true);
	KUNIT_EXPECT_EQ(test, b.limit_fp, FP(126));
	/* A loss ends it like any growth. */
	next_round(&r, 126);
	ndm_bound_follow(&b, &r, true, true);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 88);
	b.limit_fp = FP(NDM_CWND_MAX);
	next_round(&r, NDM_CWND_MAX);
	ndm_bound_follow(&b, &r, false, true);
	KUNIT_EXPECT_EQ(test, b.limit_fp, FP(NDM_CWND_MAX));
}

/* The losses of contest are none after it: a sample begins with its end. */
static void losses_before_sample_test(struct kunit *test)
{
	struct path p = path_of(100, 0, 90);
	struct ndm_bound_round r = {};
	int i;

	path_pass(&p, 100);
	for (i = 0; i < 20; i++) {
		next_round(&r, 100);
		r.lost = p.lost += 10;
		r.delivered = p.delivered += 90;
		ndm_bound_follow(&p.b, &r, true, false);
	}
	ndm_bound_lift(&p.b);
	p.b.skip = false;
	p.now_us = r.now_us;
	p.cwnd_fp = FP(100);
	p.room = 99;
	path_pass_times(&p, 100, 2);
	KUNIT_EXPECT_EQ(test, p.b.limit_fp, 0);
}

/* Without a window yet, two packets. */
static void smallest_bound_test(struct kunit *test)
{
	struct ndm_bound_round r = {};
	struct ndm_bound b = {};

	next_round(&r, 0);
	ndm_bound_follow(&b, &r, false, true);
	KUNIT_EXPECT_EQ(test, b.limit_fp, FP(NDM_CWND_MIN));
}

/* A flow begins to follow the bound with its window, not with an old bound. */
static void lift_test(struct kunit *test)
{
	struct ndm_bound_round r = {};
	struct ndm_bound b = {};

	ndm_bound_cut(&b, 0, FP(10));
	ndm_bound_lift(&b);
	KUNIT_EXPECT_EQ(test, ndm_bounded(&b, FP(200)), FP(200));
	next_round(&r, 200);
	ndm_bound_follow(&b, &r, false, false);
	KUNIT_EXPECT_EQ(test, PACKETS(b.limit_fp), 200);
}

static struct kunit_case bound_cases[] = {
	KUNIT_CASE_PARAM(cut_test, cut_gen_params),
	KUNIT_CASE_PARAM(grow_test, grow_gen_params),
	KUNIT_CASE(bound_ends_test),
	KUNIT_CASE(growth_without_rtt_test),
	KUNIT_CASE(overload_test),
	KUNIT_CASE_PARAM(own_losses_test, own_gen_params),
	KUNIT_CASE_PARAM(lossy_path_test, share_gen_params),
	KUNIT_CASE(losses_at_full_queue_test),
	KUNIT_CASE(own_share_follows_test),
	KUNIT_CASE(own_share_fades_test),
	KUNIT_CASE(own_losses_are_no_sample_test),
	KUNIT_CASE(congestion_on_lossy_path_test),
	KUNIT_CASE(policed_path_test),
	KUNIT_CASE(losses_in_slow_start_test),
	KUNIT_CASE(cut_from_what_was_carried_test),
	KUNIT_CASE(slow_start_overshoot_test),
	KUNIT_CASE(overshoot_of_smallest_window_test),
	KUNIT_CASE(single_burst_is_no_congestion_test),
	KUNIT_CASE(undo_lifts_the_bound_test),
	KUNIT_CASE(undo_of_a_later_recovery_test),
	KUNIT_CASE(undo_beside_a_mark_test),
	KUNIT_CASE(losses_after_marks_test),
	KUNIT_CASE(sample_test),
	KUNIT_CASE(held_test),
	KUNIT_CASE(two_losses_test),
	KUNIT_CASE(counters_may_fall_test),
	KUNIT_CASE(largest_counters_test),
	KUNIT_CASE(follow_test),
	KUNIT_CASE(probing_test),
	KUNIT_CASE(losses_before_sample_test),
	KUNIT_CASE(smallest_bound_test),
	KUNIT_CASE(lift_test),
	{}
};

static struct kunit_suite bound_suite = {
	.name = "ndm_bound",
	.test_cases = bound_cases,
};

kunit_test_suite(bound_suite);

MODULE_DESCRIPTION("KUnit tests of NDM's bound");
MODULE_LICENSE("GPL");
