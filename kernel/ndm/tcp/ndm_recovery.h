/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What changes the window between decisions: losses, time-outs, their undo, and
 * idleness. docs/explanation/control-law.md tells the law.
 *
 * The kernel's prior_cwnd is not the flow's window before a time-out where the time-out
 * interrupts a recovery: it is the one from the recovery's beginning.
 *
 * Segments that were larger than the path's MTU, and data in a SYN that the server has
 * not taken, are retransmitted in TCP_CA_Loss too. The kernel reduces no window then,
 * and the losses do not count: there is no congestion.
 */
#ifndef NDM_RECOVERY_H
#define NDM_RECOVERY_H

#include <linux/jiffies.h>
#include <linux/rtnetlink.h>
#include <net/dst.h>
#include <net/tcp.h>

#include "ndm_sock.h"

/* Whether the kernel begins to retransmit without a time-out or another congestion signal. */
static inline bool ndm_is_no_congestion(const struct sock *sk,
					const struct ndm_sock *ndm)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	/* Before it sends a lost MTU probe again, it adds the packet that it took for the probe. */
	return !tp->undo_marker && tcp_snd_cwnd(tp) - ndm->given_cwnd <= 1;
}

/* What the path has carried of the window: of an unused one the packets that were in flight. */
static inline u32 ndm_carried_fp(const struct sock *sk, const struct ndm_sock *ndm)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 carried = max3(tp->max_packets_out, tp->packets_out, ndm->measure.start_inflight);

	if (ndm_window_used(sk))
		return ndm->cwnd_fp;
	return min(ndm->cwnd_fp, min(carried, NDM_CWND_MAX) << NDM_CWND_FRAC);
}

/* Answers a mark of a router, if there was one since the last answer: the bound is cut. */
static inline bool ndm_answer_mark(struct sock *sk, struct ndm_sock *ndm)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->delivered_ce == ndm->memory->marked)
		return false;
	ndm->memory->marked = tp->delivered_ce;
	ndm_measure_mark(&ndm->measure);
	ndm_bound_mark(&ndm->memory->bound, tp->tcp_mstamp, ndm_carried_fp(sk, ndm));
	return true;
}

static inline void ndm_enter_loss(struct sock *sk, struct ndm_sock *ndm)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct ndm_reading now = ndm_read(sk, ndm);

	if (ndm_is_no_congestion(sk, ndm)) {
		ndm_measure_forget_losses(&ndm->measure, now.lost);
		ndm_forget_lost(ndm->memory, now.lost);
		return;
	}
	ndm_measure_timeout(&ndm->measure);
	ndm_answer_mark(sk, ndm);
	/* A further time-out of the same segment leaves what the first one has found. */
	if (ndm_ca_state(sk) != TCP_CA_Loss || !icsk->icsk_retransmits)
		ndm->memory->collapse_fp = ndm->cwnd_fp;
	if (ndm->memory->contest.on)
		ndm_bound_cut(&ndm->memory->bound, tcp_sk(sk)->tcp_mstamp,
			      ndm->memory->collapse_fp);
	ndm->measure.drain = 0;
	ndm->given_cwnd = ndm->cwnd_fp >> NDM_CWND_FRAC;
	ndm_take_cwnd(sk, ndm);
	ndm->memory->restart = ndm->memory->collapse_fp >> NDM_CWND_FRAC >> 1;
	ndm->phase = NDM_RESTARTING;
}

/*
 * The kernel changes to another state; icsk_ca_state is still the old one. With each of the
 * three it sends CWR, so that the receiver no longer reports a mark.
 */
static inline void ndm_set_state(struct sock *sk, struct ndm_sock *ndm, u8 state)
{
	if (unlikely(!ndm->memory))
		return;
	if (ndm->phase == NDM_RESTARTING)
		ndm->phase = NDM_STEADY;
	/* The receiver reports a mark until CWR arrives, a round trip after the answer. */
	if (ndm_ca_state(sk) == TCP_CA_CWR)
		ndm->memory->marked = tcp_sk(sk)->delivered_ce;
	if (ndm_ca_state(sk) < TCP_CA_CWR)
		ndm_bound_recover(&ndm->memory->bound);
	if (state == TCP_CA_Loss) {
		ndm_enter_loss(sk, ndm);
	} else if (state == TCP_CA_Recovery) {
		if (ndm_answer_mark(sk, ndm))
			ndm_set_cwnd(sk, ndm, ndm->cwnd_fp);
		ndm->memory->overshot = ndm_in_slow_start(ndm->phase);
		ndm->phase = NDM_CONSERVING;
		ndm->memory->collapse_fp = 0;
	} else if (state == TCP_CA_CWR) {
		/*
		 * A repaired tail loss or a full queue of this host leads to CWR too. It does
		 * not end slow start: a probe may only have seemed to repair a loss.
		 */
		ndm_measure_mark(&ndm->measure);
		if (ndm_answer_mark(sk, ndm)) {
			ndm_set_cwnd(sk, ndm, ndm->cwnd_fp);
			if (ndm_in_slow_start(ndm->phase))
				ndm->phase = NDM_STEADY;
		}
		ndm->memory->collapse_fp = 0;
	}
}

