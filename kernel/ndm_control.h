/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control loop on a socket. Both modules share it; each supplies who
 * decides.
 *
 * One decision per control interval, a packet-timed round trip of at least
 * 1 ms. In between, per ACK, only counters move. A decision is two actions in
 * [-1, 1]:
 *
 *	cwnd   *= 2^cwnd_log2			within [2, 2^23] packets
 *	pacing  = 1.25 * 2^pacing * cwnd / srtt
 *
 * cwnd keeps 8 fraction bits from decision to decision: where a window is 4
 * packets, a step of 10 % would else be none at all.
 *
 * The policy alone reduces the window in fast recovery: ssthresh() gives the
 * window as it is, and there is no PRR (the kernel leaves cwnd alone when
 * cong_control is there). A time-out is the kernel's: it sets the window to
 * what is in flight plus 1. From there, until the next decision, it slow-starts
 * to half of the old window; a time-out that turns out spurious gives all of it
 * back.
 *
 * Growth needs a window that was used up (RFC 7661): a flow that its
 * application or its receiver holds back must not collect a window that it
 * has never tried.
 */
#ifndef NDM_CONTROL_H
#define NDM_CONTROL_H

#include <linux/atomic.h>
#include <linux/inet_diag.h>
#include <net/tcp.h>

#include "compat/cong_control.h"
#include "compat/tx_start.h"
#include "ndm_features.h"
#include "ndm_math.h"

#define NDM_CWND_FRAC 8
#define NDM_CWND_MIN 2
#define NDM_CWND_MAX (1U << 23)		/* with its fraction bits, below 2^32 */

/* The neutral pacing gain 1.25, Q16: enough above cwnd/srtt not to bind. */
#define NDM_PACING_GAIN 81920

/* Pacing rates are cut here, 70 TB/s, so that the gain fits into 64 bits. */
#define NDM_PACING_MAX (1ULL << 46)

/* The RTT that pacing starts with where the handshake gave none. */
#define NDM_RTT_UNKNOWN_US 1000

/* Private state of one socket: 72 bytes, which leaves 32 for the network. */
struct ndm_sock {
	struct ndm_measure measure;
	u32 cwnd_fp;	/* cwnd with NDM_CWND_FRAC fraction bits */
	u32 flow : 24;	/* which connection: counts from 1 as they open */
	u32 model : 8;	/* whose memory the network's is; see tcp_ndm.c */
};

/*
 * Fills @actions (NDM_OUTPUTS, Q14) for the interval that just ended. The
 * actions are 0 before the call: hold. @decision: counts from 0.
 */
typedef void ndm_decide_fn(struct sock *sk, u32 decision,
			   const struct ndm_interval *interval, s16 *actions);

static inline struct ndm_reading ndm_read(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return (struct ndm_reading) {
		.now_us = tp->tcp_mstamp,
		.delivered = tp->delivered,
		/*
		 * A DSACK reports a segment that arrived twice; when this side
		 * had retransmitted one, that one was not lost. More of them
		 * than retransmissions means that the network duplicates.
		 */
		.lost = tp->lost - min(tp->dsack_dups, tp->total_retrans),
		.inflight = tcp_packets_in_flight(tp),
		.srtt_us = tp->srtt_us >> 3,
		.mdev_us = tp->mdev_us >> 2,
		.slow_start = tcp_in_slow_start(tp),
	};
}

/* Bytes per second: NDM_PACING_GAIN * 2^@pacing * cwnd * mss / srtt. */
static inline void ndm_set_pacing(struct sock *sk, s16 pacing)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)tcp_snd_cwnd(tp) * tp->mss_cache;
	/* At most 2 * 1.25 as Q16: below 2^18. */
	u64 gain = (u64)NDM_PACING_GAIN * ndm_exp2(pacing) >> 16;

	/* cwnd < 2^24, mss < 2^17, 8e6 < 2^23: srtt_us of the kernel is 1/8 us. */
	rate = div_u64(rate * (8 * USEC_PER_SEC),
		       tp->srtt_us ? tp->srtt_us : 8 * NDM_RTT_UNKNOWN_US);
	rate = max_t(u64, min(rate, NDM_PACING_MAX) * gain >> 16, 1);
	/* sch_fq reads it without a lock. */
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

static inline void ndm_set_cwnd(struct sock *sk, struct ndm_sock *ndm,
				u32 cwnd_fp)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 most = min(tp->snd_cwnd_clamp, NDM_CWND_MAX);

	cwnd_fp = max_t(u32, cwnd_fp, NDM_CWND_MIN << NDM_CWND_FRAC);
	ndm->cwnd_fp = min(cwnd_fp, most << NDM_CWND_FRAC);
	tcp_snd_cwnd_set(tp, ndm->cwnd_fp >> NDM_CWND_FRAC);
}

