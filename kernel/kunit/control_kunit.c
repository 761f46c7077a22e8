// SPDX-License-Identifier: GPL-2.0
/*
 * The control loop on a struct tcp_sock without a connection, with its fields as the
 * kernel would set them.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "ndm/tcp/ndm_ops.h"
#include "ndm/tcp/ndm_policy.h"
#include "ndm/tcp/ndm_reno.h"

#define MSS 1448
#define RTT_US 40000

/* The pacing rate, bytes/s, of gain_pct percent of cwnd / srtt. */
#define RATE(cwnd, srtt_us, gain_pct) \
	((u64)(cwnd) * MSS * 10000 * (gain_pct) / (srtt_us))

/* -- a socket -------------------------------------------------------------- */

static atomic_t flows = ATOMIC_INIT(0);

static void release_socket(void *sk)
{
	ndm_op_release(sk);
}

/* Established, after slow start, a fully used window of 10 packets, RTT_US. */
static struct sock *new_socket(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	write_pnet(&sk->sk_net, &init_net);
	sk->sk_max_pacing_rate = ~0UL;
	inet_csk(sk)->icsk_rto = HZ;
	tp->mss_cache = MSS;
	tp->snd_cwnd_clamp = ~0U;
	tp->snd_ssthresh = NDM_CWND_MIN;
	tp->srtt_us = RTT_US << 3;
	tp->mdev_us = RTT_US / 8 << 2;
	tp->is_cwnd_limited = 1;
	tp->lsndtime = tcp_jiffies32;
	tcp_snd_cwnd_set(tp, 10);
	ndm_op_init(sk, atomic_inc_return(&flows));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release_socket, sk), 0);
	return sk;
}

/* RTT_US after the last ACK: an ACK of packets that were sent a round trip ago. */
static struct rate_sample ack_packets(struct sock *sk, u32 packets)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs = {
		.prior_delivered = tp->delivered,
		.delivered = packets,
		.acked_sacked = packets,
		.rtt_us = RTT_US,
	};

	tp->delivered += packets;
	tp->first_tx_mstamp = tp->tcp_mstamp;
	tp->tcp_mstamp += RTT_US;
	return rs;
}

static int decisions;
static struct ndm_interval last_interval;
static s16 next_actions[NDM_OUTPUTS];

static bool decide(struct sock *sk, struct ndm_sock *ndm, u32 decision,
		   const struct ndm_interval *interval, s16 *actions)
{
	decisions++;
	last_interval = *interval;
	memcpy(actions, next_actions, sizeof(next_actions));
	return true;
}

static bool do_not_decide(struct sock *sk, struct ndm_sock *ndm, u32 decision,
			  const struct ndm_interval *interval, s16 *actions)
{
	decisions++;
	return false;
}

static void control(struct sock *sk, const struct rate_sample *rs,
		    ndm_decide_fn *decider)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_desk desk;

	if (ndm_ack(sk, ndm, rs))
		ndm_end_interval(sk, ndm, &desk, decider);
}

/* One interval and its decision. */
static void round_trip(struct sock *sk, s16 growth, s16 pacing)
{
	struct rate_sample rs = ack_packets(sk, 10);

	next_actions[NDM_OUT_GROWTH] = growth;
	next_actions[NDM_OUT_PACING] = pacing;
	control(sk, &rs, decide);
}

/* -- decisions ------------------------------------------------------------- */

static void one_decision_per_interval_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct rate_sample rs = ack_packets(sk, 1);
	int before = decisions;
	int i;

	/* Packets from before the interval: no packet-timed round trip yet. */
	rs.prior_delivered = -1;
	for (i = 0; i < 100; i++)
		control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, decisions, before);
	rs = ack_packets(sk, 1);
	control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, decisions, before + 1);
	/* The next ACK at the same time: shorter than NDM_INTERVAL_MIN_US. */
	rs = ack_packets(sk, 1);
	tcp_sk(sk)->tcp_mstamp -= RTT_US;
	control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, decisions, before + 1);
	/* An invalid rate sample. */
	rs = ack_packets(sk, 1);
	rs.delivered = -1;
	control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, decisions, before + 1);
}

/* The path has no queue: a decision adds a thirty-second and 3 * 2^action packets. */
struct window_case {
	const char *name;
	u32 cwnd;
	s16 action;
	bool limited;
	u32 clamp, expected;
};

static const struct window_case window_cases[] = {
	{ "action 0", 10, 0, true, ~0U, 13 },
	{ "action 0 on a large window", 10000, 0, true, ~0U, 10315 },
	{ "action 1", 100, 16384, true, ~0U, 109 },
	{ "action 0.5", 100, 8192, true, ~0U, 107 },
	{ "action -1", 100, -16384, true, ~0U, 104 },
	{ "an unused window does not grow", 10, 16384, false, ~0U, 10 },
	{ "the maximum stays", NDM_CWND_MAX, 16384, true, ~0U, NDM_CWND_MAX },
	{ "growth ends at the maximum", NDM_CWND_MAX - 1, -16384, true, ~0U, NDM_CWND_MAX },
	{ "growth ends at the socket's clamp", 100, 16384, true, 105, 105 },
	{ "actions above 1 are clamped", 100, S16_MAX, true, ~0U, 109 },
	{ "actions below -1 are clamped", 100, S16_MIN, true, ~0U, 104 },
};

KUNIT_ARRAY_PARAM_DESC(window, window_cases, name);

static void window_test(struct kunit *test)
{
	const struct window_case *c = test->param_value;
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, c->cwnd);
	tp->snd_ssthresh = 1;	/* slow start has another rule for unused windows */
	tp->is_cwnd_limited = c->limited;
	tp->snd_cwnd_clamp = c->clamp;
	round_trip(sk, c->action, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), c->expected);
}

/* With a queue of half of the RTT, a decision adds 9 * 2^growth packets, and a third goes. */
struct next_case {
	const char *name;
	u32 cwnd_fp, queue_us, explained_us;
	s16 growth;
	u64 expected;	/* with 8 fraction bits */
};

static const struct next_case next_cases[] = {
	{ "no queue: 100 + 3 + 100 / 32", 25600, 0, 40000, 0, 27168 },
	{ "no queue, twice as much", 25600, 0, 40000, 16384, 27936 },
	{ "no queue, half", 25600, 0, 40000, -16384, 26784 },
	{ "a queue of a sixty-fourth", 25600, 625, 40000, 0, 26445 },
	{ "of a thirty-second", 25600, 1250, 40000, 0, 25731 },
	{ "18 packets stay", 4608, 20000, 40000, 0, 4608 },
	{ "90 fall to 66", 23040, 20000, 40000, 0, 16896 },
	{ "3 grow to 8", 768, 20000, 40000, 0, 2048 },
	{ "growth 1: 36 stay", 9216, 20000, 40000, 16384, 9216 },
	{ "growth -1: 9", 2304, 20000, 40000, -16384, 2304 },
	{ "growth above 1", 9216, 20000, 40000, S16_MAX, 9216 },
	{ "growth below -1", 2304, 20000, 40000, S16_MIN, 2304 },
	{ "no packets", 0, 0, 40000, 0, 768 },
	{ "largest window, no queue", 1U << 31, 0, U32_MAX, 16384, 2214594048ULL },
	{ "largest window, largest RTT and queue", 1U << 31, 1 << 30, U32_MAX, -16384, 1717987604 },
	{ "nothing explained", 1U << 31, 1 << 30, 0, 16384, 2 },
	{ "nothing explained, no queue", 1U << 31, 0, 0, 0, 2214593280ULL },
	{ "any queue", 1U << 31, U32_MAX, U32_MAX, 16384, 1073744980 },
	{ "any queue, nothing explained", 1U << 31, U32_MAX, 0, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(next, next_cases, name);

static void next_cwnd_test(struct kunit *test)
{
	const struct next_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, ndm_next_cwnd(c->cwnd_fp, c->queue_us, c->explained_us, c->growth),
			c->expected);
}

/* Whatever the action is. */
static void windows_grow_without_a_queue_test(struct kunit *test)
{
	u32 cwnd_fp, queue_us;
	s32 growth;

	for (cwnd_fp = NDM_CWND_MIN << NDM_CWND_FRAC; cwnd_fp <= 1U << 30; cwnd_fp *= 2)
		for (queue_us = 0; queue_us <= RTT_US / 64; queue_us += RTT_US / 64)
			for (growth = -16384; growth <= 16384; growth += 8192)
				KUNIT_EXPECT_GT(test, ndm_next_cwnd(cwnd_fp, queue_us, RTT_US,
								    growth), cwnd_fp);
}

/* The window after many decisions with a queue of so many eighths of RTT_US. */
static u32 resting_cwnd_fp(u32 cwnd_fp, u32 eighths, s16 growth)
{
	int i;

	for (i = 0; i < 1000; i++)
		cwnd_fp = ndm_next_cwnd(cwnd_fp, eighths * RTT_US / 8, RTT_US, growth);
	return cwnd_fp;
}

/* What all flows see, the queue, and not the window before decides on the window. */
static void windows_converge_test(struct kunit *test)
{
	u32 eighths, last_fp = U32_MAX;

	for (eighths = 1; eighths <= 64; eighths *= 2) {
		u32 low_fp = resting_cwnd_fp(NDM_CWND_MIN << NDM_CWND_FRAC, eighths, 0);
		u32 high_fp = resting_cwnd_fp(NDM_CWND_MAX << NDM_CWND_FRAC, eighths, 0);

		/* A step of less than a 256th of a packet is none. */
		KUNIT_EXPECT_LE(test, low_fp, high_fp);
		KUNIT_EXPECT_LE(test, high_fp - low_fp, 8 / eighths + 1);
		/* A longer queue makes it smaller, a larger action larger. */
		KUNIT_EXPECT_LT(test, high_fp, last_fp);
		KUNIT_EXPECT_GT(test, resting_cwnd_fp(low_fp, eighths, 1000), high_fp);
		KUNIT_EXPECT_LT(test, resting_cwnd_fp(high_fp, eighths, -1000), low_fp);
		last_fp = low_fp;
	}
}

static void fractions_of_a_packet_add_up_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	tcp_snd_cwnd_set(tcp_sk(sk), 4);
	/* One and a half packets and a thirty-second: 5.62, 7.3. */
	round_trip(sk, -16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 5);
	round_trip(sk, -16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 7);
}

