// SPDX-License-Identifier: GPL-2.0
/*
 * The control loop, the guard and what Reno does after it, on a socket that has
 * no connection: struct tcp_sock as the kernel would have filled it.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "ndm/ndm_control.h"
#include "ndm/ndm_guard.h"
#include "ndm/ndm_reno.h"

#define MSS 1448
#define RTT_US 40000

/* Bytes per second of so many percent of cwnd / srtt. */
#define AT(cwnd, srtt_us, gain_pct) \
	((u64)(cwnd) * MSS * 10000 * (gain_pct) / (srtt_us))

/* -- a socket -------------------------------------------------------------- */

static atomic_t flows = ATOMIC_INIT(0);

/* Established, past its start, 10 packets of window all in use, an RTT of RTT_US. */
static struct sock *socket_of(struct kunit *test)
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
	ndm_sock_init(sk, &flows);
	return sk;
}

/* An ACK of so many packets, all sent a round trip ago, RTT_US after the last. */
static struct rate_sample ack_of(struct sock *sk, u32 packets)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs = {
		.prior_delivered = tp->delivered,
		.delivered = packets,
		.acked_sacked = packets,
		.rtt_us = RTT_US,
	};

	tp->delivered += packets;
	tp->tcp_mstamp += RTT_US;
	return rs;
}

static int calls;
static struct ndm_interval seen;
static s16 wanted[NDM_OUTPUTS];

static bool decide(struct sock *sk, u32 decision,
		   const struct ndm_interval *interval, s16 *actions)
{
	calls++;
	seen = *interval;
	memcpy(actions, wanted, sizeof(wanted));
	return true;
}

static bool nobody_decides(struct sock *sk, u32 decision,
			   const struct ndm_interval *interval, s16 *actions)
{
	calls++;
	return false;
}

/* One interval with an answer to it. */
static void round_trip(struct sock *sk, s16 cwnd_log2, s16 pacing)
{
	struct rate_sample rs = ack_of(sk, 10);

	wanted[NDM_OUT_CWND_LOG2] = cwnd_log2;
	wanted[NDM_OUT_PACING] = pacing;
	ndm_control(sk, &rs, decide);
}

/* -- decisions ------------------------------------------------------------- */

static void once_an_interval_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	struct rate_sample rs = ack_of(sk, 1);
	int before = calls;
	int i;

	/* Sent before the interval began: no packet-timed round trip yet. */
	rs.prior_delivered = -1;
	for (i = 0; i < 100; i++)
		ndm_control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, calls, before);
	rs = ack_of(sk, 1);
	ndm_control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, calls, before + 1);
	/* At once again: shorter than NDM_INTERVAL_MIN_US. */
	rs = ack_of(sk, 1);
	tcp_sk(sk)->tcp_mstamp -= RTT_US;
	ndm_control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, calls, before + 1);
	/* A rate sample that the kernel calls invalid. */
	rs = ack_of(sk, 1);
	rs.delivered = -1;
	ndm_control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, calls, before + 1);
}

struct window_case {
	const char *name;
	u32 cwnd;
	s16 action;
	bool limited;
	u32 clamp, expected;
};

static const struct window_case window_cases[] = {
	{ "a packet and a quarter of the root", 10, 0, true, ~0U, 11 },
	{ "and more of a larger one", 10000, 0, true, ~0U, 10026 },
	{ "double", 10, 16384, true, ~0U, 21 },
	{ "halve", 10, -16384, true, ~0U, 6 },
	{ "half an octave", 100, 8192, true, ~0U, 144 },
	{ "no growth that is not used", 10, 16384, false, ~0U, 10 },
	{ "less all the same", 10, -16384, false, ~0U, 6 },
	{ "the smallest", 2, -16384, true, ~0U, 2 },
	{ "never below it", 3, -16384, true, ~0U, 2 },
	{ "the largest", NDM_CWND_MAX, 16384, true, ~0U, NDM_CWND_MAX },
	{ "into the largest", NDM_CWND_MAX - 1, 16384, true, ~0U, NDM_CWND_MAX },
	{ "the clamp of the socket", 100, 16384, true, 150, 150 },
	{ "what no policy says", 10, S16_MAX, true, ~0U, 21 },
	{ "nor that", 10, S16_MIN, true, ~0U, 6 },
};