/* The window of a decision: @cwnd_log2 is Q14 in [-1, 1]. */
static inline void ndm_apply_cwnd(struct sock *sk, struct ndm_sock *ndm,
				  s16 cwnd_log2)
{
	/* At most 2^31 * 2^17. */
	u64 next = (u64)ndm->cwnd_fp * ndm_exp2(cwnd_log2) >> 16;

	if (next > ndm->cwnd_fp && !tcp_is_cwnd_limited(sk))
		next = ndm->cwnd_fp;
	ndm_set_cwnd(sk, ndm, min_t(u64, next, U32_MAX));
}

/* Slow start after a time-out, up to half of the window before it. */
static inline void ndm_recover_from_timeout(struct sock *sk,
					    struct ndm_sock *ndm, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 half = tp->prior_cwnd / 2;

	if (tcp_snd_cwnd(tp) < half)
		ndm_set_cwnd(sk, ndm, min(tcp_snd_cwnd(tp) + acked, half)
				      << NDM_CWND_FRAC);
}

/* The body of cong_control(): called for every ACK, decides once an interval. */
static inline void ndm_control(struct sock *sk, const struct rate_sample *rs,
			       ndm_decide_fn *decide)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_measure *m = &ndm->measure;
	s16 actions[NDM_OUTPUTS] = {};
	struct ndm_interval interval;
	struct ndm_reading now;
	u32 decision;

	/* The kernel has set the window itself: a time-out, its undo, a probe. */
	if (ndm->cwnd_fp >> NDM_CWND_FRAC != tcp_snd_cwnd(tp))
		ndm->cwnd_fp = tcp_snd_cwnd(tp) << NDM_CWND_FRAC;

	if (rs->rtt_us >= 0)
		ndm_measure_rtt(m, min_t(long, rs->rtt_us, NDM_RTT_MAX_US));

	if (rs->delivered < 0 ||
	    !ndm_interval_over(m, tp->tcp_mstamp, rs->prior_delivered)) {
		if (m->timed_out && rs->acked_sacked)
			ndm_recover_from_timeout(sk, ndm, rs->acked_sacked);
		return;
	}

	now = ndm_read(sk);
	decision = m->decisions;
	ndm_interval_close(m, &now, &interval);
	decide(sk, decision, &interval, actions);
	ndm_apply_cwnd(sk, ndm, actions[NDM_OUT_CWND_LOG2]);
	ndm_set_pacing(sk, actions[NDM_OUT_PACING]);
}

static inline void ndm_sock_init(struct sock *sk, atomic_t *flows)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_reading now = ndm_read(sk);

	ndm_measure_init(&ndm->measure, &now);
	ndm->cwnd_fp = tcp_snd_cwnd(tcp_sk(sk)) << NDM_CWND_FRAC;
	ndm->flow = atomic_inc_return(flows);
	ndm->model = 0;
	ndm_set_pacing(sk, 0);
	/* TCP paces by itself unless an fq qdisc has said that it does. */
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static inline u32 ndm_ssthresh(struct sock *sk)
{
	return max_t(u32, tcp_snd_cwnd(tcp_sk(sk)), NDM_CWND_MIN);
}

/* Only a time-out took the window away; in fast recovery it was the policy's. */
static inline u32 ndm_undo_cwnd(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_reading now = ndm_read(sk);

	ndm_measure_undo(&ndm->measure, now.lost);
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		return max(tcp_snd_cwnd(tp), tp->prior_cwnd);
	return tcp_snd_cwnd(tp);
}

static inline void ndm_set_state(struct sock *sk, u8 state)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	if (state == TCP_CA_Loss)
		ndm_measure_timeout(&ndm->measure);
}

/* Called when the first packet goes out while none is in flight. */
static inline void ndm_tx_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	u64 idle_us;

	/* Marked lost is not idle: after a time-out, packets are still out. */
	if (tp->packets_out)
		return;
	idle_us = tcp_stamp_us_delta(tp->tcp_mstamp, tp->delivered_mstamp);
	ndm_measure_idle(&ndm->measure, tp->tcp_mstamp,
			 min_t(u64, idle_us, U32_MAX));
}

/* Stock tools show it as the RTTs of Vegas, the form that TCP-NV uses too. */
static inline size_t ndm_get_info(struct sock *sk, u32 ext, int *attr,
				  union tcp_cc_info *info)
{
	const struct ndm_sock *ndm = inet_csk_ca(sk);

	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = 1,
		.tcpv_rttcnt = ndm->measure.decisions,
		.tcpv_rtt = ndm->measure.last_rtt_us,
		.tcpv_minrtt = ndm->measure.min_rtt_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

#endif /* NDM_CONTROL_H */