/* A decision after an interval with RTTs of @rtt_us, negative: none. Returns the window. */
static u32 cwnd_after(struct sock *sk, u32 cwnd, int rtt_us, s16 growth)
{
	struct rate_sample rs = ack_packets(sk, 10);

	tcp_snd_cwnd_set(tcp_sk(sk), cwnd);
	rs.rtt_us = rtt_us;
	next_actions[NDM_OUT_GROWTH] = growth;
	control(sk, &rs, decide);
	return tcp_snd_cwnd(tcp_sk(sk));
}

static void window_follows_queue_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 100, RTT_US, 0), 106);
	/* The RTT of the interval counts, while the smoothed RTT stays. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 18, RTT_US / 2 * 3, 0), 18);
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 36, RTT_US / 2 * 3, 16384), 36);
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, RTT_US / 2 * 3, 0), 66);
	/* Without an RTT there is no queue to follow, and it is no empty path. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, -1, 16384), 90);
	/* The smallest window: a queue of ten times the RTT, once it counts: (2 + 19) / 11. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 2, 11 * RTT_US, -16384), 4);
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 2, 11 * RTT_US, -16384), 2);
}

/* The path's RTT without a queue is RTT_US. */
struct window_queue_case {
	const char *name;
	u32 mean_us, least_us, last_us;
	u16 variation;
	u32 expected;
};

static const struct window_queue_case window_queue_cases[] = {
	{ "none", 40000, 40000, 40000, 0, 0 },
	{ "one RTT", 60000, 60000, 40000, 0, 20000 },
	{ "half-way to the smallest", 60000, 50000, 40000, 0, 15000 },
	{ "half of a microsecond", 60001, 60000, 40000, 0, 20001 },
	{ "half-way to one shorter than the path's", 60000, 30000, 40000, 0, 5000 },
	{ "half-way is shorter than the path's", 44000, 30000, 40000, 0, 0 },
	{ "no RTT", 0, U32_MAX, 60000, 0, 0 },
	{ "a first interval", 100000, 100000, 0, 0, 60000 },
	{ "grown", 100000, 100000, 60000, 0, 20000 },
	{ "grown at the mean and half-way", 100000, 80000, 60000, 0, 20000 },
	{ "grown at the mean alone", 100000, 40000, 80000, 0, 30000 },
	{ "shrunk", 60000, 60000, 100000, 0, 20000 },
	{ "gone", 40000, 40000, 100000, 0, 0 },
	{ "grown from the shortest queue", 100000, 100000, 41250, 0, 1250 },
	{ "grown from less than that", 100000, 100000, 41249, 0, 60000 },
	{ "a quarter of variation", 100000, 100000, 40000, 1024, 60000 },
	{ "more than that: 100000 * 1025 / 2048 less", 100000, 100000, 40000, 1025, 9952 },
	{ "the deviation is that of the mean", 200000, 150000, 40000, 1025, 34903 },
	{ "grown, and less the deviation", 200000, 200000, 190000, 1025, 49903 },
	{ "a half of variation", 100000, 100000, 40000, 2048, 0 },
	{ "the longest RTT", NDM_RTT_MAX_US, NDM_RTT_MAX_US, 0, 0, NDM_RTT_MAX_US - 40000 },
	{ "the longest RTT and variation", NDM_RTT_MAX_US, 0, NDM_RTT_MAX_US, S16_MAX, 0 },
};

KUNIT_ARRAY_PARAM_DESC(window_queue, window_queue_cases, name);

static void window_queue_test(struct kunit *test)
{
	const struct window_queue_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, ndm_window_queue_us(c->mean_us, c->least_us, c->last_us,
						  c->variation, RTT_US), c->expected);
}

/* Nothing is explained, or all that can be. */
static void window_queue_limits_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ndm_window_queue_us(100, 100, 0, 0, 0), 100);
	KUNIT_EXPECT_EQ(test, ndm_window_queue_us(100, 100, 1, 0, 0), 1);
	KUNIT_EXPECT_EQ(test, ndm_window_queue_us(100, 100, 100, S16_MAX, U32_MAX), 0);
}

/* The window that has answered shows in the next RTT but one. */
static void grown_queue_is_answered_once_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	cwnd_after(sk, 90, RTT_US, 0);
	/* It is new: (90 + 9) / 1.5. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, RTT_US / 2 * 3, 0), 66);
	/* It is twice as long, which counts one decision later: (90 + 12.4) / 2. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, 2 * RTT_US, 0), 66);
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, 2 * RTT_US, 0), 51);
	/* It shrinks at once. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, RTT_US / 2 * 3, 0), 66);
	/* After an interval without one at once: 90 + 3 + 90 / 32. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, RTT_US, 0), 95);
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, 2 * RTT_US, 0), 51);
}

/* An interval with RTTs of 40 and 80 ms has a queue of 10 ms: (90 + 6.7) / 1.25. */
static void bursts_are_half_a_queue_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct rate_sample rs = { .prior_delivered = -1, .rtt_us = RTT_US };

	cwnd_after(sk, 90, RTT_US, 0);
	control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, 2 * RTT_US, 0), 77);
	KUNIT_EXPECT_EQ(test, last_interval.rtt_us, RTT_US / 2 * 3);
}

/* Where the smoothed RTT varies by more than a quarter, twice the deviation is no queue. */
static void variation_is_no_queue_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	cwnd_after(sk, 90, RTT_US, 0);
	tcp_sk(sk)->mdev_us = RTT_US / 4 << 2;
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, RTT_US / 2 * 3, 0), 66);
	/* 20 ms less 2 * 15 ms. */
	tcp_sk(sk)->mdev_us = (RTT_US / 4 + 10) << 2;
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 90, RTT_US / 2 * 3, 0), 95);
}

/* The time that packets wait for others to be sent is no queue. */
static void wait_is_no_queue_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);

	cwnd_after(sk, 100, RTT_US, 0);
	/* This interval, without a wait, takes a quarter of it away. */
	ndm->measure.wait_us = RTT_US;
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 100, RTT_US / 2 * 3, 0), 106);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->empty, 2);
}

static void no_decision_changes_nothing_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct rate_sample rs = ack_packets(sk, 10);
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);
	int before = decisions;

	tcp_snd_cwnd_set(tcp_sk(sk), 30);
	control(sk, &rs, do_not_decide);
	KUNIT_EXPECT_EQ(test, decisions, before + 1);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 30);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_pacing_rate), rate);
}

/* As tcp_set_ca_state() does. */
static void change_state(struct sock *sk, u8 state)
{
	ndm_op_set_state(sk, state);
	inet_csk(sk)->icsk_ca_state = state;
}

/* An ACK within an interval. */
static void acked(struct sock *sk, int packets)
{
	struct rate_sample rs = { .prior_delivered = -1, .rtt_us = -1,
				  .acked_sacked = packets };

	control(sk, &rs, decide);
}

/* The flow's window: it is taken over with an ACK. */
static void set_window(struct sock *sk, u32 cwnd)
{
	tcp_snd_cwnd_set(tcp_sk(sk), cwnd);
	acked(sk, 1);
}

/* The kernel takes @packets for lost, and sends them again. */
static void lose(struct sock *sk, u32 packets)
{
	tcp_sk(sk)->lost += packets;
	tcp_sk(sk)->total_retrans += packets;
}

/* -- slow start ------------------------------------------------------------ */

struct queue_case {
	const char *name;
	u32 low_rtt_us, min_rtt_us;
	bool expected;
};

static const struct queue_case queue_cases[] = {
	{ "no minimum yet", 50000, 0, false },
	{ "an RTT less than an eighth larger", 44999, 40000, false },
	{ "an RTT an eighth larger", 45000, 40000, true },
	{ "a shorter RTT", 30000, 40000, false },
	{ "125 us of jitter at 1 ms", 1125, 1000, false },
	{ "250 us more at 1 ms", 1250, 1000, true },
	{ "15.9 ms more at 300 ms", 315900, 300000, false },
	{ "16 ms more at 300 ms", 316000, 300000, true },
	{ "largest RTT", NDM_RTT_MAX_US, NDM_RTT_MAX_US, false },
};

KUNIT_ARRAY_PARAM_DESC(queue, queue_cases, name);

static void slow_start_queue_test(struct kunit *test)
{
	const struct queue_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, ndm_slow_start_queue(c->low_rtt_us, c->min_rtt_us),
			c->expected);
}

/* A socket before its first decision. */
static struct sock *slow_start_socket(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tcp_sk(sk)->is_cwnd_limited = 0;
	tcp_sk(sk)->max_packets_out = 10;
	((struct ndm_sock *)inet_csk_ca(sk))->phase = NDM_STARTING;
	return sk;
}

/* @acks ACKs of one packet each with an RTT of @rtt_us; the last one ends the interval. */
static void start_round(struct sock *sk, int acks, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 begun = tp->delivered;
	struct rate_sample rs;
	int i;

	next_actions[NDM_OUT_GROWTH] = -16384;
	for (i = 1; i <= acks; i++) {
		rs = ack_packets(sk, 1);
		tp->tcp_mstamp -= RTT_US;
		rs.rtt_us = rtt_us;
		rs.prior_delivered = i < acks ? begun - 1 : begun;
		if (i == acks)
			tp->tcp_mstamp += RTT_US;
		tp->first_tx_mstamp = tp->tcp_mstamp - RTT_US;
		tp->max_packets_out = tcp_snd_cwnd(tp);
		control(sk, &rs, decide);
	}
}

static void slow_start_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	/* A packet for each one acknowledged, whatever the policy says. */
	start_round(sk, 10, RTT_US);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_pacing_rate) / 1000,
			RATE(20, RTT_US, 250) / 1000);
	start_round(sk, 20, RTT_US);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 40);
	/* An unused window does not grow. */
	tp->max_packets_out = 10;
	acked(sk, 5);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 40);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
}

static void queue_ends_slow_start_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	start_round(sk, 20, RTT_US);
	/* The eighth sample shows the sign, which halves 30 + 7 packets and holds them. */
	start_round(sk, 20, RTT_US + RTT_US / 8);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_CONFIRMING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 18);
	/* It does not show again. */
	start_round(sk, 8, RTT_US);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	/* It does: what the path holds at 20 packets in a round trip stays. */
	start_round(sk, 8, RTT_US + RTT_US / 8);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_CONFIRMING);
	start_round(sk, 20, RTT_US + RTT_US / 8);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_SETTLING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 21);
	/* The policy has to wait until its inputs show that, whatever the queue is. */
	start_round(sk, 20, RTT_US / 2 * 3);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STEADY);
	KUNIT_EXPECT_LT(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 21);
	/* (21.25 + 4.5) / 1.5 */
	start_round(sk, 20, RTT_US / 2 * 3);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 17);
}

