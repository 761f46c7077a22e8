/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NDM's state of a connection, its window and its pacing rate.
 *
 * The flow's window is cwnd_fp. The kernel's differs in a drain (ndm_drain.h) and at
 * the beginning of a fast recovery (ndm_recovery.h).
 */
#ifndef NDM_SOCK_H
#define NDM_SOCK_H

#include <linux/atomic.h>
#include <net/tcp.h>

#include "ndm_features.h"
#include "ndm_slow_start.h"
#include "ndm_window.h"

/* The neutral pacing gain 1.25, Q16: enough above cwnd/srtt not to bind. */
#define NDM_PACING_GAIN 81920

/* Bytes per second, 70 TB/s: rate times gain fits into 64 bits. */
#define NDM_PACING_MAX (1ULL << 46)

/* The initial RTT for pacing when the handshake gave no sample. */
#define NDM_RTT_UNKNOWN_US 1000

/* Private state of one socket: 96 of the 104 available bytes. */
struct ndm_sock {
	struct ndm_measure measure;
	u32 cwnd_fp;	/* the flow's window, NDM_CWND_FRAC fraction bits */
	u32 given_cwnd;	/* the window that the kernel was given last, packets */
	u32 collapse_fp;	/* cwnd_fp before the last time-out; 0: see ndm_recovery.h */
	u32 flow : 20;	/* number of the connection, from 1 in opening order; wraps */
	/* used by tcp_ndm only */
	u32 model : 6;	/* number of the model that the recurrent state belongs to */
	u32 guard_bucket : 5;	/* ndm_guard.h */
	u32 reno : 1;	/* the guard has taken the connection from the policy */
	u8 phase;	/* enum ndm_phase */
};

static inline struct ndm_reading ndm_read(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return (struct ndm_reading) {
		.now_us = tp->tcp_mstamp,
		.delivered = tp->delivered,
		/*
		 * A DSACK reports a segment that arrived twice, so its
		 * retransmission was spurious: nothing was lost. DSACKs beyond
		 * the number of retransmissions are duplicates of the network.
		 */
		.lost = tp->lost - min(tp->dsack_dups, tp->total_retrans),
		.inflight = tcp_packets_in_flight(tp),
		.srtt_us = tp->srtt_us >> 3,
		.mdev_us = tp->mdev_us >> 2,
	};
}

/* Sets the pacing rate, bytes/s: @gain * cwnd * mss / srtt. @gain: Q16, below 2^18. */
static inline void ndm_set_pacing_gain(struct sock *sk, u32 gain)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)min(tcp_snd_cwnd(tp), NDM_CWND_MAX) * tp->mss_cache;

	/* cwnd < 2^24, mss < 2^17, 8e6 < 2^23: srtt_us of the kernel is 1/8 us. */
	rate = div_u64(rate * (8 * USEC_PER_SEC),
		       tp->srtt_us ? tp->srtt_us : 8 * NDM_RTT_UNKNOWN_US);
	rate = max_t(u64, min(rate, NDM_PACING_MAX) * gain >> 16, 1);
	/* sch_fq reads it without a lock. */
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/*
 * The highest pacing gain, for a sender that starts with nothing in flight or is in
 * slow start: a window of data leaves within half a round trip instead of nearly a
 * whole one.
 */
static inline void ndm_set_max_pacing(struct sock *sk)
{
	ndm_set_pacing_gain(sk, 2 * NDM_PACING_GAIN);
}

/* The window for the kernel: in a drain, a fraction of the flow's. */
static inline u32 ndm_window(const struct ndm_sock *ndm)
{
	u32 cwnd = ndm->cwnd_fp >> NDM_CWND_FRAC;

	if (ndm->measure.drain)
		cwnd = max_t(u32, cwnd >> ndm->measure.drain_depth, NDM_CWND_MIN);
	return cwnd;
}

/* Gives the kernel a window without changing the flow's. */
static inline void ndm_give_cwnd(struct sock *sk, struct ndm_sock *ndm, u32 cwnd)
{
	ndm->given_cwnd = cwnd;
	tcp_snd_cwnd_set(tcp_sk(sk), cwnd);
}

static inline void ndm_set_cwnd(struct sock *sk, struct ndm_sock *ndm,
				u32 cwnd_fp)
{
	u32 cwnd_max = min(tcp_sk(sk)->snd_cwnd_clamp, NDM_CWND_MAX);

	cwnd_fp = max_t(u32, cwnd_fp, NDM_CWND_MIN << NDM_CWND_FRAC);
	ndm->cwnd_fp = min(cwnd_fp, cwnd_max << NDM_CWND_FRAC);
	ndm_give_cwnd(sk, ndm, ndm_window(ndm));
}

/*
 * Takes over a window that the kernel has set itself, as after an MTU probe. Where it
 * was given less than the flow's window, the flow's changes by the same factor.
 */
static inline void ndm_take_cwnd(const struct sock *sk, struct ndm_sock *ndm)
{
	u32 cwnd = min(tcp_snd_cwnd(tcp_sk(sk)), NDM_CWND_MAX);
	u64 next_fp = cwnd << NDM_CWND_FRAC;

	if (cwnd == ndm->given_cwnd)
		return;
	/* Below 2^31 * 2^23. */
	if (ndm->given_cwnd && ndm->given_cwnd != ndm->cwnd_fp >> NDM_CWND_FRAC)
		next_fp = div_u64((u64)ndm->cwnd_fp * cwnd, ndm->given_cwnd);
	ndm->cwnd_fp = min_t(u64, next_fp, NDM_CWND_MAX << NDM_CWND_FRAC);
	ndm->given_cwnd = cwnd;
}

/*
 * Whether at least half of the window was used (RFC 7661, section 4.1). The kernel
 * applies this rule in slow start only, but a paced flow seldom has its whole window
 * in flight.
 */
static inline bool ndm_window_used(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcp_is_cwnd_limited(sk) ||
	       tcp_snd_cwnd(tp) < 2 * tp->max_packets_out;
}

static inline u32 ndm_ssthresh(struct sock *sk)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	ndm_take_cwnd(sk, ndm);
	return max_t(u32, ndm->cwnd_fp >> NDM_CWND_FRAC, NDM_CWND_MIN);
}

static inline void ndm_sock_init(struct sock *sk, atomic_t *flows)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_reading now = ndm_read(sk);

	ndm_measure_init(&ndm->measure, &now);
	ndm->cwnd_fp = 0;
	ndm->given_cwnd = 0;
	ndm_take_cwnd(sk, ndm);
	ndm->collapse_fp = 0;
	ndm->flow = atomic_inc_return(flows);
	ndm->model = 0;
	ndm->guard_bucket = 0;
	ndm->reno = 0;
	ndm->phase = tcp_in_initial_slowstart(tcp_sk(sk)) ? NDM_STARTING : NDM_STEADY;
	ndm_set_max_pacing(sk);
	/* TCP paces internally unless an fq qdisc does. */
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

#endif /* NDM_SOCK_H */
