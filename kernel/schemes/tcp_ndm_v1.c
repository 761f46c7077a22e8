// SPDX-License-Identifier: GPL-2.0
/*
 * NDM-TCP v1: the untrained ancestor of tcp_ndm, to reproduce its published figures
 * (datasets/published).
 *
 * The rules of https://github.com/hejhdiss/lkm-ndm-tcp, version 1.0, rewritten,
 * including its oddities, which the published figures depend on.
 *
 * Per ACK, the smoothed RTT in ms is stored in a ring of 16. Every 8 packets the
 * ring's entropy is computed; below 0.7 the path counts as congested. Growth is
 * Reno's, but a congested path counts only half of the acknowledged packets in slow
 * start, and in congestion avoidance the network decides which share of them counts:
 *
 *	h_i' = cubic(sum_j w_ij x_j + h_i / 2)		8 units, 8 inputs
 *	out  = sum_i v_i h_i'
 *	w_ij = (37 i + 17 j) / 1000 - 1			made from indices,
 *	v_i  = 13 i / 1000 - 1				never trained
 *
 * A loss leaves half of the window, or a third when the entropy is high.
 *
 * Oddities: the logarithm in the entropy is the length of p in bits and rises with p
 * instead of falling, so any spread of RTTs counts as full entropy. The README
 * states 2/3 of the window after a loss; the code leaves 1/3. tanh is x - x^3/3 up
 * to 3, where it is -6. Two inputs are always 0.
 *
 * Real numbers are integers in units of 1/1000.
 */
#include <linux/bitops.h>
#include <linux/module.h>
#include <net/tcp.h>

#define V1_ONE 1000
#define V1_UNITS 8
#define V1_INPUTS 8
#define V1_HISTORY 16
#define V1_BINS 16
#define V1_ENTROPY_SAMPLES 8	/* with fewer, the entropy is 0 */
#define V1_ENTROPY_PACKETS 8
#define V1_ENTROPY_THRESHOLD 700
#define V1_PLASTICITY 300
#define V1_PLASTICITY_DECAY 995
#define V1_PLASTICITY_MIN 100
#define V1_RTT_RATIO_MAX (1000 * V1_ONE)	/* keeps the sums within 32 bits */

/* State of one connection: 84 of the 104 available bytes. */
struct ndm_v1 {
	u32 min_rtt_us;			/* smallest smoothed RTT */
	u32 ssthresh;
	u32 prior_cwnd;
	u16 rtt_ms[V1_HISTORY];
	s16 unit[V1_UNITS];
	u16 entropy;
	u16 plasticity;
	u32 acked;			/* packets since the last entropy */
	u8 next;			/* next index of rtt_ms */
	u8 samples;
	bool measured;			/* the entropy was computed */
	bool congested;
	bool lost;			/* since the last entropy but one */
};

static u16 v1_entropy(const struct ndm_v1 *v1)
{
	u16 min_ms = U16_MAX, max_ms = 0;
	u8 count[V1_BINS] = {};
	u32 entropy = 0;
	int i;

	if (v1->samples < V1_ENTROPY_SAMPLES)
		return 0;
	for (i = 0; i < v1->samples; i++) {
		min_ms = min(min_ms, v1->rtt_ms[i]);
		max_ms = max(max_ms, v1->rtt_ms[i]);
	}
	if (min_ms == max_ms)
		return 0;
	/* Below 2^16 * 2^4. */
	for (i = 0; i < v1->samples; i++)
		count[(u32)(v1->rtt_ms[i] - min_ms) * (V1_BINS - 1) /
		      (max_ms - min_ms)]++;
	for (i = 0; i < V1_BINS; i++) {
		u32 p = count[i] * V1_ONE / v1->samples;

		/* At most 1000 * 10: p has up to 10 bits. */
		entropy += p * fls(p);
	}
	return min_t(u32, entropy / 4, V1_ONE);
}

/* x - x^3/3 in [-3, 3], else 1 or -1; |@x| < 2^31. */
static s32 v1_cubic(s64 x)
{
	if (x > 3 * V1_ONE)
		return V1_ONE;
	if (x < -3 * V1_ONE)
		return -V1_ONE;
	/* 3000^3 < 2^35 */
	return x - div_s64(div_s64(x * x, V1_ONE) * x, V1_ONE) / 3;
}