/* RTTs grow, but so does the rate: ACKs arrive in bursts, and the link is not full. */
static void growing_rate_continues_slow_start_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	start_round(sk, 10, RTT_US);
	/* The sign halves 20 + 7 packets, the rate restores them. */
	start_round(sk, 20, RTT_US + RTT_US / 8);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_CONFIRMING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 27);
	start_round(sk, 26, RTT_US + RTT_US / 8);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 27);
	/* With few samples the sign shows only at the interval's end. */
	start_round(sk, 5, RTT_US);
	tp->delivered += 95;
	start_round(sk, 5, RTT_US + RTT_US / 8);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_CONFIRMING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 37);
}

/* -- packet trains --------------------------------------------------------- */

/* ACKs of @packets packets each, that were sent @sent_us apart and arrive @acked_us apart. */
struct acks {
	int count;
	u32 packets, sent_us, acked_us;
};

struct train_case {
	const char *name;
	struct acks acks[3];
	u32 expected;		/* packets that a path of 40 ms holds; 0: unknown */
};

static const struct train_case train_cases[] = {
	{ "as fast as they were sent", { { 100, 1, 500, 500 } } },
	{ "an eighth slower", { { 100, 1, 800, 900 } } },
	{ "slower than that", { { 100, 1, 800, 901 } }, 44 },
	{ "twice as slow", { { 100, 1, 250, 500 } }, 79 },
	{ "faster than they were sent", { { 100, 1, 500, 250 } } },
	{ "a pause in between", { { 20, 1, 250, 500 }, { 1, 1, 20000, 15000 },
				  { 20, 1, 250, 500 } }, 79 },
	{ "a pause of ACKs, then a burst", { { 20, 1, 500, 500 }, { 1, 1, 500, 20000 },
					     { 50, 1, 500, 200 } }, 199 },
	{ "one ACK for many packets", { { 10, 40, 10000, 20000 } }, 79 },
	{ "few packets", { { 7, 1, 1000, 5000 } } },
	{ "too short", { { 48, 1, 10, 100 } } },
	{ "at once", { { 100, 1, 0, 0 } } },
	{ "largest", { { 2, 1U << 31, 0, RTT_US / 8 } }, NDM_CWND_MAX },
};

KUNIT_ARRAY_PARAM_DESC(train, train_cases, name);

static void train_test(struct kunit *test)
{
	const struct train_case *c = test->param_value;
	u32 now_us = U32_MAX - 10000, sent_us = now_us - RTT_US, delivered = U32_MAX - 10;
	u32 expected = c->expected ? c->expected : NDM_TRAIN_UNKNOWN >> NDM_CWND_FRAC;
	struct ndm_train train = {};
	int i, k;

	ndm_train_ack(&train, now_us, sent_us, delivered, RTT_US);
	for (i = 0; i < ARRAY_SIZE(c->acks); i++)
		for (k = 0; k < c->acks[i].count; k++) {
			now_us += c->acks[i].acked_us;
			sent_us += c->acks[i].sent_us;
			delivered += c->acks[i].packets;
			ndm_train_ack(&train, now_us, sent_us, delivered, RTT_US);
		}
	KUNIT_EXPECT_EQ(test, ndm_train_bdp(&train, RTT_US) >> NDM_CWND_FRAC, expected);
	/* It is known for one interval more. */
	ndm_train_close(&train);
	KUNIT_EXPECT_EQ(test, ndm_train_bdp(&train, RTT_US) >> NDM_CWND_FRAC, expected);
	ndm_train_close(&train);
	KUNIT_EXPECT_EQ(test, ndm_train_bdp(&train, RTT_US), NDM_TRAIN_UNKNOWN);
}

struct grow_case {
	const char *name;
	u32 cwnd, acked, bdp;	/* packets; bdp 0: unknown */
	u32 grown, held;
};

static const struct grow_case grow_cases[] = {
	{ "unknown", 100, 10, 0, 110, 50 },
	{ "far below", 100, 10, 1000, 110, 100 },
	{ "three sixteenths more", 100, 10, 88, 104, 100 },
	{ "reached", 119, 10, 100, 119, 118 },
	{ "beyond", 200, 10, 100, 200, 118 },
	{ "far beyond", 1000, 10, 100, 1000, 500 },
	{ "an initial window", 10, 10, 0, 20, 10 },
	{ "the largest window", NDM_CWND_MAX, NDM_CWND_MAX, NDM_CWND_MAX,
	  NDM_CWND_MAX / 16 * 19, NDM_CWND_MAX },
};

KUNIT_ARRAY_PARAM_DESC(grow, grow_cases, name);

static void slow_start_window_test(struct kunit *test)
{
	const struct grow_case *c = test->param_value;
	u32 bdp_fp = c->bdp ? c->bdp << NDM_CWND_FRAC : NDM_TRAIN_UNKNOWN;
	u32 cwnd_fp = c->cwnd << NDM_CWND_FRAC;

	KUNIT_EXPECT_EQ(test, ndm_slow_start_grow(cwnd_fp, c->acked, bdp_fp) >> NDM_CWND_FRAC,
			c->grown);
	KUNIT_EXPECT_EQ(test, ndm_slow_start_hold(cwnd_fp, 10 << NDM_CWND_FRAC, bdp_fp) >>
			NDM_CWND_FRAC, c->held);
}

/* Packets are sent twice as fast as a link of 50 packets in a round trip carries them. */
static void spread_trains_limit_slow_start_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs;
	u64 begun_us;
	int i;

	start_round(sk, 40, RTT_US);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 50);
	begun_us = tp->first_tx_mstamp;
	for (i = 0; i < 50; i++) {
		rs = ack_packets(sk, 1);
		rs.prior_delivered = i < 49 ? tp->delivered - 60 : tp->delivered - 50;
		tp->tcp_mstamp += RTT_US / 50 - RTT_US;
		tp->first_tx_mstamp = begun_us + (i + 1) * RTT_US / 100;
		tp->max_packets_out = tcp_snd_cwnd(tp);
		control(sk, &rs, decide);
	}
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 59);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_pacing_rate) / 1000,
			RATE(59, RTT_US, 125) / 1000);
	/* A queue does not halve it. */
	start_round(sk, 20, RTT_US + RTT_US / 8);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_CONFIRMING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 59);
}

/* -- the end of slow start ------------------------------------------------- */

struct end_case {
	const char *name;
	u32 cwnd, rate;		/* packets, and in a minimum RTT */
	u32 expected;
	bool unused;
};

static const struct end_case end_cases[] = {
	{ "less than half of it", 100, 40, 50 },
	{ "less", 100, 80, 85 },
	{ "more", 100, 150, 159 },
	{ "more than twice", 100, 300, 200 },
	{ "more, but the window was not used", 100, 300, 100, true },
	{ "the largest window", NDM_CWND_MAX, 100, NDM_CWND_MAX / 2 },
	{ "no rate yet", 10, 0, 5 },
};

KUNIT_ARRAY_PARAM_DESC(end, end_cases, name);

static void slow_start_end_test(struct kunit *test)
{
	const struct end_case *c = test->param_value;
	struct ndm_measure m = {
		.min_rtt_us = RTT_US,
		.max_rate = (((u64)c->rate << NDM_RATE_FRAC) + RTT_US - 1) / RTT_US,
	};

	KUNIT_EXPECT_EQ(test, ndm_slow_start_end(c->cwnd << NDM_CWND_FRAC, &m, !c->unused) >>
			NDM_CWND_FRAC, c->expected);
}

/*
 * Decisions with a rate that grows by a tenth, until slow start begins, at most 8. @first: packets
 * in the first one
 */
static int decisions_to_slow_start(struct sock *sk, u32 first)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct rate_sample rs;
	int i;

	for (i = 0; i < 8 && !ndm_in_slow_start(ndm->phase); i++) {
		ndm->memory->train.spread = true;
		rs = ack_packets(sk, first + i);
		control(sk, &rs, decide);
	}
	return i;
}

/* The link has become faster: slow start begins again. */
static void faster_link_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);

	set_window(sk, 20);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, decisions_to_slow_start(sk, 10), 3);
	/* Trains of the slower link tell nothing. */
	KUNIT_EXPECT_FALSE(test, ndm->memory->train.last_spread);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->empty, 0);
}

/* Where a queue has just gone, a larger rate may be that of flows which have given way. */
static void faster_link_needs_an_empty_path_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	int i;

	for (i = 1; i <= NDM_FASTER_EMPTY + 1; i++) {
		cwnd_after(sk, 20, RTT_US, 0);
		KUNIT_EXPECT_EQ(test, (int)ndm->memory->empty, min(i, NDM_FASTER_EMPTY));
	}
	/* The longest RTT of an empty path, and a queue of a thirty-second. */
	cwnd_after(sk, 20, RTT_US + RTT_US / 32 - 1, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->empty, NDM_FASTER_EMPTY);
	cwnd_after(sk, 20, RTT_US + RTT_US / 32, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->empty, 0);
	/* The second larger rate comes too early, after one such decision; the fourth does not. */
	tcp_snd_cwnd_set(tcp_sk(sk), 20);
	KUNIT_EXPECT_EQ(test, decisions_to_slow_start(sk, 11), 4);

	/* After two decisions the second one does not either. */
	sk = new_socket(test);
	ndm = inet_csk_ca(sk);
	cwnd_after(sk, 20, RTT_US, 0);
	cwnd_after(sk, 20, RTT_US + RTT_US / 32, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->empty, 0);
	tcp_snd_cwnd_set(tcp_sk(sk), 20);
	KUNIT_EXPECT_EQ(test, decisions_to_slow_start(sk, 10), 3);

	/* A loss is as a queue. */
	sk = new_socket(test);
	ndm = inet_csk_ca(sk);
	for (i = 0; i < NDM_FASTER_EMPTY; i++)
		round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->empty, NDM_FASTER_EMPTY);
	lose(sk, 1);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->empty, 0);
}

static void few_or_delayed_acks_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct rate_sample rs;

	start_round(sk, 10, RTT_US);
	/* One sample, as of a receiver that waits for a second packet. */
	start_round(sk, 1, 3 * RTT_US);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	/* The kernel takes it for delayed: no sample at all. */
	rs = ack_packets(sk, 1);
	rs.rtt_us = 3 * RTT_US;
	rs.is_ack_delayed = true;
	control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, last_interval.rtt_us, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	/* Two at the end of an interval are enough. */
	start_round(sk, 2, 2 * RTT_US);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_CONFIRMING);
}