KUNIT_ARRAY_PARAM_DESC(window, window_cases, name);

static void window_test(struct kunit *test)
{
	const struct window_case *c = test->param_value;
	struct sock *sk = socket_of(test);
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, c->cwnd);
	tp->snd_ssthresh = 1;	/* no slow start, where half a window counts */
	tp->is_cwnd_limited = c->limited;
	tp->snd_cwnd_clamp = c->clamp;
	round_trip(sk, c->action, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), c->expected);
}

static void small_steps_add_up_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	int i;

	tcp_snd_cwnd_set(tcp_sk(sk), 4);
	/* by 2^-0.375, and 1.5 more: 4.58, 5.07, 5.47, 5.80, 6.07 */
	for (i = 0; i < 4; i++)
		round_trip(sk, -6144, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 5);
	round_trip(sk, -6144, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 6);
}

static void windows_end_alike_test(struct kunit *test)
{
	static const u32 from[] = { 2, 10, 5000 };
	u32 ends[ARRAY_SIZE(from)];
	int i, n;

	/* By 2^-0.125 and a packet and a quarter of the root more. */
	for (n = 0; n < ARRAY_SIZE(from); n++) {
		struct sock *sk = socket_of(test);

		tcp_snd_cwnd_set(tcp_sk(sk), from[n]);
		for (i = 0; i < 400; i++)
			round_trip(sk, -2048, 0);
		ends[n] = tcp_snd_cwnd(tcp_sk(sk));
	}
	KUNIT_EXPECT_EQ(test, ends[1], ends[0]);
	KUNIT_EXPECT_EQ(test, ends[2], ends[0]);
}

static void nobody_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	struct rate_sample rs = ack_of(sk, 10);
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);
	int before = calls;

	tcp_snd_cwnd_set(tcp_sk(sk), 30);
	ndm_control(sk, &rs, nobody_decides);
	KUNIT_EXPECT_EQ(test, calls, before + 1);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 30);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_pacing_rate), rate);
}

/* -- the start ------------------------------------------------------------- */

struct sign_case {
	const char *name;
	int loss, rtt_ratio, rtt_gradient;	/* Q12 */
	bool expected;
};

static const struct sign_case sign_cases[] = {
	{ "none", 0, 0, 0, false },
	{ "less than an eighth", 0, NDM_ONE / 8 - 1, NDM_ONE / 8 - 1, false },
	{ "an RTT that falls", 0, 0, S16_MIN, false },
	{ "an eighth over the minimum", 0, NDM_ONE / 8, 0, true },
	{ "an eighth more than before", 0, 0, NDM_ONE / 8, true },
	{ "a loss", 1, 0, 0, true },
};

KUNIT_ARRAY_PARAM_DESC(sign, sign_cases, name);

static void sign_test(struct kunit *test)
{
	const struct sign_case *c = test->param_value;
	s16 x[NDM_INPUTS] = {
		[NDM_IN_LOSS_RATE] = c->loss,
		[NDM_IN_RTT_RATIO] = c->rtt_ratio,
		[NDM_IN_RTT_GRADIENT] = c->rtt_gradient,
	};

	KUNIT_EXPECT_EQ(test, ndm_slow_start_over(x), c->expected);
}

/* Before the first decision of a connection. */
static struct sock *beginning(struct kunit *test)
{
	struct sock *sk = socket_of(test);

	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tcp_sk(sk)->is_cwnd_limited = 0;
	tcp_sk(sk)->max_packets_out = 10;
	return sk;
}

