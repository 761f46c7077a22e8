/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control loop on a socket, shared by tcp_ndm and tcp_ndm_gym. Each supplies
 * the function that decides.
 *
 * One decision per control interval, a packet-timed round trip of at least
 * 1 ms. In between, per ACK, only counters move. A decision is two actions in
 * [-1, 1]:
 *
 *	cwnd    = cwnd * 2^cwnd_log2 + 1 + sqrt(cwnd) / 4	(ndm_window.h)
 *	pacing  = 1.25 * 2^pacing * cwnd / srtt
 *
 * In slow start the window doubles instead (ndm_slow_start.h), and in a drain it is
 * half or less for two intervals (ndm_drain.h).
 *
 * The policy alone reduces the window in fast recovery: ssthresh() gives the
 * window as it is, and there is no PRR (the kernel leaves cwnd alone when
 * cong_control is there). A time-out is the kernel's: it sets the window to
 * what is in flight plus 1. From there it slow-starts to half of the old window
 * while the kernel repairs what was lost (TCP_CA_Loss), besides what the policy
 * decides; after a spurious time-out the old window is restored.
 *
 * The window grows only while it is used (RFC 7661): a flow that its application
 * or its receiver limits must not build up a window that it has never tried. After
 * idleness the window decays (RFC 2861).
 *
 * An ECN mark, or a loss that a tail loss probe has repaired, counts as one lost
 * packet in the interval (RFC 3168: a mark is treated as a loss).
 */
#ifndef NDM_CONTROL_H
#define NDM_CONTROL_H

#include <linux/atomic.h>
#include <linux/inet_diag.h>
#include <net/tcp.h>

#include "compat/cong_control.h"
#include "compat/tx_start.h"
#include "ndm_drain.h"
#include "ndm_features.h"
#include "ndm_math.h"
#include "ndm_slow_start.h"
#include "ndm_window.h"

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
	u32 flow : 20;	/* which connection: counts from 1 as they open, wraps */
	/* What follows is tcp_ndm's. */
	u32 model : 6;	/* number of the model whose memory the network's is */
	u32 guard_bucket : 5;	/* ndm_guard.h */
	u32 reno : 1;	/* the guard has taken the connection from the policy */
};

/*
 * Fills @actions (NDM_OUTPUTS, Q14) for the interval that just ended. @decision:
 * counts from 0. Returns whether to follow them: else window and pacing stay.
 */
typedef bool ndm_decide_fn(struct sock *sk, u32 decision,
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

/* Bytes per second: @gain * cwnd * mss / srtt. @gain: Q16, below 2^18. */
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

/* The pacing of a decision: NDM_PACING_GAIN * 2^@pacing, at most 2.5. */
static inline void ndm_set_pacing(struct sock *sk, s16 pacing)
{
	ndm_set_pacing_gain(sk, (u64)NDM_PACING_GAIN * ndm_exp2(pacing) >> 16);
}

/*
 * The highest pacing gain, while nothing is in flight and the next decision is a
 * round trip away: up to a window of data then leaves within half a round trip
 * instead of nearly a whole one.
 */
static inline void ndm_set_max_pacing(struct sock *sk)
{
	ndm_set_pacing_gain(sk, 2 * NDM_PACING_GAIN);
}

/* The window that the kernel gets: in a drain a part of the policy's. */
static inline u32 ndm_window(const struct ndm_sock *ndm)
{
	u32 cwnd = ndm->cwnd_fp >> NDM_CWND_FRAC;

	if (ndm->measure.drain)
		cwnd = max_t(u32, cwnd >> ndm->measure.drain_depth, NDM_CWND_MIN);
	return cwnd;
}

static inline void ndm_set_cwnd(struct sock *sk, struct ndm_sock *ndm,
				u32 cwnd_fp)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 most = min(tp->snd_cwnd_clamp, NDM_CWND_MAX);

	cwnd_fp = max_t(u32, cwnd_fp, NDM_CWND_MIN << NDM_CWND_FRAC);
	ndm->cwnd_fp = min(cwnd_fp, most << NDM_CWND_FRAC);
	tcp_snd_cwnd_set(tp, ndm_window(ndm));
}