static void undo_does_not_restart_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	start_round(sk, 10, RTT_US);
	tp->snd_ssthresh = ndm_ssthresh(sk, inet_csk_ca(sk));
	ndm_op_set_state(sk, TCP_CA_Recovery);
	lose(sk, 10);
	start_round(sk, 10, RTT_US);
	KUNIT_EXPECT_FALSE(test, ndm_in_slow_start(ndm->phase));
	/* As tcp_undo_cwnd_reduction() does. */
	tcp_snd_cwnd_set(tp, ndm_op_undo_cwnd(sk));
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	start_round(sk, 10, RTT_US);
	KUNIT_EXPECT_LT(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
}

static void loss_ends_slow_start_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	/* As tcp_enter_recovery() does. */
	tp->snd_ssthresh = ndm_ssthresh(sk, inet_csk_ca(sk));
	ndm_op_set_state(sk, TCP_CA_Recovery);
	lose(sk, 4);
	/* What the path holds stays of the window, and the policy has to wait. */
	round_trip(sk, -8192, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
	/* 10 + 3 / sqrt(2) + 10 / 32 */
	round_trip(sk, -8192, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 12);
}

struct few_case {
	const char *name;
	u32 lost;		/* beside ten packets that arrive, with a window of ten */
	u32 bdp;		/* packets, which trains have shown; 0: unknown */
	bool recovery;		/* or the kernel has not begun to send them again */
	bool ends;
};

/* Below what the path holds two and an eighth are few, else two. */
static const struct few_case few_cases[] = {
	{ "3 of 13", 3, 0, true, false },
	{ "4 of 14", 4, 0, true, true },
	{ "3 of 13, the path holds more", 3, 11, true, false },
	{ "4 of 14, the path holds more", 4, 11, true, true },
	{ "2 of 12, the path holds no more", 2, 10, true, false },
	{ "3 of 13, the path holds no more", 3, 10, true, true },
	{ "3 of 13, before the recovery", 3, 11, false, false },
	{ "4 of 14, before the recovery", 4, 11, false, true },
	{ "3 of 13, the path holds no more, before the recovery", 3, 10, false, true },
};

KUNIT_ARRAY_PARAM_DESC(few, few_cases, name);

/* Few losses do not end slow start: a path loses packets of its own. */
static void few_losses_test(struct kunit *test)
{
	const struct few_case *c = test->param_value;
	struct sock *sk = slow_start_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (c->bdp)
		ndm->memory->train = (struct ndm_train) {
			.spread = true,
			.rate = (((u64)c->bdp << NDM_RATE_FRAC) + RTT_US - 1) / RTT_US,
		};
	tp->max_packets_out = 0;	/* the window stays as it is */
	if (c->recovery)
		change_state(sk, TCP_CA_Recovery);
	lose(sk, c->lost);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, c->ends ? NDM_STEADY : NDM_STARTING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
	if (c->ends)
		return;
	/* It goes on: a packet for each one acknowledged. */
	start_round(sk, 5, RTT_US);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	KUNIT_EXPECT_GT(test, tcp_snd_cwnd(tp), 10);
}

/* A tail loss probe that was not needed has the kernel enter CWR without a mark. */
static void spurious_probe_in_slow_start_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	change_state(sk, TCP_CA_CWR);
	change_state(sk, TCP_CA_Open);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	start_round(sk, 10, RTT_US);
	KUNIT_EXPECT_EQ(test, last_interval.lost, 1);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	/* A mark ends it. */
	tp->delivered_ce = 1;
	change_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STEADY);
}

/* -- drains ---------------------------------------------------------------- */

/* No more than the clamp. */
static void drain_window_test(struct kunit *test)
{
	struct ndm_memory memory = { .drain.cwnd = 4 };
	struct ndm_sock ndm = { .cwnd_fp = 1 << NDM_CWND_FRAC, .memory = &memory };

	ndm.measure.drain = 1;
	KUNIT_EXPECT_EQ(test, ndm_window(&ndm), 1);
	ndm.cwnd_fp = 5 << NDM_CWND_FRAC;
	KUNIT_EXPECT_EQ(test, ndm_window(&ndm), 4);
	ndm.measure.drain = 0;
	KUNIT_EXPECT_EQ(test, ndm_window(&ndm), 5);
}

/* An interval of 100 packets with RTT samples of @rtt_us, while the smoothed RTT stays. */
static void round_with_rtt(struct sock *sk, u32 rtt_us, s16 growth)
{
	struct rate_sample rs = ack_packets(sk, 100);

	rs.rtt_us = rtt_us;
	next_actions[NDM_OUT_GROWTH] = growth;
	next_actions[NDM_OUT_PACING] = 0;
	control(sk, &rs, decide);
}

/*
 * A socket with a window of 100 packets, one decision before its first drain. The path carries
 * 100 packets in RTT_US. The RTT is twice the minimum, so that it holds 50 without a queue.
 */
static struct sock *socket_before_drain(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	int i;

	tcp_sk(sk)->srtt_us = RTT_US / 2 << 3;
	for (i = 0; i < NDM_DRAIN_SOON; i++)
		round_with_rtt(sk, RTT_US / 2, 0);
	tcp_sk(sk)->srtt_us = RTT_US << 3;
	tcp_snd_cwnd_set(tcp_sk(sk), 100);
	return sk;
}

static void drain_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* The flow's is (100 + 12.4) / 2, the kernel's 37.5 rounded up, and one. */
	round_with_rtt(sk, RTT_US, 0);
	KUNIT_EXPECT_EQ(test, ndm->cwnd_fp >> NDM_CWND_FRAC, 56);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 39);
	/* The action is ignored: two RTTs of before, and an interval that is measured. */
	round_with_rtt(sk, RTT_US, 16384);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 39);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 2);
	round_with_rtt(sk, RTT_US / 2, -16384);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 39);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 1);
	/* Half of the RTT was the flow's queue: a half and a quarter of that stay of 56.2. */
	round_with_rtt(sk, RTT_US / 2, 16384);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 35);
	/* 35.1 + 3 / 2 + 35.1 / 32 */
	round_with_rtt(sk, RTT_US / 2, -16384);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 37);
}

/* Two RTTs are no two intervals where intervals are longer or end early. */
static void drain_lasts_two_rtts_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	round_with_rtt(sk, RTT_US, 0);
	for (i = 1; i < 8; i++) {
		tp->tcp_mstamp -= RTT_US / 4 * 3;
		round_with_rtt(sk, RTT_US, 0);
		KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 2);
	}
	tp->tcp_mstamp -= RTT_US / 4 * 3;
	round_with_rtt(sk, RTT_US, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 1);
	round_with_rtt(sk, RTT_US, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 0);

	sk = socket_before_drain(test);
	ndm = inet_csk_ca(sk);
	round_with_rtt(sk, RTT_US, 0);
	tcp_sk(sk)->tcp_mstamp += RTT_US;
	round_with_rtt(sk, RTT_US, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 1);
}

/* As long as no drain is in its last interval. */
static void rounds_to_last(struct sock *sk, u32 rtt_us)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	while (ndm->measure.drain == 2)
		round_with_rtt(sk, rtt_us, 0);
}

/* A drain: it begins after an interval with an RTT of @before_us. Its last one has @rtt_us. */
static void drain_with_rtts(struct sock *sk, u32 before_us, u32 rtt_us)
{
	round_with_rtt(sk, before_us, 0);
	rounds_to_last(sk, before_us);
	round_with_rtt(sk, rtt_us, 0);
}

/* Only the last interval of a drain is measured. */
static void drain_finds_minimum_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct ndm_measure *m = inet_csk_ca(sk);

	round_with_rtt(sk, RTT_US, 0);
	round_with_rtt(sk, RTT_US / 4, 0);
	round_with_rtt(sk, RTT_US / 4, 0);
	KUNIT_EXPECT_EQ(test, m->min_rtt_us, RTT_US / 2);
	round_with_rtt(sk, RTT_US / 3, 0);
	KUNIT_EXPECT_EQ(test, m->min_rtt_us, RTT_US / 3);
	round_with_rtt(sk, RTT_US / 4, 0);
	KUNIT_EXPECT_EQ(test, m->min_rtt_us, RTT_US / 3);
}

/* An interval without an RTT says nothing: the window comes back as it was. */
static void drain_without_rtt_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct rate_sample rs;

	round_with_rtt(sk, RTT_US, 0);
	round_with_rtt(sk, RTT_US, 0);
	round_with_rtt(sk, RTT_US, 0);
	rs = ack_packets(sk, 100);
	rs.rtt_us = -1;
	control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 56);
	KUNIT_EXPECT_EQ(test, ndm->memory->drain.flat_us, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->contest.findings, 0);
}

/* Where RTTs vary, the few packets of a drain say nothing about the minimum. */
static void unsteady_drain_is_no_minimum_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct ndm_measure *m = inet_csk_ca(sk);

	drain_with_rtts(sk, RTT_US, RTT_US / 8);
	KUNIT_EXPECT_EQ(test, m->min_rtt_us, RTT_US / 8);
	sk = socket_before_drain(test);
	m = inet_csk_ca(sk);
	round_with_rtt(sk, RTT_US, 0);
	round_with_rtt(sk, RTT_US, 0);
	round_with_rtt(sk, RTT_US, 0);
	tcp_sk(sk)->mdev_us = (RTT_US / 4 + 1) << 2;
	round_with_rtt(sk, RTT_US / 8, 0);
	KUNIT_EXPECT_EQ(test, m->min_rtt_us, RTT_US / 2);
}

/* The link has become slower: the window from before a drain would fill the queue again. */
static void own_queue_does_not_come_back_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);

	/* (100 + 21) / 4 packets, of which the path holds a quarter, and a quarter of that. */
	drain_with_rtts(sk, 2 * RTT_US, RTT_US / 2);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 9);
}

struct route_case {
	const char *name;
	u32 first_us[2], second_us[2];	/* RTT before and in a drain */
	u32 min_rtt_us;			/* after both; 20 ms before */
	bool slow_start;
};

static const struct route_case route_cases[] = {
	{ "five times as long", { 100000, 100000 }, { 100000, 100000 }, 100000, true },
	{ "twice as long", { 40000, 40000 }, { 40000, 40000 }, 40000, true },
	{ "a quarter longer", { 25000, 25000 }, { 25000, 25000 }, 25000, false },
	{ "the smaller of two", { 100000, 101500 }, { 100000, 100000 }, 100000, true },
	{ "the first drain made it shorter", { 100000, 96000 }, { 96000, 96000 }, 20000, false },
	{ "the second drain made it shorter", { 100000, 100000 }, { 100000, 96000 }, 20000, false },
	{ "the two differ", { 100000, 100000 }, { 107000, 107000 }, 20000, false },
	{ "no longer than before", { 20600, 20600 }, { 20600, 20600 }, 20000, false },
};

