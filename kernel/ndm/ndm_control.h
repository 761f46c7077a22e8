/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control loop on a socket, shared by tcp_ndm and tcp_ndm_gym. Each supplies
 * the function that decides.
 *
 * There is one decision per control interval, a packet-timed round trip of at
 * least 1 ms; other ACKs only update counters. A decision is two actions in
 * [-1, 1]:
 *
 *	cwnd    = cwnd * 2^cwnd_log2 + 1 + sqrt(cwnd) / 4	(ndm_window.h)
 *	pacing  = 1.25 * 2^pacing * cwnd / srtt
 *
 * In slow start the window doubles instead (ndm_slow_start.h), and in a drain it is
 * half or less for two intervals (ndm_drain.h).
 *
 * In fast recovery only the policy reduces the window: ssthresh() returns the
 * current window, and the kernel runs no PRR for algorithms with cong_control().
 * After a time-out the kernel sets the window to the packets in flight plus 1.
 * While it retransmits (TCP_CA_Loss), the window slow-starts to half of the old
 * one, in addition to the policy's decisions. After a spurious time-out the old
 * window is restored.
 *
 * The window grows only while it is used (RFC 7661): a flow limited by its
 * application or receiver must not build up a window that it has never tried.
 * After idleness the window decays (RFC 2861).
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

/* Bytes per second, 70 TB/s: rate times gain fits into 64 bits. */
#define NDM_PACING_MAX (1ULL << 46)

/* The initial RTT for pacing when the handshake gave no sample. */
#define NDM_RTT_UNKNOWN_US 1000

/* Private state of one socket: 72 bytes, which leaves 32 for the network. */
struct ndm_sock {
	struct ndm_measure measure;
	u32 cwnd_fp;	/* cwnd with NDM_CWND_FRAC fraction bits */
	u32 flow : 20;	/* number of the connection, from 1 in opening order; wraps */
	/* used by tcp_ndm only */
	u32 model : 6;	/* number of the model that the recurrent state belongs to */
	u32 guard_bucket : 5;	/* ndm_guard.h */
	u32 reno : 1;	/* the guard has taken the connection from the policy */
};

/*
 * Fills @actions (NDM_OUTPUTS, Q14) for the interval that just ended. @decision:
 * counts from 0. Returns whether to apply them; otherwise window and pacing stay.
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
		 * A DSACK reports a segment that arrived twice, so its
		 * retransmission was spurious: nothing was lost. DSACKs beyond
		 * the number of retransmissions are duplicates of the network.
		 */
		.lost = tp->lost - min(tp->dsack_dups, tp->total_retrans),
		.inflight = tcp_packets_in_flight(tp),
		.srtt_us = tp->srtt_us >> 3,
		.mdev_us = tp->mdev_us >> 2,
		.slow_start = tcp_in_slow_start(tp),
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

/* Applies a decision's pacing: the gain is NDM_PACING_GAIN * 2^@pacing, at most 2.5. */
static inline void ndm_set_pacing(struct sock *sk, s16 pacing)
{
	ndm_set_pacing_gain(sk, (u64)NDM_PACING_GAIN * ndm_exp2(pacing) >> 16);
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

/* The window for the kernel: in a drain, a fraction of the policy's. */
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
	u32 cwnd_max = min(tp->snd_cwnd_clamp, NDM_CWND_MAX);

	cwnd_fp = max_t(u32, cwnd_fp, NDM_CWND_MIN << NDM_CWND_FRAC);
	ndm->cwnd_fp = min(cwnd_fp, cwnd_max << NDM_CWND_FRAC);
	tcp_snd_cwnd_set(tp, ndm_window(ndm));
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

/* Applies a decision's window. @cwnd_log2: Q14 in [-1, 1]. */
static inline void ndm_apply_cwnd(struct sock *sk, struct ndm_sock *ndm,
				  s16 cwnd_log2)
{
	u64 next = ndm_next_cwnd(ndm->cwnd_fp, cwnd_log2);

	if (next > ndm->cwnd_fp && !ndm_window_used(sk))
		next = ndm->cwnd_fp;
	ndm_set_cwnd(sk, ndm, min_t(u64, next, U32_MAX));
}

/*
 * Applies the policy's window, or continues a drain: during a drain the policy runs,
 * but its output is ignored. A drain begins with a decision's window and restores it
 * at its end.
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

/* Ends slow start at the first sign of a queue; returns whether it continues. */
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

/* Measures an ACK. Returns whether it ends the interval. */
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

/* Ends the interval and begins the next one. Returns the ended interval's number. */
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

	/* The kernel has set the window itself: time-out, undo or MTU probe. */
	if (ndm_window(ndm) != tcp_snd_cwnd(tp)) {
		ndm->cwnd_fp = tcp_snd_cwnd(tp) << NDM_CWND_FRAC;
		ndm->measure.drain = 0;
	}

	/* Decisions continue: the first ACK after a time-out ends an interval. */
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
	/* TCP paces internally unless an fq qdisc does. */
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* Undoes a time-out's reduction only: in fast recovery the policy sets the window. */
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
 * A window that was unused for longer than an RTO says little about the path. It is
 * halved for each RTO (RFC 2861, section 3; RFC 5681, section 4.1), as the kernel
 * does for algorithms without cong_control().
 */
static inline void ndm_restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rto = max_t(u32, inet_csk(sk)->icsk_rto, 1);
	u32 rtos = (tcp_jiffies32 - tp->lsndtime) / rto;
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 restart_cwnd = min_t(u32, cwnd, TCP_INIT_CWND);

	if (!rtos ||
	    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return;
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
	tcp_snd_cwnd_set(tp, max(cwnd >> min_t(u32, rtos, 31), restart_cwnd));
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->snd_cwnd_used = 0;
}

/* Called when a packet is sent while none is in flight. */
static inline void ndm_tx_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_sock *ndm = inet_csk_ca(sk);
	u64 idle_us;

	/* Not idle: after a time-out, packets marked lost are still outstanding. */
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
 * Reports in BBR's terms, which ss prints: the largest recent delivery rate, the
 * filtered minimum RTT, and pacing rate and window as multiples of that rate and of
 * the resulting BDP.
 */
static inline size_t ndm_get_info(struct sock *sk, u32 ext, int *attr,
				  union tcp_cc_info *info)
{
	const struct ndm_sock *ndm = inet_csk_ca(sk);
	const struct ndm_measure *m = &ndm->measure;
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate, bdp;

	/* sock_diag passes only eight bits, so ss asks for BBR's info with Vegas's bit. */
	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) &&
	    !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	/* Drop 8 fraction bits: 2^32 * 10^6 * 2^17 exceeds 64 bits. */
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