static void start_test(struct kunit *test)
{
	struct sock *sk = beginning(test);
	struct tcp_sock *tp = tcp_sk(sk);

	/* 20 + 1 + 3 / 4, whatever the policy says, at the highest pacing */
	round_trip(sk, -16384, -16384);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 21);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_pacing_rate) / 1000,
			AT(21, RTT_US, 250) / 1000);
	/* No growth that is not used. */
	round_trip(sk, 16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 21);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	/* The first sign, and the policy is heard, for good. */
	tcp_sk(sk)->srtt_us += RTT_US;
	round_trip(sk, -16384, 0);
	KUNIT_EXPECT_EQ(test, seen.x[NDM_IN_SLOW_START], NDM_ONE);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 21);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 13);
	tcp_sk(sk)->srtt_us -= RTT_US;
	round_trip(sk, -16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 8);
}

static void start_ends_with_a_loss_test(struct kunit *test)
{
	struct sock *sk = beginning(test);
	struct tcp_sock *tp = tcp_sk(sk);

	/* As tcp_enter_recovery() does it. */
	tp->snd_ssthresh = ndm_ssthresh(sk);
	round_trip(sk, -16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 6);
}

/* -- drains ---------------------------------------------------------------- */

struct due_case {
	const char *name;
	u32 decision, cwnd;
	int rtt_variation, rtt_ratio;	/* Q12 */
	u8 standing;
	bool expected;
};

static const struct due_case due_cases[] = {
	{ "not at once", 0, 100, 0, 0, 0, false },
	{ "not before the first", 8, 100, 0, S16_MAX, 0, false },
	{ "the first", 16, 100, 0, 0, 0, true },
	{ "the second", 32, 100, 0, 0, 0, true },
	{ "not between", 48, 100, 0, NDM_ONE - 1, 0, false },
	{ "then not for nothing", 64, 100, 0, NDM_ONE / 8 - 1, 0, false },
	{ "now and then for a queue", 64, 100, 0, NDM_ONE / 8, 0, true },
	{ "and again", 128, 100, 0, NDM_ONE / 8, 0, true },
	{ "not for one that stands", 64, 100, 0, NDM_ONE / 8 + NDM_ONE - 1, 32, false },
	{ "for more than stands", 64, 100, 0, NDM_ONE / 8 + NDM_ONE, 32, true },
	{ "seldom without one", 256, 100, 0, 0, 0, true },
	{ "not between these", 512 + 64, 100, 0, 0, 0, false },
	{ "for ever", 1 << 31, 100, 0, 0, 0, true },
	{ "the smallest window", 256, 4, 0, 0, 0, true },
	{ "a smaller one", 256, 3, 0, 0, 0, false },
	{ "an RTT just steady", 256, 100, NDM_ONE / 8, 0, 0, true },
	{ "one that jumps", 256, 100, NDM_ONE / 8 + 1, 0, 0, false },
	{ "early, for twice the RTT", 48, 100, NDM_ONE / 4, NDM_ONE, 0, true },
	{ "at every eighth", 56, 100, 0, NDM_ONE, 0, true },
	{ "at no other", 55, 100, 0, S16_MAX, 0, false },
	{ "not where it jumps more", 48, 100, NDM_ONE / 4 + 1, NDM_ONE, 0, false },
	{ "nor for a queue that stands", 48, 100, 0, 3 * NDM_ONE - 1, 32, false },
	{ "but for as much again", 48, 100, 0, 3 * NDM_ONE, 32, true },
	{ "not for more than there can be", 48, 100, 0, S16_MAX, 255, false },
};

KUNIT_ARRAY_PARAM_DESC(due, due_cases, name);

static void due_test(struct kunit *test)
{
	const struct due_case *c = test->param_value;
	s16 x[NDM_INPUTS] = {
		[NDM_IN_RTT_VARIATION] = c->rtt_variation,
		[NDM_IN_RTT_RATIO] = c->rtt_ratio,
	};

	KUNIT_EXPECT_EQ(test, ndm_drain_due(c->decision, c->cwnd << NDM_CWND_FRAC,
					    x, c->standing), c->expected);
}

struct depth_case {
	const char *name;
	int rtt_ratio;	/* Q12 */
	u8 standing;
	u8 expected;
};