KUNIT_ARRAY_PARAM_DESC(route, route_cases, name);

static void longer_route_test(struct kunit *test)
{
	const struct route_case *c = test->param_value;
	struct sock *sk = socket_before_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	tp->srtt_us = c->first_us[0] << 3;
	tp->mdev_us = 0;
	drain_with_rtts(sk, c->first_us[0], c->first_us[1]);
	KUNIT_EXPECT_EQ(test, ndm->measure.min_rtt_us, RTT_US / 2);
	/* The decisions until the next drain. */
	for (i = 0; i < NDM_DRAIN_SOON && !ndm->measure.drain; i++)
		round_with_rtt(sk, c->second_us[0], 0);
	rounds_to_last(sk, c->second_us[0]);
	round_with_rtt(sk, c->second_us[1], 0);
	KUNIT_EXPECT_EQ(test, ndm->measure.min_rtt_us, c->min_rtt_us);
	KUNIT_EXPECT_FALSE(test, ndm_in_slow_start(ndm->phase));
	/* The next decision. */
	round_with_rtt(sk, c->second_us[1], 0);
	KUNIT_EXPECT_EQ(test, (bool)ndm_in_slow_start(ndm->phase), c->slow_start);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh == TCP_INFINITE_SSTHRESH, c->slow_start);
}

static void no_drain_in_recovery_or_unused_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);

	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 56);
	sk = socket_before_drain(test);
	tcp_sk(sk)->is_cwnd_limited = 0;
	tcp_sk(sk)->snd_ssthresh = 1;
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 56);
}

/* The flow's window falls from 150 packets, and the RTT with it, or the window rests at 18. */
static void own_window_is_no_drain_test(struct kunit *test)
{
	static const u32 windows[] = { 150, 18 };
	int i, n;

	for (n = 0; n < ARRAY_SIZE(windows); n++) {
		struct sock *sk = new_socket(test);
		struct ndm_sock *ndm = inet_csk_ca(sk);

		ndm->measure.decisions = 2 * NDM_DRAIN_EVERY;
		ndm->memory->drain.before_us = RTT_US;
		for (i = 0; i < NDM_DRAIN_SOON; i++)
			round_with_rtt(sk, RTT_US, 0);
		set_window(sk, windows[n]);
		round_with_rtt(sk, RTT_US / 2 * 3, 0);
		round_with_rtt(sk, RTT_US / 2 * 3, 0);
		KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 0);
		/* Three quarters of the queue have gone. */
		round_with_rtt(sk, RTT_US / 8 * 9, 0);
		KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, n ? 2 : 0);
	}
}

/* -- contest --------------------------------------------------------------- */

/* The next drain. @before_us, @rtt_us: RTT until it begins and in it */
static void next_drain(struct sock *sk, u32 before_us, u32 rtt_us, s16 growth)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);
	int i;

	for (i = 0; i < NDM_DRAIN_SOON && !ndm->measure.drain; i++)
		round_with_rtt(sk, before_us, growth);
	while (ndm->measure.drain)
		round_with_rtt(sk, rtt_us, growth);
}

/* Others fill the buffer: of a queue, a drain leaves 10 ms. The policy gives way. */
static void drain_beside_others(struct sock *sk, u32 queue_us)
{
	next_drain(sk, 20000 + queue_us, 30000, -8192);
}

static void contest_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_contest *c = &ndm->memory->contest;
	int i;

	/* Three drains find the queue of others. */
	for (i = 1; i < NDM_CONTEST_FINDINGS; i++) {
		drain_beside_others(sk, 16000);
		KUNIT_EXPECT_EQ(test, (int)c->findings, i);
		KUNIT_EXPECT_FALSE(test, c->on);
	}
	KUNIT_EXPECT_LT(test, tcp_snd_cwnd(tp), 30);
	ndm_bound_cut(&ndm->memory->bound, tp->tcp_mstamp, 20 << NDM_CWND_FRAC);
	/*
	 * The fourth finds that it has grown by an eighth: the window from before the first, which
	 * was (100 + 8.5 sqrt(0.86)) / 1.8.
	 */
	drain_beside_others(sk, 18000);
	KUNIT_EXPECT_TRUE(test, c->on);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 59);
	KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, 0);
	/* The bound sets the window, whatever the policy wants, and begins with it. */
	round_with_rtt(sk, 36000, -16384);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 59);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_pacing_rate) / 1000,
			RATE(59, RTT_US, 250) / 1000);
	/* A quarter and a packet more: 59.9 + 15.0 + 1. */
	round_with_rtt(sk, 36000, -16384);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 75);
	/* A loss shows that the link is full: 0.7 of the window, then a packet more. */
	lose(sk, 1);
	round_with_rtt(sk, 36000, 16384);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 53);
	round_with_rtt(sk, 36000, 16384);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 54);
}

/* The window of a drain comes back whole in contest: its queue is needed. */
static void drain_in_contest_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd_fp;
	int i;

	ndm_contest_set(&ndm->memory->contest, true);
	round_with_rtt(sk, RTT_US, 0);
	cwnd_fp = ndm->cwnd_fp;
	KUNIT_EXPECT_EQ(test, cwnd_fp, 100 << NDM_CWND_FRAC);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 39);
	round_with_rtt(sk, RTT_US, 0);
	round_with_rtt(sk, RTT_US, 0);
	/* Beside it the bound grows by a packet, not by a quarter. */
	KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, cwnd_fp + (2 << NDM_CWND_FRAC));
	round_with_rtt(sk, RTT_US / 2, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->memory->contest.findings, 1);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 100);
	/* No flow competes: three more such drains end the contest. */
	for (i = 2; i <= NDM_CONTEST_FINDINGS; i++) {
		KUNIT_EXPECT_TRUE(test, ndm->memory->contest.on);
		next_drain(sk, RTT_US, RTT_US / 2, 0);
	}
	KUNIT_EXPECT_FALSE(test, ndm->memory->contest.on);
}

/* A contest on a route that turns out to be longer: from a slow start on. */
static void slow_start_in_contest_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_memory *memory = ndm->memory;

	set_window(sk, 10);
	ndm_contest_set(&memory->contest, true);
	ndm_begin_slow_start(sk, ndm);
	/* Slow start is not bounded, until a loss. */
	start_round(sk, 5, RTT_US);
	KUNIT_EXPECT_EQ(test, memory->bound.limit_fp, 0);
	/* A bound that there is grows. */
	memory->bound.limit_fp = 100 << NDM_CWND_FRAC;
	start_round(sk, 5, RTT_US);
	KUNIT_EXPECT_GT(test, memory->bound.limit_fp, 100 << NDM_CWND_FRAC);
	memory->bound.limit_fp = 0;
	lose(sk, 5);
	start_round(sk, 5, RTT_US);
	KUNIT_EXPECT_NE(test, memory->bound.limit_fp, 0);
	/* Another model begins without contest. */
	memory->h[0] = 1;
	ndm_use_model(memory, memory->model + 1);
	KUNIT_EXPECT_FALSE(test, memory->contest.on);
	KUNIT_EXPECT_EQ(test, memory->h[0], 0);
}

/* More losses than the path's own share end slow start without a bound: the window stays. */
static void contest_without_bound_test(struct kunit *test)
{
	struct sock *sk = slow_start_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_memory *memory = ndm->memory;

	ndm_contest_set(&memory->contest, true);
	memory->bound.own = NDM_BOUND_OWN_MAX << NDM_BOUND_OWN_FRAC;
	memory->train = (struct ndm_train) { .spread = true };
	tcp_sk(sk)->max_packets_out = 0;
	lose(sk, 3);
	round_with_rtt(sk, RTT_US, 16384);
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_LOSS_RATE], 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STEADY);
	KUNIT_EXPECT_EQ(test, memory->bound.limit_fp, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 10);
}

/* -- further rules --------------------------------------------------------- */

static void unused_window_shrinks_on_queue_or_loss_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	round_trip(sk, 0, 0);
	tp->is_cwnd_limited = 0;
	tp->snd_ssthresh = 1;
	/* A sixteenth of the minimum RTT: (1000 + 12 sqrt(1/8)) * 16/17 if it were used. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 1000, RTT_US / 16 * 17, 0), 1000);
	tp->total_retrans = 1;
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 1000, RTT_US / 16 * 17, 0), 945);
	/* An eighth, once it counts: (1000 + 12 sqrt(3/16)) * 8/9. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 1000, RTT_US / 8 * 9, 0), 1000);
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 1000, RTT_US / 8 * 9, 0), 893);
	tp->is_cwnd_limited = 1;
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 1000, RTT_US / 16 * 17, 0), 945);
}

static void early_end_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs = { .prior_delivered = -1, .rtt_us = 2 * RTT_US + 1 };
	int before, i;

	round_trip(sk, 0, 0);
	before = decisions;
	tp->tcp_mstamp += NDM_INTERVAL_MIN_US;
	/* The eighth RTT of more than twice the explained one ends the interval. */
	for (i = 1; i < NDM_RTT_GROUP; i++)
		control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, decisions, before);
	control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, decisions, before + 1);
	/* Once. */
	tp->tcp_mstamp += NDM_INTERVAL_MIN_US;
	for (i = 0; i < 2 * NDM_RTT_GROUP; i++)
		control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, decisions, before + 1);
}

static void app_limited_rate_only_raises_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_measure *m = &((struct ndm_sock *)inet_csk_ca(sk))->measure;
	struct rate_sample rs;
	u32 max_rate;
	int i;

	round_trip(sk, 0, 0);
	max_rate = m->max_rate;
	/* A trickle for longer than a maximum is valid. */
	for (i = 0; i < 3 * NDM_RATE_BUCKET_INTERVALS; i++) {
		rs = ack_packets(sk, 1);
		rs.is_app_limited = true;
		control(sk, &rs, decide);
	}
	KUNIT_EXPECT_EQ(test, m->max_rate, max_rate);
	rs = ack_packets(sk, 20);
	rs.is_app_limited = true;
	control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, m->max_rate, 2 * max_rate);
}