/*
 * Whether at least half of the window was used (RFC 7661, section 4.1), a rule that
 * the kernel applies to slow start only. A paced flow seldom has its whole window in
 * flight.
 */
static inline bool ndm_window_used(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcp_is_cwnd_limited(sk) ||
	       tcp_snd_cwnd(tp) < 2 * tp->max_packets_out;
}

/* The window of a decision: @cwnd_log2 is Q14 in [-1, 1]. */
static inline void ndm_apply_cwnd(struct sock *sk, struct ndm_sock *ndm,
				  s16 cwnd_log2)
{
	u64 next = ndm_next_cwnd(ndm->cwnd_fp, cwnd_log2);

	if (next > ndm->cwnd_fp && !ndm_window_used(sk))
		next = ndm->cwnd_fp;
	ndm_set_cwnd(sk, ndm, min_t(u64, next, U32_MAX));
}

/*
 * The policy's window, or a drain: there the policy runs, but its output is
 * ignored. A drain begins with the window of a decision and restores it afterwards.
 */
static inline void ndm_drain_or_apply(struct sock *sk, struct ndm_sock *ndm,
				      u32 decision, const s16 *x, const s16 *actions)
{
	if (ndm->measure.drain) {
		ndm->measure.drain--;
		ndm_set_cwnd(sk, ndm, ndm->cwnd_fp);
		return;
	}
	if (ndm_drain_due(decision, ndm->cwnd_fp, x, ndm->measure.standing) &&
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Open &&
	    ndm_window_used(sk)) {
		ndm->measure.drain = NDM_DRAIN_INTERVALS;
		ndm->measure.drain_depth =
			ndm_drain_depth(x, ndm->measure.standing);
	}
	ndm_apply_cwnd(sk, ndm, actions[NDM_OUT_CWND_LOG2]);
}

static inline u32 ndm_ssthresh(struct sock *sk)
{
	return max_t(u32, tcp_snd_cwnd(tcp_sk(sk)), NDM_CWND_MIN);
}

static inline void ndm_end_slow_start(struct sock *sk)
{
	if (tcp_in_initial_slowstart(tcp_sk(sk)))
		tcp_sk(sk)->snd_ssthresh = ndm_ssthresh(sk);
}

/* Whether the window doubles, whatever the policy says; ends slow start. */
static inline bool ndm_in_slow_start(struct sock *sk, const s16 *x)
{
	if (ndm_slow_start_over(x))
		ndm_end_slow_start(sk);
	return tcp_in_initial_slowstart(tcp_sk(sk));
}

/* Slow start after a time-out, up to half of the window before it. */
static inline void ndm_recover_from_timeout(struct sock *sk,
					    struct ndm_sock *ndm, int acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 half = tp->prior_cwnd / 2;

	if (acked > 0 && tcp_snd_cwnd(tp) < half)
		ndm_set_cwnd(sk, ndm, min(tcp_snd_cwnd(tp) + acked, half)
				      << NDM_CWND_FRAC);
}

/* An ACK is measured. Returns whether it ends the interval. */
static inline bool ndm_measure_ack(struct sock *sk,
				   const struct rate_sample *rs)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	if (rs->rtt_us >= 0)
		ndm_measure_rtt(&ndm->measure,
				min_t(long, rs->rtt_us, NDM_RTT_MAX_US));
	return rs->delivered >= 0 &&
	       ndm_interval_over(&ndm->measure, tcp_sk(sk)->tcp_mstamp,
				 rs->prior_delivered);
}

/* The interval ends now, and the next one begins. Returns its number. */
static inline u32 ndm_close(struct sock *sk, struct ndm_interval *interval)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_reading now = ndm_read(sk);

	ndm_interval_close(&ndm->measure, &now, interval);
	return ndm->measure.decisions - 1;
}