static const struct depth_case depth_cases[] = {
	{ "no queue", 0, 0, 1 },
	{ "half of min_rtt", NDM_ONE / 2, 0, 1 },
	{ "more", NDM_ONE / 2 + 1, 0, 2 },
	{ "twice", 2 * NDM_ONE, 0, 2 },
	{ "more again", 2 * NDM_ONE + 1, 0, 3 },
	{ "as much as is told apart", S16_MAX, 0, 4 },
	{ "all of it stands", 2 * NDM_ONE, 64, 1 },
	{ "half of it does", 2 * NDM_ONE + 1, 32, 2 },
	{ "less than stood", 0, 255, 1 },
};

KUNIT_ARRAY_PARAM_DESC(depth, depth_cases, name);

static void depth_test(struct kunit *test)
{
	const struct depth_case *c = test->param_value;
	s16 x[NDM_INPUTS] = { [NDM_IN_RTT_RATIO] = c->rtt_ratio };

	KUNIT_EXPECT_EQ(test, ndm_drain_depth(x, c->standing), c->expected);
}

static void standing_queue_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ndm_standing_queue(40000, 40000), 0);
	KUNIT_EXPECT_EQ(test, ndm_standing_queue(39000, 40000), 0);
	KUNIT_EXPECT_EQ(test, ndm_standing_queue(60000, 40000), 16);
	KUNIT_EXPECT_EQ(test, ndm_standing_queue(10000000, 40000), U8_MAX);
	KUNIT_EXPECT_EQ(test, ndm_standing_queue(NDM_RTT_MAX_US, 0), U8_MAX);
}

/* A socket with a window of 100 packets, a decision away from its first drain. */
static struct sock *before_a_drain(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	int i;

	for (i = 0; i < NDM_DRAIN_FIRST; i++)
		round_trip(sk, 0, 0);
	tcp_snd_cwnd_set(tcp_sk(sk), 100);
	return sk;
}

static void drain_test(struct kunit *test)
{
	struct sock *sk = before_a_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* 100 + 1 + 10 / 4 */
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, ndm->cwnd_fp >> NDM_CWND_FRAC, 103);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 51);
	/* Asked and not heard. */
	round_trip(sk, 16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 51);
	round_trip(sk, -16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 103);
	round_trip(sk, -16384, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 55);
}

/* An interval whose packets have taken @rtt_us, as the smoothed RTT has not. */
static void round_trip_of(struct sock *sk, u32 rtt_us)
{
	struct rate_sample rs = ack_of(sk, 10);

	rs.rtt_us = rtt_us;
	memset(wanted, 0, sizeof(wanted));
	ndm_control(sk, &rs, decide);
}

static void drain_measures_test(struct kunit *test)
{
	struct sock *sk = before_a_drain(test);
	struct ndm_measure *m = &((struct ndm_sock *)inet_csk_ca(sk))->measure;

	/* The first interval says nothing, the second one what stays. */
	round_trip(sk, 0, 0);
	round_trip_of(sk, 3 * RTT_US);
	KUNIT_EXPECT_EQ(test, m->standing, 0);
	round_trip_of(sk, 2 * RTT_US);
	KUNIT_EXPECT_EQ(test, m->min_rtt_us, RTT_US);
	KUNIT_EXPECT_EQ(test, m->standing, 32);
	round_trip_of(sk, 5 * RTT_US);
	KUNIT_EXPECT_EQ(test, m->standing, 32);
	/* A path that is shorter than was known: no queue stands there. */
	sk = before_a_drain(test);
	m = &((struct ndm_sock *)inet_csk_ca(sk))->measure;
	round_trip(sk, 0, 0);
	round_trip(sk, 0, 0);
	round_trip_of(sk, RTT_US / 2);
	KUNIT_EXPECT_EQ(test, m->min_rtt_us, RTT_US / 2);
	KUNIT_EXPECT_EQ(test, m->standing, 0);
}