static void mtu_probe_in_drain_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	round_with_rtt(sk, RTT_US, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 39);
	/* Packets are three times as large: a third of them fits. */
	tcp_snd_cwnd_set(tp, 13);
	round_with_rtt(sk, RTT_US, 0);
	KUNIT_EXPECT_EQ(test, ndm->cwnd_fp >> NDM_CWND_FRAC, 18);
}

struct pacing_case {
	const char *name;
	u32 cwnd, srtt_us;
	s16 action;
	u64 max, expected;
};

static const struct pacing_case pacing_cases[] = {
	{ "neutral: 1.25 cwnd/srtt", 10, 40000, 0, ~0ULL, RATE(10, 40000, 125) },
	{ "action 1: twice", 10, 40000, 16384, ~0ULL, RATE(10, 40000, 250) },
	{ "action -1: half", 1000, 40000, -16384, ~0ULL, RATE(1000, 40000, 125) / 2 },
	{ "no RTT yet: 1 ms", 10, 0, 0, ~0ULL, RATE(10, 1000, 125) },
	{ "RTT of 1 us", 10, 1, 0, ~0ULL, RATE(10, 1, 125) },
	{ "RTT of 10 s", 2, 10000000, 0, ~0ULL, RATE(2, 10000000, 125) },
	{ "the socket's maximum rate", 1000, 1000, 0, 5000, 5000 },
	{ "100 Gbit/s at 100 ms", 833333, 100000, 0, ~0ULL, RATE(833333, 100000, 125) },
	{ "largest window", NDM_CWND_MAX, 40000, 0, ~0ULL,
	  RATE(NDM_CWND_MAX, 40000, 125) },
	{ "largest rate", NDM_CWND_MAX, 1, 16384, ~0ULL,
	  (NDM_PACING_MAX >> 1) * 5 },
};

KUNIT_ARRAY_PARAM_DESC(pacing, pacing_cases, name);

static void pacing_test(struct kunit *test)
{
	const struct pacing_case *c = test->param_value;
	struct sock *sk = new_socket(test);
	u64 rate;

	tcp_snd_cwnd_set(tcp_sk(sk), c->cwnd);
	tcp_sk(sk)->snd_cwnd_clamp = c->cwnd;	/* no growth */
	tcp_sk(sk)->srtt_us = c->srtt_us << 3;
	sk->sk_max_pacing_rate = min_t(u64, c->max, ~0UL);
	next_actions[NDM_OUT_PACING] = c->action;
	cwnd_after(sk, c->cwnd, c->srtt_us ? RTT_US : -1, 0);
	rate = READ_ONCE(sk->sk_pacing_rate);
	/* Gains are rounded to 16 fraction bits. */
	KUNIT_EXPECT_GE(test, rate, c->expected - c->expected / 20000 - 1);
	KUNIT_EXPECT_LE(test, rate, c->expected + c->expected / 20000 + 1);
}

static void mark_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, 100);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_LOSS_RATE], 0);
	set_window(sk, 100);
	tp->delivered_ce = 10;
	ndm_op_set_state(sk, TCP_CA_CWR);
	/* 0.7 of the window at once. */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 69);
	round_trip(sk, 16384, 0);
	/* One lost, ten delivered. */
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_LOSS_RATE], NDM_ONE / 11);
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_CONGESTION], NDM_ONE);
	/* Whatever the policy wants, a packet in each round trip. */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 70);
	round_trip(sk, 16384, 0);
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_LOSS_RATE], 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 71);
	/* A queue as long as the RTT without it: half of 71.9 and 8.7 packets. */
	KUNIT_EXPECT_EQ(test, cwnd_after(sk, 71, 2 * RTT_US, -8192), 40);
}

/* An interval lasts 1 ms at least, which is ten round trips of a data centre. */
static void bound_grows_per_round_trip_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs;
	int i;

	set_window(sk, 100);
	tp->delivered_ce = 1;
	change_state(sk, TCP_CA_CWR);
	change_state(sk, TCP_CA_Open);
	tp->srtt_us = 100 << 3;
	next_actions[NDM_OUT_GROWTH] = 16384;
	for (i = 0; i < 20; i++) {
		rs = ack_packets(sk, 10);
		tp->tcp_mstamp += NDM_INTERVAL_MIN_US - RTT_US;
		control(sk, &rs, decide);
	}
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 69 + 20 * 10);
}

/* Of an unused window a mark cuts what the path carried. */
static void mark_on_unused_window_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	set_window(sk, 100);
	tp->is_cwnd_limited = 0;
	tp->max_packets_out = 10;
	tp->delivered_ce = 1;
	change_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 6);
	/* Not less than what is in flight now. */
	change_state(sk, TCP_CA_Open);
	round_trip(sk, 0, 0);
	((struct ndm_sock *)inet_csk_ca(sk))->memory->bound.limit_fp = 0;
	set_window(sk, 100);
	tp->packets_out = 20;
	tp->delivered_ce = 2;
	change_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 13);
}

/* A mark beside a loss: the kernel sends CWR, and the receiver does not report it again. */
static void mark_beside_loss_test(struct kunit *test)
{
	static const u8 states[] = { TCP_CA_Recovery, TCP_CA_Loss };
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct sock *sk = new_socket(test);
		struct ndm_sock *ndm = inet_csk_ca(sk);
		struct tcp_sock *tp = tcp_sk(sk);

		set_window(sk, 100);
		tp->undo_marker = 1;
		ndm_op_set_state(sk, states[i]);
		KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, 0);
		set_window(sk, 100);
		tp->delivered_ce = 1;
		ndm_op_set_state(sk, states[i]);
		KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, (100 << 8) * 179 / 256);
		KUNIT_EXPECT_TRUE(test, ndm->measure.marked);
	}
}

/* The receiver reports a mark until CWR arrives. What it reports then is no other mark. */
static void reported_mark_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	set_window(sk, 100);
	tp->delivered_ce = 10;
	change_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 69);
	tp->delivered_ce = 60;
	change_state(sk, TCP_CA_Open);
	change_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 69);
}

/* CWR without a mark: a tail loss probe has repaired a loss, or this host's queue is full. */
static void cwr_without_mark_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	set_window(sk, 100);
	ndm_op_set_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 100);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_LOSS_RATE], NDM_ONE / 11);
}

/* Two intervals in each of which 5 of 15 packets are lost. */
static void lose_packets(struct sock *sk)
{
	lose(sk, 5);
	round_trip(sk, 16384, 0);
	lose(sk, 5);
	round_trip(sk, 16384, 0);
}

static void losses_bound_the_window_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	set_window(sk, 8);
	tp->snd_cwnd_clamp = 16;
	lose_packets(sk);
	/* 0.7 of the 10 packets that have arrived in the last interval */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 6);
	round_trip(sk, 16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 6);
	/* The losses were spurious: an undo restores the window before the cut, 8 + 6 + 8 / 32. */
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), 14);
	KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, 0);
}

/* The network duplicates as many packets as are lost. The counters wrap. */
static void duplicates_are_no_credit_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	ndm_op_release(sk);
	tp->lost = U32_MAX - 6;
	tp->total_retrans = U32_MAX - 2;
	tp->dsack_dups = U32_MAX - 8;
	ndm_op_init(sk, atomic_inc_return(&flows));
	set_window(sk, 8);
	tp->snd_cwnd_clamp = 16;
	tp->dsack_dups += 5;
	lose(sk, 5);
	round_trip(sk, 16384, 0);
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_LOSS_RATE], NDM_ONE / 3);
	tp->dsack_dups += 5;
	lose(sk, 5);
	round_trip(sk, 16384, 0);
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_LOSS_RATE], NDM_ONE / 3);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 6);
}

/* A decision after which the kernel knows of as many retransmissions that no DSACK has named. */
static u32 lost_after(struct sock *sk, u32 undo_marker, int undo_retrans)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	tcp_sk(sk)->undo_marker = undo_marker;
	tcp_sk(sk)->undo_retrans = undo_retrans;
	round_trip(sk, 0, 0);
	return ndm_lost(tcp_sk(sk), ndm->memory);
}

/* A DSACK takes back a retransmission of the recovery that it belongs to. */
static void dsack_takes_back_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);

	/* Those of a recovery before. */
	lose(sk, 10);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 0, 0), 10);
	/* As tcp_init_undo() does without a retransmission. */
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, -1), 10);
	/* One, and its DSACK before the next decision. */
	lose(sk, 1);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, 0), 10);
	lose(sk, 5);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, 5), 15);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, 3), 13);
	/* One more, and one more DSACK. */
	lose(sk, 1);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, 3), 13);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, 0), 10);
	/* The network duplicates packets: the kernel counts no further down. */
	tcp_sk(sk)->dsack_dups += 100;
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, 0), 10);
	/* The next recovery begins with its own, also where the last one had some left. */
	lose(sk, 4);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 200, 4), 14);
	lose(sk, 2);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 300, 2), 16);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 300, 1), 15);
	/* It is over: what the kernel forgets is not taken back. */
	KUNIT_EXPECT_EQ(test, lost_after(sk, 0, 0), 15);
	KUNIT_EXPECT_EQ(test, ndm->memory->spurious, 8);
}

/* A retransmission that is outstanding belongs to two recoveries, but is taken back once. */
static void dsack_takes_back_once_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	lose(sk, 1);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, 1), 1);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 100, 0), 0);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 200, 1), 0);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 200, 0), 0);
	lose(sk, 1);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 300, 1), 1);
}

/* What a DSACK takes back is no loss for the bound: two are left. */
static void spurious_losses_do_not_cut_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);

	lost_after(sk, 1, -1);
	lose(sk, 5);
	lost_after(sk, 1, 5);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 1, 0), 0);
	lose(sk, 2);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 1, 2), 2);
	KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, 0);
	lose(sk, 1);
	KUNIT_EXPECT_EQ(test, lost_after(sk, 1, 3), 3);
	KUNIT_EXPECT_NE(test, ndm->memory->bound.limit_fp, 0);
}

/* As many packets seem to be lost. @at_ms: the time; returns those that count */
static u32 confirmed_lost(struct sock *sk, u32 at_ms, u32 lost)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	tcp_sk(sk)->tcp_mstamp = at_ms * USEC_PER_MSEC;
	return ndm_confirmed_lost(tcp_sk(sk), ndm->memory, lost);
}