/* The share of the acknowledged packets that counts: 0 to 1. */
static u32 v1_share(struct ndm_v1 *v1, u32 rtt_us, bool slow_start)
{
	/* 2^32 * 1000 fits into 64 bits. */
	u64 ratio = div_u64((u64)rtt_us * V1_ONE, max(v1->min_rtt_us, 1U));
	const s32 input[V1_INPUTS] = {
		(s32)min_t(u64, ratio, V1_RTT_RATIO_MAX) - V1_ONE,
		v1->entropy,
		slow_start ? V1_ONE : -V1_ONE,
		v1->congested ? -V1_ONE : V1_ONE,
		(s32)v1->plasticity - V1_ONE / 2,
		v1->lost ? -V1_ONE : V1_ONE,
	};
	s32 out = 0;
	int i, j;

	for (i = 0; i < V1_UNITS; i++) {
		s64 sum = v1->unit[i] / 2;

		/* |weight| <= 1000, and |input| <= 10^6 */
		for (j = 0; j < V1_INPUTS; j++)
			sum += input[j] * (37 * i + 17 * j - V1_ONE) / V1_ONE;
		v1->unit[i] = v1_cubic(sum);
		out += v1->unit[i] * (13 * i - V1_ONE) / V1_ONE;
	}
	if (v1->entropy > V1_ENTROPY_THRESHOLD)
		out /= 2;
	return clamp(V1_ONE / 2 + out / 8, 0, V1_ONE);
}

static void v1_store(struct ndm_v1 *v1, u32 rtt_us, u32 acked)
{
	v1->min_rtt_us = min(v1->min_rtt_us, rtt_us);
	v1->rtt_ms[v1->next] = clamp_t(u32, rtt_us / USEC_PER_MSEC, 1, U16_MAX);
	v1->next = (v1->next + 1) % V1_HISTORY;
	v1->samples = min(v1->samples + 1, V1_HISTORY);
	v1->acked += acked;
	if (v1->acked < V1_ENTROPY_PACKETS)
		return;
	v1->acked = 0;
	v1->entropy = v1_entropy(v1);
	v1->measured = true;
	v1->congested = v1->entropy < V1_ENTROPY_THRESHOLD;
	v1->lost = false;
}

static void v1_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_v1 *v1 = inet_csk_ca(sk);
	u32 rtt_us = max(tp->srtt_us >> 3, 1U);
	bool slow_start;
	u32 share;

	if (!acked)
		return;
	v1_store(v1, rtt_us, acked);
	slow_start = tcp_snd_cwnd(tp) < v1->ssthresh;
	share = v1_share(v1, rtt_us, slow_start);
	if (slow_start) {
		tcp_slow_start(tp, v1->congested ? acked / 2 : acked);
	} else if (v1->measured) {
		u32 whole = v1->congested ? 2 * V1_ONE : V1_ONE;

		/* acked < 2^22, so the product fits into 32 bits. */
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp),
				  max(1U, acked * share / whole));
	} else {
		tcp_reno_cong_avoid(sk, ack, acked);
	}
	v1->plasticity = max(v1->plasticity * V1_PLASTICITY_DECAY / V1_ONE,
			     V1_PLASTICITY_MIN);
}

static u32 v1_ssthresh(struct sock *sk)
{
	struct ndm_v1 *v1 = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	bool noise = v1->measured && v1->entropy > V1_ENTROPY_THRESHOLD;

	v1->lost = true;
	v1->plasticity = min(v1->plasticity + 100, V1_ONE);
	v1->prior_cwnd = cwnd;
	v1->ssthresh = max(cwnd / (noise ? 3 : 2), 2U);
	return v1->ssthresh;
}

static u32 v1_undo_cwnd(struct sock *sk)
{
	const struct ndm_v1 *v1 = inet_csk_ca(sk);

	return max(tcp_snd_cwnd(tcp_sk(sk)), v1->prior_cwnd);
}

static void v1_set_state(struct sock *sk, u8 state)
{
	struct ndm_v1 *v1 = inet_csk_ca(sk);

	if (state != TCP_CA_Loss)
		return;
	v1->congested = true;
	v1->lost = true;
	v1->plasticity = min(v1->plasticity + 150, V1_ONE);
}

static void v1_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct ndm_v1 *v1 = inet_csk_ca(sk);

	if (event == CA_EVENT_CWND_RESTART)
		v1->plasticity = V1_PLASTICITY;
}

static void v1_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_v1 *v1 = inet_csk_ca(sk);

	*v1 = (struct ndm_v1) {
		.min_rtt_us = U32_MAX,
		.ssthresh = tp->snd_ssthresh,
		.prior_cwnd = tcp_snd_cwnd(tp),
		.plasticity = V1_PLASTICITY,
	};
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

static struct tcp_congestion_ops ndm_v1 __read_mostly = {
	.init = v1_init,
	.ssthresh = v1_ssthresh,
	.cong_avoid = v1_cong_avoid,
	.undo_cwnd = v1_undo_cwnd,
	.set_state = v1_set_state,
	.cwnd_event = v1_cwnd_event,
	.owner = THIS_MODULE,
	.name = "ndm_v1",
};

static int __init tcp_ndm_v1_init(void)
{
	BUILD_BUG_ON(sizeof(struct ndm_v1) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&ndm_v1);
}

static void __exit tcp_ndm_v1_exit(void)
{
	tcp_unregister_congestion_control(&ndm_v1);
}

module_init(tcp_ndm_v1_init);
module_exit(tcp_ndm_v1_exit);

MODULE_DESCRIPTION("NDM-TCP v1, untrained, for comparison with its published figures");
MODULE_LICENSE("GPL");