static void no_drain_test(struct kunit *test)
{
	struct sock *sk = before_a_drain(test);

	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 103);
	sk = before_a_drain(test);
	tcp_sk(sk)->is_cwnd_limited = 0;
	tcp_sk(sk)->snd_ssthresh = 1;
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 100);
}

static void drain_ends_with_the_kernel_test(struct kunit *test)
{
	struct sock *sk = before_a_drain(test);
	struct ndm_sock *ndm = inet_csk_ca(sk);

	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, NDM_DRAIN_INTERVALS);
	/* A time-out, say: its window counts, whole. */
	tcp_snd_cwnd_set(tcp_sk(sk), 1);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, (int)ndm->measure.drain, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 2);
}

struct pacing_case {
	const char *name;
	u32 cwnd, srtt_us;
	s16 action;
	u64 max, expected;
};

static const struct pacing_case pacing_cases[] = {
	{ "neutral: 1.25 cwnd/srtt", 10, 40000, 0, ~0ULL, AT(10, 40000, 125) },
	{ "twice it", 10, 40000, 16384, ~0ULL, AT(10, 40000, 250) },
	{ "half of it", 1000, 40000, -16384, ~0ULL, AT(1000, 40000, 125) / 2 },
	{ "no RTT yet: 1 ms", 10, 0, 0, ~0ULL, AT(10, 1000, 125) },
	{ "1 us", 10, 1, 0, ~0ULL, AT(10, 1, 125) },
	{ "10 s", 2, 10000000, 0, ~0ULL, AT(2, 10000000, 125) },
	{ "the socket's limit", 1000, 1000, 0, 5000, 5000 },
	{ "the largest window", NDM_CWND_MAX, 40000, 0, ~0ULL,
	  AT(NDM_CWND_MAX, 40000, 125) },
	{ "past what 64 bits hold", NDM_CWND_MAX, 1, 16384, ~0ULL,
	  (NDM_PACING_MAX >> 1) * 5 },
};

KUNIT_ARRAY_PARAM_DESC(pacing, pacing_cases, name);

static void pacing_test(struct kunit *test)
{
	const struct pacing_case *c = test->param_value;
	struct sock *sk = socket_of(test);
	u64 rate;

	tcp_snd_cwnd_set(tcp_sk(sk), c->cwnd);
	tcp_sk(sk)->snd_cwnd_clamp = c->cwnd;	/* and no more */
	tcp_sk(sk)->srtt_us = c->srtt_us << 3;
	sk->sk_max_pacing_rate = min_t(u64, c->max, ~0UL);
	round_trip(sk, 0, c->action);
	rate = READ_ONCE(sk->sk_pacing_rate);
	/* Gains have 16 fraction bits. */
	KUNIT_EXPECT_GE(test, rate, c->expected - c->expected / 20000 - 1);
	KUNIT_EXPECT_LE(test, rate, c->expected + c->expected / 20000 + 1);
}

static void mark_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);

	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, seen.x[NDM_IN_LOSS_RATE], 0);
	ndm_set_state(sk, TCP_CA_CWR);
	round_trip(sk, 0, 0);
	/* One in eleven: the ten were delivered. */
	KUNIT_EXPECT_EQ(test, seen.x[NDM_IN_LOSS_RATE], NDM_ONE / 11);
	KUNIT_EXPECT_EQ(test, seen.x[NDM_IN_CONGESTION], NDM_ONE);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, seen.x[NDM_IN_LOSS_RATE], 0);
}

/* -- what the kernel does to the window ------------------------------------ */