/* The body of cong_control(): called for every ACK, decides once an interval. */
static inline void ndm_control(struct sock *sk, const struct rate_sample *rs,
			       ndm_decide_fn *decide)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	s16 actions[NDM_OUTPUTS] = {};
	struct ndm_interval interval;
	u32 decision;

	/* The kernel has set the window itself: a time-out, its undo, a probe. */
	if (ndm_window(ndm) != tcp_snd_cwnd(tp)) {
		ndm->cwnd_fp = tcp_snd_cwnd(tp) << NDM_CWND_FRAC;
		ndm->measure.drain = 0;
	}

	/* The first ACK after a time-out ends an interval: decisions go on. */
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		ndm_recover_from_timeout(sk, ndm, rs->acked_sacked);
	if (!ndm_measure_ack(sk, rs))
		return;

	decision = ndm_close(sk, &interval);
	if (!decide(sk, decision, &interval, actions))
		return;
	if (ndm_in_slow_start(sk, interval.x)) {
		ndm_apply_cwnd(sk, ndm, NDM_SLOW_START_GROWTH);
		ndm_set_max_pacing(sk);
		return;
	}
	ndm_drain_or_apply(sk, ndm, decision, interval.x, actions);
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
	ndm->guard_bucket = 0;
	ndm->reno = 0;
	ndm_set_max_pacing(sk);
	/* TCP paces by itself unless an fq qdisc has said that it does. */
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* A time-out's reduction is undone; in fast recovery the policy sets the window. */
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
	else if (state == TCP_CA_CWR)
		ndm_measure_mark(&ndm->measure);
}

/*
 * A window that was not used for longer than an RTO says little about the path: it
 * is halved for each RTO (RFC 2861, section 3; RFC 5681, section 4.1), as the
 * kernel does for algorithms without cong_control().
 */
static inline void ndm_restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rto = max_t(u32, inet_csk(sk)->icsk_rto, 1);
	u32 rtos = (tcp_jiffies32 - tp->lsndtime) / rto;
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 least = min_t(u32, cwnd, TCP_INIT_CWND);

	if (!rtos ||
	    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return;
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
	tcp_snd_cwnd_set(tp, max(cwnd >> min_t(u32, rtos, 31), least));
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->snd_cwnd_used = 0;
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
	ndm_restart(sk);
	ndm_set_max_pacing(sk);
	idle_us = tcp_stamp_us_delta(tp->tcp_mstamp, tp->delivered_mstamp);
	ndm_measure_idle(&ndm->measure, tp->tcp_mstamp,
			 min_t(u64, idle_us, U32_MAX));
}

/* @a / @b in Q8, the format of the gains in tcp_bbr_info. */
static inline u32 ndm_gain(u64 a, u64 b)
{
	return b ? min_t(u64, div64_u64(a << 8, b), U32_MAX) : 0;
}

/*
 * ss prints BBR's terms: the largest recent delivery rate, the filtered minimum
 * RTT, and pacing rate and window as multiples of that rate and of the resulting
 * BDP.
 */
static inline size_t ndm_get_info(struct sock *sk, u32 ext, int *attr,
				  union tcp_cc_info *info)
{
	const struct ndm_sock *ndm = inet_csk_ca(sk);
	const struct ndm_measure *m = &ndm->measure;
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate, bdp;

	/* sock_diag passes eight bits only: BBR's info goes with Vegas's bit. */
	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) &&
	    !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	/* 2^32 * 10^6 * 2^17 does not fit: 8 of the fraction bits are dropped. */
	rate = ((u64)m->max_rate * USEC_PER_SEC >> 8) * tp->mss_cache >>
	       (NDM_RATE_FRAC - 8);
	bdp = (u64)m->max_rate * m->min_rtt_us >> (NDM_RATE_FRAC - 8);
	info->bbr = (struct tcp_bbr_info) {
		.bbr_bw_lo = (u32)rate,
		.bbr_bw_hi = (u32)(rate >> 32),
		.bbr_min_rtt = m->min_rtt_us,
		.bbr_pacing_gain = ndm_gain(READ_ONCE(sk->sk_pacing_rate), rate),
		.bbr_cwnd_gain = ndm_gain((u64)tcp_snd_cwnd(tp) << 8, bdp),
	};
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

#endif /* NDM_CONTROL_H */