/* Where packets change their order, losses count 40 ms + 4 * 5 ms later. */
static void reordering_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1000, 0), 0);
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1001, 5), 5);
	tp->reord_seen = 1;
	/* The first ones begin the time. */
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1100, 7), 5);
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1159, 9), 5);
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1160, 9), 7);
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1219, 9), 7);
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1220, 9), 9);
	/* Late packets: they arrive, or a DSACK reports it. */
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1280, 12), 9);
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1340, 10), 10);
	KUNIT_EXPECT_EQ(test, confirmed_lost(sk, 1341, 8), 8);
}

/* Two round trips: in the first as many packets are late, which arrive in the second. */
static void late_packets(struct sock *sk, u32 packets)
{
	tcp_sk(sk)->lost_out = packets;
	round_trip(sk, 16384, 0);
	tcp_sk(sk)->lost_out = 0;
	round_trip(sk, 16384, 0);
}

static void late_packets_do_not_cut_test(struct kunit *test)
{
	int i, k;

	/* From either of two round trips on. */
	for (k = 0; k < 2; k++) {
		struct sock *sk = new_socket(test);
		struct ndm_sock *ndm = inet_csk_ca(sk);

		tcp_sk(sk)->snd_cwnd_clamp = 16;
		tcp_sk(sk)->reord_seen = 1;
		round_trip(sk, 16384, 0);
		if (k)
			round_trip(sk, 16384, 0);
		for (i = 0; i < 10; i++)
			late_packets(sk, 5);
		KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, 0);
		/* Those that are lost do. */
		for (i = 0; i < 2 * NDM_BOUND_ROUNDS; i++) {
			lose(sk, 5);
			round_trip(sk, 16384, 0);
		}
		KUNIT_EXPECT_NE(test, ndm->memory->bound.limit_fp, 0);
	}
}

struct lost_case {
	const char *name;
	u32 total_retrans, lost_out, retrans_out, spurious, expected;
};

static const struct lost_case lost_cases[] = {
	{ "none", 0, 0, 0, 0, 0 },
	{ "marked, and not sent again yet", 0, 5, 0, 0, 5 },
	{ "marked, two sent again", 2, 5, 2, 0, 5 },
	{ "all sent again and acknowledged", 5, 0, 0, 0, 5 },
	{ "a probe in flight", 1, 0, 1, 0, 1 },
	{ "two not needed", 5, 3, 0, 2, 6 },
};

KUNIT_ARRAY_PARAM_DESC(lost, lost_cases, name);

static void lost_test(struct kunit *test)
{
	const struct lost_case *c = test->param_value;
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->total_retrans = c->total_retrans;
	tp->lost_out = c->lost_out;
	tp->retrans_out = c->retrans_out;
	ndm->memory->spurious = c->spurious;
	KUNIT_EXPECT_EQ(test, ndm_lost(tp, ndm->memory), c->expected);
	KUNIT_EXPECT_EQ(test, ndm_lost(tp, NULL), c->expected + c->spurious);
}

/* Losses that an undo takes back are no part of a sample. */
static void undone_losses_do_not_cut_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);

	change_state(sk, TCP_CA_Recovery);
	lose(sk, 5);
	round_trip(sk, 0, 0);
	ndm_op_undo_cwnd(sk);
	change_state(sk, TCP_CA_Open);
	lose(sk, 5);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, 0);
	/* With the next ones there are two round trips with losses. */
	lose(sk, 5);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_NE(test, ndm->memory->bound.limit_fp, 0);
}

/* An undo takes back the cut of its own recovery, and none before. */
static void undo_in_later_recovery_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 limit_fp;

	set_window(sk, 8);
	tp->snd_cwnd_clamp = 16;
	change_state(sk, TCP_CA_Recovery);
	lose_packets(sk);
	limit_fp = ndm->memory->bound.limit_fp;
	KUNIT_EXPECT_NE(test, limit_fp, 0);
	change_state(sk, TCP_CA_Open);
	/* A spurious recovery without a cut. */
	change_state(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), tcp_snd_cwnd(tp));
	KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, limit_fp);
	change_state(sk, TCP_CA_Open);
	round_trip(sk, 16384, 0);
	/* One with a cut: the bound from before it comes back. */
	change_state(sk, TCP_CA_Recovery);
	lose(sk, 5);
	round_trip(sk, 16384, 0);
	limit_fp = ndm->memory->bound.limit_fp;
	lose(sk, 5);
	round_trip(sk, 16384, 0);
	KUNIT_EXPECT_LT(test, ndm->memory->bound.limit_fp, limit_fp);
	ndm_op_undo_cwnd(sk);
	KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp, limit_fp);
}

/* Without memory for a connection nothing but Reno happens. */
static void no_memory_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	ndm_op_release(sk);
	tp->prior_cwnd = 40;
	change_state(sk, TCP_CA_Recovery);
	change_state(sk, TCP_CA_CWR);
	change_state(sk, TCP_CA_Loss);
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), 40);
	ndm_op_tx_start(sk);
	round_trip(sk, 16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
	/* There is no slow start either, as nothing would end it. */
	((struct ndm_sock *)inet_csk_ca(sk))->phase = NDM_STARTING;
	start_round(sk, 20, RTT_US + RTT_US / 8);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
}

/* -- windows set by the kernel --------------------------------------------- */

/* As tcp_enter_loss() does. @retransmits: of the first segment, before this time-out */
static void time_out(struct sock *sk, u32 inflight, u8 retransmits)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->undo_marker = 1;
	tp->packets_out = inflight;
	inet_csk(sk)->icsk_retransmits = retransmits;
	tcp_snd_cwnd_set(tp, inflight + 1);
	change_state(sk, TCP_CA_Loss);
}

static void timeout_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	tcp_snd_cwnd_set(tp, 40);
	KUNIT_EXPECT_EQ(test, ndm_ssthresh(sk, inet_csk_ca(sk)), 40);
	time_out(sk, 0, 0);
	for (i = 1; i <= 6; i++) {
		acked(sk, 3);
		KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 1 + 3 * i);
	}
	acked(sk, 3);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	/* The time-out was spurious: window and plasticity are restored. */
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), 40);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_LE(test, last_interval.x[NDM_IN_PLASTICITY], NDM_PLASTICITY_START);
	/* In fast recovery only the policy reduces the window: nothing to undo. */
	change_state(sk, TCP_CA_Recovery);
	round_trip(sk, -16384, 0);
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), tcp_snd_cwnd(tp));
}

/* In contest a time-out cuts the bound once, and the window slow-starts to half of what it was. */
static void timeout_in_contest_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, 40);
	KUNIT_EXPECT_EQ(test, ndm_ssthresh(sk, ndm), 40);
	ndm_contest_set(&ndm->memory->contest, true);
	time_out(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, ndm->memory->bound.limit_fp >> NDM_CWND_FRAC, 27);
	lose(sk, 1);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_GE(test, ndm->memory->bound.limit_fp >> NDM_CWND_FRAC, 27);
	acked(sk, 30);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
}

static void timeout_in_recovery_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	/* The recovery begins with a window of 1000, and the policy reduces it. */
	tcp_snd_cwnd_set(tp, 1000);
	tp->prior_cwnd = 1000;
	change_state(sk, TCP_CA_Recovery);
	round_trip(sk, 0, 0);
	for (i = 0; i < 20 && tcp_snd_cwnd(tp) > 50; i++)
		cwnd_after(sk, tcp_snd_cwnd(tp), 2 * RTT_US, 0);
	KUNIT_EXPECT_LE(test, tcp_snd_cwnd(tp), 50);
	set_window(sk, 50);
	time_out(sk, 0, 0);
	acked(sk, 100);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 25);
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), 50);
}

static void further_timeout_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	set_window(sk, 40);
	time_out(sk, 0, 0);
	/* The same segment: half of the first window. */
	time_out(sk, 0, 1);
	acked(sk, 100);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	/* Another one: half of the window until then. */
	time_out(sk, 0, 0);
	acked(sk, 100);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
}

static void timeout_in_drain_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct tcp_sock *tp = tcp_sk(sk);

	/* The flow's window is 56, the kernel's 39. */
	round_with_rtt(sk, RTT_US, 0);
	KUNIT_EXPECT_EQ(test, ndm_ssthresh(sk, inet_csk_ca(sk)), 56);
	time_out(sk, 0, 0);
	acked(sk, 100);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 28);
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), 56);
}

static void late_undo_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	set_window(sk, 40);
	time_out(sk, 0, 0);
	acked(sk, 9);
	/* Everything is acknowledged before a DSACK says that it was spurious. */
	change_state(sk, TCP_CA_Open);
	acked(sk, 1);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), 40);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 40);
	/* Once. */
	tcp_snd_cwnd_set(tp, 8);
	KUNIT_EXPECT_EQ(test, ndm_op_undo_cwnd(sk), 8);
}

/* The kernel retransmits @lost packets without a time-out: a window of 40 packets stays. */
static void expect_no_congestion(struct kunit *test, struct sock *sk, u32 lost)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->lost_out = lost;
	tp->undo_marker = 0;
	change_state(sk, TCP_CA_Loss);
	acked(sk, 3);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 40);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, last_interval.x[NDM_IN_LOSS_RATE], 0);
	KUNIT_EXPECT_LE(test, last_interval.x[NDM_IN_PLASTICITY], NDM_PLASTICITY_START);
}

static void no_congestion_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);

	set_window(sk, 40);
	/* As tcp_simple_retransmit() and the fallback of TCP Fast Open do. */
	expect_no_congestion(test, sk, 12);
}

static void mtu_probe_failed_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	set_window(sk, 40);
	/* As tcp_mtu_probe() does, and tcp_fastretrans_alert() when the probe is lost. */
	tcp_snd_cwnd_set(tp, 39);
	acked(sk, 3);
	tcp_snd_cwnd_set(tp, 40);
	expect_no_congestion(test, sk, 1);
}

static void packet_conservation_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, 100);
	tp->packets_out = 100;
	acked(sk, 1);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 100);
	/* 30 of 100 packets are lost: each ACK releases as many packets as it acknowledges. */
	change_state(sk, TCP_CA_Recovery);
	tp->lost_out = 30;
	acked(sk, 2);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 72);
	acked(sk, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 70);
	tp->packets_out = 30;
	acked(sk, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), NDM_CWND_MIN);
	/* ssthresh is the flow's window, to which a decision adds 3 / sqrt(2) + 100 / 32. */
	KUNIT_EXPECT_EQ(test, ndm_ssthresh(sk, inet_csk_ca(sk)), 100);
	round_trip(sk, -8192, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 105);
	acked(sk, 1);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 105);
}