static void timeout_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs = { .prior_delivered = -1, .rtt_us = -1,
				  .acked_sacked = 3 };
	int i;

	tcp_snd_cwnd_set(tp, 40);
	KUNIT_EXPECT_EQ(test, ndm_ssthresh(sk), 40);
	/* As tcp_enter_loss() does it. */
	tp->prior_cwnd = 40;
	tcp_snd_cwnd_set(tp, 1);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	ndm_set_state(sk, TCP_CA_Loss);
	for (i = 1; i <= 6; i++) {
		ndm_control(sk, &rs, decide);
		KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 1 + 3 * i);
	}
	ndm_control(sk, &rs, decide);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	/* The time-out was spurious: the window is restored, and the saved one cleared. */
	KUNIT_EXPECT_EQ(test, ndm_undo_cwnd(sk), 40);
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_LE(test, seen.x[NDM_IN_PLASTICITY], NDM_PLASTICITY_START);
	/* In fast recovery the policy took what was taken. */
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	KUNIT_EXPECT_EQ(test, ndm_undo_cwnd(sk), tcp_snd_cwnd(tp));
}

struct restart_case {
	const char *name;
	u32 cwnd, ssthresh;
	int idle_ms;
	bool sysctl;
	u32 expected, expected_ssthresh;
};

static const struct restart_case restart_cases[] = {
	{ "shorter than an RTO", 80, 50, 990, true, 80, 50 },
	{ "one RTO", 80, 50, 1010, true, 40, 60 },
	{ "two RTOs", 80, 70, 2010, true, 20, 70 },
	{ "not below the initial window", 80, 50, 50000, true, 10, 60 },
	{ "for hours", 80, 50, 40000000, true, 10, 60 },
	{ "one that is smaller stays", 4, 50, 50000, true, 4, 50 },
	{ "net.ipv4.tcp_slow_start_after_idle=0", 80, 50, 50000, false, 80, 50 },
};

KUNIT_ARRAY_PARAM_DESC(restart, restart_cases, name);

static void restart_test(struct kunit *test)
{
	const struct restart_case *c = test->param_value;
	struct sock *sk = socket_of(test);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 before = init_net.ipv4.sysctl_tcp_slow_start_after_idle;

	tcp_snd_cwnd_set(tp, c->cwnd);
	tp->snd_ssthresh = c->ssthresh;
	tp->lsndtime = tcp_jiffies32 - msecs_to_jiffies(c->idle_ms);
	WRITE_ONCE(init_net.ipv4.sysctl_tcp_slow_start_after_idle, c->sysctl);
	ndm_tx_start(sk);
	WRITE_ONCE(init_net.ipv4.sysctl_tcp_slow_start_after_idle, before);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), c->expected);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, c->expected_ssthresh);
}

static void still_out_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	struct tcp_sock *tp = tcp_sk(sk);

	/* All lost, none acknowledged: in flight are none, yet it is not idle. */
	tp->packets_out = 8;
	tp->lost_out = 8;
	tcp_snd_cwnd_set(tp, 80);
	tp->lsndtime = tcp_jiffies32 - 100 * HZ;
	ndm_tx_start(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 80);
}

static void info_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	union tcp_cc_info info;
	int attr = 0;

	KUNIT_EXPECT_EQ(test, ndm_get_info(sk, 0, &attr, &info), 0);
	KUNIT_EXPECT_EQ(test, attr, 0);
	tcp_sk(sk)->snd_cwnd_clamp = 10;
	round_trip(sk, 0, 0);
	KUNIT_EXPECT_EQ(test, ndm_get_info(sk, 1 << (INET_DIAG_VEGASINFO - 1),
					   &attr, &info), sizeof(info.bbr));
	KUNIT_EXPECT_EQ(test, attr, INET_DIAG_BBRINFO);
	/* 10 packets in 40 ms, all of the window: 362,000 bytes/s, cut to Q24 */
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_bw_lo / 100, 3619);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_bw_hi, 0);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_min_rtt, RTT_US);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_cwnd_gain, 1 << 8);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_pacing_gain, 5 << 6);
}