/* The window after an ACK that acknowledges @acked packets. */
static inline void ndm_recover(struct sock *sk, struct ndm_sock *ndm, int acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 end = ndm->memory->restart;

	if (ndm->phase == NDM_CONSERVING)
		ndm_give_cwnd(sk, ndm,
			      clamp_t(u32, tcp_packets_in_flight(tp) + max(acked, 0),
				      NDM_CWND_MIN, ndm_window(ndm)));
	else if (tcp_snd_cwnd(tp) >= end)
		ndm->phase = NDM_STEADY;
	else if (acked > 0)
		ndm_set_cwnd(sk, ndm, min(tcp_snd_cwnd(tp) + acked, end)
				      << NDM_CWND_FRAC);
}

/* What the packet trains of slow start show of the path. */
static inline u32 ndm_slow_start_bdp(const struct ndm_sock *ndm)
{
	return ndm_train_bdp(&ndm->memory->train, ndm_explained_rtt_us(&ndm->measure));
}

/*
 * A decision ends packet conservation. Slow start goes on after few losses; after more, there
 * stays of its window what the path holds.
 */
static inline void ndm_end_conservation(struct sock *sk, struct ndm_sock *ndm,
					const struct ndm_interval *interval)
{
	u32 cwnd_fp = ndm->cwnd_fp;

	if (ndm->phase != NDM_CONSERVING)
		return;
	ndm->phase = NDM_STEADY;
	if (ndm->memory && ndm->memory->overshot) {
		ndm->memory->overshot = false;
		if (ndm_slow_start_few(interval, cwnd_fp, ndm_slow_start_bdp(ndm))) {
			ndm->phase = NDM_STARTING;
		} else {
			ndm->phase = NDM_SETTLING;
			cwnd_fp = ndm_slow_start_end(cwnd_fp, &ndm->measure, false);
		}
	}
	ndm_set_cwnd(sk, ndm, cwnd_fp);
}

/* Undoes a time-out's reduction only: in fast recovery the policy sets the window. */
static inline u32 ndm_undo_cwnd(struct sock *sk, struct ndm_sock *ndm)
{
	struct ndm_reading now = ndm_read(sk, ndm);
	u32 before_fp;

	if (unlikely(!ndm->memory))
		return tcp_reno_undo_cwnd(sk);
	ndm_measure_undo(&ndm->measure, now.lost);
	ndm_take_cwnd(sk, ndm);
	ndm_forget_lost(ndm->memory, now.lost);
	before_fp = ndm_bound_undo(&ndm->memory->bound);
	ndm_set_cwnd(sk, ndm, max3(ndm->cwnd_fp, ndm->memory->collapse_fp, before_fp));
	ndm->memory->collapse_fp = 0;
	if (!ndm_in_slow_start(ndm->phase))
		ndm->phase = NDM_STEADY;
	return ndm->given_cwnd;
}

/* The initial window of the connection's route. */
static inline u32 ndm_init_cwnd(struct sock *sk)
{
	const struct dst_entry *dst;
	u32 cwnd;

	rcu_read_lock();
	dst = __sk_dst_get(sk);
	cwnd = dst ? dst_metric(dst, RTAX_INITCWND) : 0;
	rcu_read_unlock();
	return cwnd ? cwnd : TCP_INIT_CWND;
}

/*
 * A window that was unused for longer than an RTO says little about the path. It is
 * halved for each RTO (RFC 2861, section 3; RFC 5681, section 4.1), as the kernel
 * does for algorithms without cong_control(). Then it slow-starts to three
 * quarters of what it was.
 */
static inline void ndm_restart(struct sock *sk, struct ndm_sock *ndm)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rto = max_t(u32, inet_csk(sk)->icsk_rto, 1);
	u32 rtos = (tcp_jiffies32 - tp->lsndtime) / rto;
	u32 cwnd, restart_cwnd;

	if (!rtos ||
	    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return;
	ndm_take_cwnd(sk, ndm);
	ndm->measure.drain = 0;
	if (ndm->memory)	/* the flow's part of the queue has run down */
		ndm_drain_put_off(&ndm->memory->drain, tp->tcp_mstamp);
	ndm_set_cwnd(sk, ndm, ndm->cwnd_fp);
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
	cwnd = tcp_snd_cwnd(tp);
	restart_cwnd = min_t(u32, cwnd, ndm_init_cwnd(sk));
	if (cwnd > restart_cwnd) {
		if (ndm->memory && !ndm_in_slow_start(ndm->phase)) {
			ndm->memory->restart = cwnd - cwnd / 4;
			ndm->phase = NDM_RESTARTING;
		}
		ndm_set_cwnd(sk, ndm, max(cwnd >> min_t(u32, rtos, 31), restart_cwnd)
				      << NDM_CWND_FRAC);
	}
}

/* Called when a packet is sent while none is in flight. */
static inline void ndm_tx_start(struct sock *sk, struct ndm_sock *ndm)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 idle_us;

	/* Not idle: after a time-out, packets marked lost are still outstanding. */
	if (tp->packets_out)
		return;
	ndm_restart(sk, ndm);
	ndm_set_max_pacing(sk);
	idle_us = tcp_stamp_us_delta(tp->tcp_mstamp, tp->delivered_mstamp);
	ndm_measure_idle(&ndm->measure, tp->tcp_mstamp,
			 min_t(u64, idle_us, U32_MAX));
	if (ndm->memory)
		ndm->memory->sent_us = tp->tcp_mstamp;
}

#endif /* NDM_RECOVERY_H */