static void largest_window_of_kernel_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);

	/* Shifted, this window would be 0. */
	tcp_snd_cwnd_set(tcp_sk(sk), 1 << 24);
	acked(sk, 1);
	KUNIT_EXPECT_EQ(test, ndm->cwnd_fp, NDM_CWND_MAX << NDM_CWND_FRAC);
}

struct restart_case {
	const char *name;
	u32 cwnd, ssthresh;
	int idle_ms;
	bool sysctl;
	u32 expected, expected_ssthresh;
};

static const struct restart_case restart_cases[] = {
	{ "idle for less than an RTO", 80, 50, 990, true, 80, 50 },
	{ "idle for one RTO", 80, 50, 1010, true, 40, 60 },
	{ "idle for two RTOs", 80, 70, 2010, true, 20, 70 },
	{ "down to the initial window", 80, 50, 50000, true, 10, 60 },
	{ "idle for hours", 80, 50, 40000000, true, 10, 60 },
	{ "a smaller window stays", 4, 50, 50000, true, 4, 50 },
	{ "net.ipv4.tcp_slow_start_after_idle=0", 80, 50, 50000, false, 80, 50 },
};

KUNIT_ARRAY_PARAM_DESC(restart, restart_cases, name);

static void restart_test(struct kunit *test)
{
	const struct restart_case *c = test->param_value;
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 before = init_net.ipv4.sysctl_tcp_slow_start_after_idle;

	tcp_snd_cwnd_set(tp, c->cwnd);
	tp->snd_ssthresh = c->ssthresh;
	tp->lsndtime = tcp_jiffies32 - msecs_to_jiffies(c->idle_ms);
	WRITE_ONCE(init_net.ipv4.sysctl_tcp_slow_start_after_idle, c->sysctl);
	ndm_op_tx_start(sk);
	WRITE_ONCE(init_net.ipv4.sysctl_tcp_slow_start_after_idle, before);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), c->expected);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, c->expected_ssthresh);
}

/* The window is used again: it slow-starts to three quarters of what it was. */
static void slow_start_after_idleness_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	set_window(sk, 80);
	tp->lsndtime = tcp_jiffies32 - msecs_to_jiffies(50000);
	ndm_op_tx_start(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
	acked(sk, 10);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	acked(sk, 50);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 60);
	acked(sk, 50);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 60);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STEADY);
	/* A first slow start goes on instead. */
	ndm->phase = NDM_STARTING;
	set_window(sk, 80);
	tp->lsndtime = tcp_jiffies32 - msecs_to_jiffies(50000);
	ndm_op_tx_start(sk);
	KUNIT_EXPECT_EQ(test, (int)ndm->phase, NDM_STARTING);
}

static void restart_in_drain_test(struct kunit *test)
{
	struct sock *sk = socket_before_drain(test);
	struct tcp_sock *tp = tcp_sk(sk);

	/* The flow's window is 56, the kernel's 39. */
	round_with_rtt(sk, RTT_US, 0);
	tp->lsndtime = tcp_jiffies32 - msecs_to_jiffies(1010);
	ndm_op_tx_start(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 28);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 42);
	/* Ten packets are acknowledged, and (38 + 12.4) / 2 stay. */
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 25);
}

static void lost_packets_are_not_idle_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);

	/* All packets are lost: none is in flight, but the flow is not idle. */
	tp->packets_out = 8;
	tp->lost_out = 8;
	tcp_snd_cwnd_set(tp, 80);
	tp->lsndtime = tcp_jiffies32 - 100 * HZ;
	ndm_op_tx_start(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 80);
}

static void info_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	union tcp_cc_info info;
	int attr = 0;

	KUNIT_EXPECT_EQ(test, ndm_op_get_info(sk, 0, &attr, &info), 0);
	KUNIT_EXPECT_EQ(test, attr, 0);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, ndm_op_get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info), 0);
	KUNIT_EXPECT_EQ(test, ndm_op_get_info(sk, 1 << (INET_DIAG_VEGASINFO - 1),
					      &attr, &info), sizeof(info.vegas));
	KUNIT_EXPECT_EQ(test, attr, INET_DIAG_VEGASINFO);
	KUNIT_EXPECT_EQ(test, info.vegas.tcpv_enabled, 1);
	KUNIT_EXPECT_EQ(test, info.vegas.tcpv_rtt, RTT_US);
	KUNIT_EXPECT_EQ(test, info.vegas.tcpv_minrtt, RTT_US);
}

/* -- Reno, without memory -------------------------------------------------- */

static void reno_test(struct kunit *test)
{
	struct sock *sk = new_socket(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs = { .acked_sacked = 10 };
	int i;

	/* Slow start adds the acknowledged packets. */
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->max_packets_out = 100;
	ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_pacing_rate) / 1000,
			20ULL * MSS * 2 / 40);
	/* Congestion avoidance adds one packet a round trip. */
	tp->snd_ssthresh = 20;
	for (i = 0; i < 2; i++)
		ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 21);
	/* Recovery reduces to ssthresh, once. */
	tp->snd_ssthresh = 10;
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	for (i = 0; i < 5; i++)
		ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
	/* Nor while ACKs only report packets beyond a hole. */
	inet_csk(sk)->icsk_ca_state = TCP_CA_Disorder;
	for (i = 0; i < 100; i++)
		ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
	/* No growth without acknowledged packets. */
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	rs.acked_sacked = 0;
	for (i = 0; i < 100; i++)
		ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
}

static struct kunit_case control_cases[] = {
	KUNIT_CASE(one_decision_per_interval_test),
	KUNIT_CASE_PARAM(window_test, window_gen_params),
	KUNIT_CASE_PARAM(next_cwnd_test, next_gen_params),
	KUNIT_CASE(windows_grow_without_a_queue_test),
	KUNIT_CASE(windows_converge_test),
	KUNIT_CASE(fractions_of_a_packet_add_up_test),
	KUNIT_CASE(window_follows_queue_test),
	KUNIT_CASE_PARAM(window_queue_test, window_queue_gen_params),
	KUNIT_CASE(window_queue_limits_test),
	KUNIT_CASE(grown_queue_is_answered_once_test),
	KUNIT_CASE(bursts_are_half_a_queue_test),
	KUNIT_CASE(variation_is_no_queue_test),
	KUNIT_CASE(wait_is_no_queue_test),
	KUNIT_CASE(no_decision_changes_nothing_test),
	KUNIT_CASE_PARAM(slow_start_queue_test, queue_gen_params),
	KUNIT_CASE(slow_start_test),
	KUNIT_CASE(queue_ends_slow_start_test),
	KUNIT_CASE(growing_rate_continues_slow_start_test),
	KUNIT_CASE_PARAM(train_test, train_gen_params),
	KUNIT_CASE_PARAM(slow_start_window_test, grow_gen_params),
	KUNIT_CASE(spread_trains_limit_slow_start_test),
	KUNIT_CASE_PARAM(slow_start_end_test, end_gen_params),
	KUNIT_CASE(faster_link_test),
	KUNIT_CASE(faster_link_needs_an_empty_path_test),
	KUNIT_CASE(few_or_delayed_acks_test),
	KUNIT_CASE(undo_does_not_restart_test),
	KUNIT_CASE(loss_ends_slow_start_test),
	KUNIT_CASE_PARAM(few_losses_test, few_gen_params),
	KUNIT_CASE(spurious_probe_in_slow_start_test),
	KUNIT_CASE(drain_window_test),
	KUNIT_CASE(drain_test),
	KUNIT_CASE(drain_lasts_two_rtts_test),
	KUNIT_CASE(drain_finds_minimum_test),
	KUNIT_CASE(drain_without_rtt_test),
	KUNIT_CASE(unsteady_drain_is_no_minimum_test),
	KUNIT_CASE(own_queue_does_not_come_back_test),
	KUNIT_CASE_PARAM(longer_route_test, route_gen_params),
	KUNIT_CASE(no_drain_in_recovery_or_unused_test),
	KUNIT_CASE(own_window_is_no_drain_test),
	KUNIT_CASE(mtu_probe_in_drain_test),
	KUNIT_CASE(contest_test),
	KUNIT_CASE(drain_in_contest_test),
	KUNIT_CASE(slow_start_in_contest_test),
	KUNIT_CASE(contest_without_bound_test),
	KUNIT_CASE(unused_window_shrinks_on_queue_or_loss_test),
	KUNIT_CASE(early_end_test),
	KUNIT_CASE(app_limited_rate_only_raises_test),
	KUNIT_CASE_PARAM(pacing_test, pacing_gen_params),
	KUNIT_CASE(mark_test),
	KUNIT_CASE(bound_grows_per_round_trip_test),
	KUNIT_CASE(mark_on_unused_window_test),
	KUNIT_CASE(mark_beside_loss_test),
	KUNIT_CASE(reported_mark_test),
	KUNIT_CASE(cwr_without_mark_test),
	KUNIT_CASE(losses_bound_the_window_test),
	KUNIT_CASE(duplicates_are_no_credit_test),
	KUNIT_CASE(dsack_takes_back_test),
	KUNIT_CASE(dsack_takes_back_once_test),
	KUNIT_CASE(spurious_losses_do_not_cut_test),
	KUNIT_CASE(reordering_test),
	KUNIT_CASE(late_packets_do_not_cut_test),
	KUNIT_CASE(undone_losses_do_not_cut_test),
	KUNIT_CASE(undo_in_later_recovery_test),
	KUNIT_CASE_PARAM(lost_test, lost_gen_params),
	KUNIT_CASE(no_memory_test),
	KUNIT_CASE(timeout_test),
	KUNIT_CASE(timeout_in_contest_test),
	KUNIT_CASE(timeout_in_recovery_test),
	KUNIT_CASE(further_timeout_test),
	KUNIT_CASE(timeout_in_drain_test),
	KUNIT_CASE(late_undo_test),
	KUNIT_CASE(no_congestion_test),
	KUNIT_CASE(mtu_probe_failed_test),
	KUNIT_CASE(packet_conservation_test),
	KUNIT_CASE(largest_window_of_kernel_test),
	KUNIT_CASE_PARAM(restart_test, restart_gen_params),
	KUNIT_CASE(slow_start_after_idleness_test),
	KUNIT_CASE(restart_in_drain_test),
	KUNIT_CASE(lost_packets_are_not_idle_test),
	KUNIT_CASE(info_test),
	KUNIT_CASE(reno_test),
	{}
};

static struct kunit_suite control_suite = {
	.name = "ndm_control",
	.test_cases = control_cases,
};

kunit_test_suites(&control_suite);

MODULE_DESCRIPTION("KUnit tests of NDM's control loop");
MODULE_LICENSE("GPL");