static struct kunit_case control_cases[] = {
	KUNIT_CASE(once_an_interval_test),
	KUNIT_CASE_PARAM(window_test, window_gen_params),
	KUNIT_CASE(small_steps_add_up_test),
	KUNIT_CASE(windows_end_alike_test),
	KUNIT_CASE(nobody_test),
	KUNIT_CASE_PARAM(sign_test, sign_gen_params),
	KUNIT_CASE(start_test),
	KUNIT_CASE(start_ends_with_a_loss_test),
	KUNIT_CASE_PARAM(due_test, due_gen_params),
	KUNIT_CASE_PARAM(depth_test, depth_gen_params),
	KUNIT_CASE(standing_queue_test),
	KUNIT_CASE(drain_test),
	KUNIT_CASE(drain_measures_test),
	KUNIT_CASE(no_drain_test),
	KUNIT_CASE(drain_ends_with_the_kernel_test),
	KUNIT_CASE_PARAM(pacing_test, pacing_gen_params),
	KUNIT_CASE(mark_test),
	KUNIT_CASE(timeout_test),
	KUNIT_CASE_PARAM(restart_test, restart_gen_params),
	KUNIT_CASE(still_out_test),
	KUNIT_CASE(info_test),
	{}
};

static struct kunit_suite control_suite = {
	.name = "ndm_control",
	.test_cases = control_cases,
};

/* -- the guard --------------------------------------------------------------- */

struct judge_case {
	const char *name;
	int loss, rtt_ratio, rtt_variation;	/* Q12 */
	u32 cwnd_fp, next_fp;			/* NDM_CWND_FRAC fraction bits */
	bool at_minimum;
	enum ndm_guard_verdict expected;
};

#define EIGHTH (NDM_ONE / 8)
#define FP(packets) ((packets) << NDM_CWND_FRAC)

static const struct judge_case judge_cases[] = {
	{ "all is well", 0, 0, 0, FP(64), FP(128), false, NDM_GUARD_GOOD },
	{ "grows into loss", EIGHTH, 0, 0, FP(64), FP(64) + 1, false,
	  NDM_GUARD_PRESSING },
	{ "stays in loss", EIGHTH, 0, 0, FP(64), FP(64), false,
	  NDM_GUARD_PRESSING },
	{ "cuts too little in loss", EIGHTH, 0, 0, FP(64), FP(60) + 1, false,
	  NDM_GUARD_PRESSING },
	{ "cuts enough", NDM_ONE, 0, 0, FP(64), FP(60), false, NDM_GUARD_GOOD },
	{ "a little loss is its own to judge", EIGHTH - 1, 0, 0, FP(64), FP(128),
	  false, NDM_GUARD_GOOD },
	{ "an RTT that jumps proves no loss", NDM_ONE, S16_MAX, NDM_ONE / 4 + 1,
	  FP(64), FP(128), false, NDM_GUARD_GOOD },
	{ "one just steady does", NDM_ONE, 0, NDM_ONE / 4, FP(64), FP(128), false,
	  NDM_GUARD_PRESSING },
	{ "grows into a queue", 0, 2 * NDM_ONE, 0, FP(64), FP(65) + 1, false,
	  NDM_GUARD_PRESSING },
	{ "as Reno would", 0, S16_MAX, 0, FP(64), FP(65), false, NDM_GUARD_GOOD },
	{ "a shorter queue", 0, 2 * NDM_ONE - 1, 0, FP(64), FP(128), false,
	  NDM_GUARD_GOOD },
	{ "a window that nobody feels", NDM_ONE, S16_MAX, 0, FP(2), FP(4), false,
	  NDM_GUARD_GOOD },
	{ "and one that they do", NDM_ONE, 0, 0, FP(4), FP(4) + 1, false,
	  NDM_GUARD_PRESSING },
	{ "stays at the bottom", 0, NDM_ONE / 4, 0, FP(2), FP(3) - 1, true,
	  NDM_GUARD_STARVING },
	{ "sinks at the bottom", 0, 0, NDM_ONE, FP(3), FP(2), true,
	  NDM_GUARD_STARVING },
	{ "rises from it", 0, 0, 0, FP(2), FP(3), true, NDM_GUARD_GOOD },
	{ "for a queue", 0, NDM_ONE / 4 + 1, 0, FP(2), FP(2), true, NDM_GUARD_GOOD },
	{ "for a loss", 1, 0, 0, FP(2), FP(2), true, NDM_GUARD_GOOD },
	{ "low, but not at the bottom", 0, 0, 0, FP(3), FP(2), false,
	  NDM_GUARD_GOOD },
};

KUNIT_ARRAY_PARAM_DESC(judge, judge_cases, name);

static void judge_test(struct kunit *test)
{
	const struct judge_case *c = test->param_value;
	s16 x[NDM_INPUTS] = {
		[NDM_IN_LOSS_RATE] = c->loss,
		[NDM_IN_RTT_RATIO] = c->rtt_ratio,
		[NDM_IN_RTT_VARIATION] = c->rtt_variation,
	};

	KUNIT_EXPECT_EQ(test, ndm_guard_judge(x, c->cwnd_fp, c->next_fp,
					      c->at_minimum), c->expected);
}

static void bucket_test(struct kunit *test)
{
	unsigned int bucket = 0;
	int i;

	for (i = 1; i <= NDM_GUARD_LIMIT; i++) {
		bucket = ndm_guard_fill(bucket, NDM_GUARD_PRESSING);
		KUNIT_EXPECT_EQ(test, bucket, i);
	}
	KUNIT_EXPECT_EQ(test, ndm_guard_fill(bucket, NDM_GUARD_STARVING), bucket);
	KUNIT_EXPECT_EQ(test, ndm_guard_fill(5, NDM_GUARD_GOOD), 3);
	KUNIT_EXPECT_EQ(test, ndm_guard_fill(1, NDM_GUARD_GOOD), 0);
	KUNIT_EXPECT_EQ(test, ndm_guard_fill(0, NDM_GUARD_GOOD), 0);
	/* A policy that errs as often as not is left alone for ever. */
	for (bucket = 0, i = 0; i < 10000; i++)
		bucket = ndm_guard_fill(bucket, i % 2 ? NDM_GUARD_GOOD :
							NDM_GUARD_PRESSING);
	KUNIT_EXPECT_LE(test, bucket, 2);
}

/* -- Reno -------------------------------------------------------------------- */

static void reno_begins_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, 1000);
	tp->packets_out = 60;
	tp->undo_marker = 1;
	ndm_reno_begin(sk, NDM_GUARD_PRESSING);
	KUNIT_EXPECT_EQ(test, tp->undo_marker, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 30);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 30);

	tcp_snd_cwnd_set(tp, 3);
	ndm_reno_begin(sk, NDM_GUARD_PRESSING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), NDM_CWND_MIN);

	ndm_reno_begin(sk, NDM_GUARD_STARVING);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), NDM_CWND_MIN);
	KUNIT_EXPECT_TRUE(test, tcp_in_slow_start(tp));
}

static void reno_test(struct kunit *test)
{
	struct sock *sk = socket_of(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs = { .acked_sacked = 10 };
	int i;

	/* Slow start: as many more as were acknowledged. */
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->max_packets_out = 100;
	ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_pacing_rate) / 1000,
			20ULL * MSS * 2 / 40);
	/* Congestion avoidance: one more a round trip. */
	tp->snd_ssthresh = 20;
	for (i = 0; i < 2; i++)
		ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 21);
	/* Recovery: at ssthresh, and no further. */
	tp->snd_ssthresh = 10;
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	for (i = 0; i < 5; i++)
		ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
	/* Nothing acknowledged, nothing gained. */
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	rs.acked_sacked = 0;
	for (i = 0; i < 100; i++)
		ndm_reno_control(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
}

static struct kunit_case guard_cases[] = {
	KUNIT_CASE_PARAM(judge_test, judge_gen_params),
	KUNIT_CASE(bucket_test),
	KUNIT_CASE(reno_begins_test),
	KUNIT_CASE(reno_test),
	{}
};

static struct kunit_suite guard_suite = {
	.name = "ndm_guard",
	.test_cases = guard_cases,
};

kunit_test_suites(&control_suite, &guard_suite);

MODULE_DESCRIPTION("KUnit tests of NDM's control loop and of its guard");
MODULE_LICENSE("GPL");
