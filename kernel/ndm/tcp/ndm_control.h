/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control loop on a socket, shared by tcp_ndm and tcp_ndm_gym. Each supplies
 * the function that decides. docs/explanation/control-law.md tells the law.
 *
 * There is one decision per control interval, a packet-timed round trip of at
 * least 1 ms; other ACKs only update counters.
 *
 * Only the policy reduces the window in fast recovery: ssthresh() returns the flow's
 * window, and the kernel runs no PRR for algorithms with cong_control().
 *
 * An ECN mark, or a loss that a tail loss probe has repaired, counts as one lost
 * packet in the interval (RFC 3168: a mark is treated as a loss).
 */
#ifndef NDM_CONTROL_H
#define NDM_CONTROL_H

#include <linux/string.h>
#include <net/tcp.h>

#include "ndm/ndm_contest.h"
#include "ndm/ndm_drain.h"
#include "ndm/ndm_features.h"
#include "ndm/ndm_math.h"
#include "ndm_recovery.h"
#include "ndm/ndm_slow_start.h"
#include "ndm_sock.h"

/*
 * Fills @actions (NDM_OUTPUTS, Q14) for the interval that just ended. @decision:
 * counts from 0. Returns whether to apply them; otherwise window and pacing stay.
 */
typedef bool ndm_decide_fn(struct sock *sk, struct ndm_sock *ndm, u32 decision,
			   const struct ndm_interval *interval, s16 *actions);

/* Applies a decision's pacing: the gain is NDM_PACING_GAIN * 2^@pacing, at most 2.5. */
static inline void ndm_set_pacing(struct sock *sk, s16 pacing)
{
	ndm_set_pacing_gain(sk, (u64)NDM_PACING_GAIN * ndm_exp2(pacing) >> 16);
}

/*
 * Applies a decision's window. A window that is not used does not grow, and shrinks only
 * on loss or a queue. @growth: Q14 in [-1, 1].
 */
static inline void ndm_apply_cwnd(struct sock *sk, struct ndm_sock *ndm,
				  const struct ndm_interval *interval, s16 growth)
{
	u32 explained_us = min_t(u64, ndm_explained_rtt_us(&ndm->measure), U32_MAX);
	u32 queue_us = ndm_window_queue_us(interval->rtt_us, interval->least_rtt_us,
					   interval->before_us,
					   interval->x[NDM_IN_RTT_VARIATION], explained_us);
	bool loss = interval->x[NDM_IN_LOSS_RATE];
	u64 next;

	if (!interval->rtt_us) {
		/* A time-out has left less than the smallest window. */
		ndm_set_cwnd(sk, ndm, ndm->cwnd_fp);
		return;
	}
	if (loss || ndm_queue_ratio(queue_us, explained_us) >= NDM_EMPTY)
		ndm->memory->empty = 0;
	else if (ndm->memory->empty < NDM_FASTER_EMPTY)
		ndm->memory->empty++;
	next = ndm_next_cwnd(ndm->cwnd_fp, queue_us, explained_us, growth);
	if (!ndm_window_used(sk) &&
	    (next > ndm->cwnd_fp ||
	     (!loss && !ndm_is_queue(queue_us, ndm->measure.min_rtt_us))))
		next = ndm->cwnd_fp;
	ndm_set_cwnd(sk, ndm, min_t(u64, next, U32_MAX));
}

/*
 * A drain is over: what it has found of the route and of competing flows. Returns the window
 * without the flow's own queue, in contest the whole window.
 */
static inline u32 ndm_drain_over(struct sock *sk, struct ndm_sock *ndm,
				 const struct ndm_interval *interval)
{
	struct ndm_measure *m = &ndm->measure;
	struct ndm_drain *d = &ndm->memory->drain;
	struct ndm_contest *c = &ndm->memory->contest;
	u64 explained_us = ndm_explained_rtt_us(m);
	struct ndm_contest_view view = {
		.queue_us = ndm_queue_us(d->before_us, explained_us),
		.left_us = ndm_queue_us(interval->least_rtt_us, m->min_rtt_us),
		.min_rtt_us = m->min_rtt_us,
		.cwnd_fp = ndm->cwnd_fp,
		.losses = m->loss_ring,
	};
	bool before = c->on;

	if (!interval->rtt_us)
		return ndm->cwnd_fp;
	ndm->memory->rerouted = ndm_drain_route(d, m, tcp_sk(sk)->tcp_mstamp,
						interval->rtt_us, interval->least_rtt_us);
	if (ndm->memory->rerouted)
		ndm->memory->bound.most_us = 0;
	ndm_contest_judge(c, &view);
	if (c->findings)
		d->wait = NDM_DRAIN_SOON;
	if (!c->on)
		return (u64)ndm->cwnd_fp * ndm_drain_kept(d, interval->rtt_us) >> NDM_FEATURE_FRAC;
	if (before)
		return ndm->cwnd_fp;
	ndm_bound_lift(&ndm->memory->bound);
	return max(ndm->cwnd_fp, c->entry_fp);
}

/*
 * What a window that has become smaller since the decision before the last explains of a fall
 * of the RTT: at most as much, and half of it is meant, because one of two decisions has shown.
 */
static inline u32 ndm_shrunk_us(const struct ndm_sock *ndm, u32 rtt_us)
{
	u32 older_fp = max(ndm->memory->older_fp, ndm->cwnd_fp);

	return div_u64((u64)rtt_us * (older_fp - ndm->cwnd_fp), max_t(u32, older_fp, 1)) / 2;
}

/*
 * Applies the policy's window, or continues a drain: during a drain the policy runs,
 * but its output is ignored. A drain begins with a decision's window. In contest the bound
 * sets the window.
 */
static inline void ndm_drain_or_apply(struct sock *sk, struct ndm_sock *ndm,
				      u32 decision, const struct ndm_interval *interval,
				      const s16 *actions)
{
	struct ndm_measure *m = &ndm->measure;
	struct ndm_drain *d = &ndm->memory->drain;
	struct ndm_drain_view view = {
		.now_us = tcp_sk(sk)->tcp_mstamp,
		.decision = decision,
		.cwnd_fp = ndm->cwnd_fp,
		.rtt_us = interval->rtt_us,
		.before_us = interval->before_us,
		.min_rtt_us = m->min_rtt_us,
		.explained_us = ndm_explained_rtt_us(m),
		.variation = interval->x[NDM_IN_RTT_VARIATION],
		.shrunk_us = ndm_shrunk_us(ndm, interval->before_us),
		.contest = ndm->memory->contest.on,
	};

	ndm->memory->older_fp = ndm->memory->last_fp;
	ndm->memory->last_fp = ndm->cwnd_fp;
	if (m->drain) {
		if (m->drain == 1 || view.now_us - d->us >= NDM_DRAIN_RTTS * d->before_us)
			m->drain--;
		ndm_set_cwnd(sk, ndm, m->drain ? ndm->cwnd_fp : ndm_drain_over(sk, ndm, interval));
		return;
	}
	if (ndm_drain_due(d, &view) && ndm_ca_state(sk) == TCP_CA_Open &&
	    ndm_window_used(sk)) {
		m->drain = 2;
		ndm_drain_begin(d, &view, interval->rate);
	}
	if (!ndm->memory->contest.on)
		ndm_apply_cwnd(sk, ndm, interval, actions[NDM_OUT_GROWTH]);
	else if (ndm->phase != NDM_RESTARTING)	/* slow start may have ended without a bound */
		ndm_set_cwnd(sk, ndm, ndm->memory->bound.limit_fp ?: ndm->cwnd_fp);
	else
		ndm_set_cwnd(sk, ndm, ndm->cwnd_fp);
}

/*
 * The policy sets the window from now on. An undo of the loss that ended slow start
 * restores an infinite ssthresh; this replaces it.
 */
static inline void ndm_end_slow_start(struct sock *sk, struct ndm_sock *ndm)
{
	if (ndm_in_slow_start(ndm->phase))
		ndm->phase = NDM_STEADY;
	if (tcp_in_initial_slowstart(tcp_sk(sk)))
		tcp_sk(sk)->snd_ssthresh = ndm_ssthresh(sk, ndm);
}

/* How far the window may grow is unknown, as at the beginning. */
static inline void ndm_begin_slow_start(struct sock *sk, struct ndm_sock *ndm)
{
	ndm->measure.drain = 0;
	ndm->phase = NDM_STARTING;
	ndm->memory->train = (struct ndm_train) {};
	ndm->memory->empty = 0;
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

/*
 * The window after a change of phase in slow start. @grew: the interval that is over had a
 * larger rate than all before
 */
static inline void ndm_slow_start_turn(struct sock *sk, struct ndm_sock *ndm,
				       enum ndm_phase next, bool grew)
{
	if (ndm->phase == NDM_STARTING &&
	    (next == NDM_SUSPECTING || next == NDM_CONFIRMING)) {
		ndm->memory->unheld_fp = ndm->cwnd_fp;
		if (!grew)
			ndm_set_cwnd(sk, ndm,
				     ndm_slow_start_hold(ndm->cwnd_fp,
							 TCP_INIT_CWND << NDM_CWND_FRAC,
							 ndm_slow_start_bdp(ndm)));
	} else if (ndm->phase == NDM_SUSPECTING && next == NDM_CONFIRMING && grew) {
		ndm_set_cwnd(sk, ndm, ndm->memory->unheld_fp);
	} else if (next == NDM_SETTLING) {
		ndm_set_cwnd(sk, ndm, ndm_slow_start_end(ndm->cwnd_fp, &ndm->measure,
							 ndm_window_used(sk)));
	}
	ndm->phase = next;
	if (next == NDM_STEADY)
		ndm_end_slow_start(sk, ndm);
}

/* The window after an ACK in slow start. */
static inline void ndm_slow_start(struct sock *sk, struct ndm_sock *ndm, int acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 bdp_fp;

	if (unlikely(!ndm->memory))
		return;
	if (ndm->measure.min_rtt_us)
		ndm_train_ack(&ndm->memory->train, tp->tcp_mstamp, tp->first_tx_mstamp,
			      tp->delivered, ndm->measure.min_rtt_us);
	ndm_slow_start_turn(sk, ndm, ndm_slow_start_ack(ndm->phase, &ndm->measure), false);
	if (ndm->phase != NDM_STARTING || acked <= 0 || !ndm_window_used(sk))
		return;
	bdp_fp = ndm_slow_start_bdp(ndm);
	ndm_set_cwnd(sk, ndm, ndm_slow_start_grow(ndm->cwnd_fp, acked, bdp_fp));
	if (bdp_fp == NDM_TRAIN_UNKNOWN)
		ndm_set_max_pacing(sk);
	else
		ndm_set_pacing_gain(sk, NDM_PACING_GAIN);
}

/* Measures an ACK. Returns whether it ends the interval. */
static inline bool ndm_measure_ack(struct sock *sk, struct ndm_sock *ndm,
				   const struct rate_sample *rs)
{
	/* A receiver that waits for a second packet says nothing about the path. */
	if (rs->rtt_us >= 0 && !rs->is_ack_delayed)
		ndm_measure_rtt(&ndm->measure,
				min_t(long, rs->rtt_us, NDM_RTT_MAX_US));
	if (rs->is_app_limited)
		ndm->measure.app_limited = 1;
	return rs->delivered >= 0 &&
	       ndm_interval_ended(&ndm->measure, tcp_sk(sk)->tcp_mstamp,
				  rs->prior_delivered,
				  ndm_in_slow_start(ndm->phase));
}

/* Ends the interval and begins the next one. @now: filled with what it has ended with */
static inline void ndm_close(struct sock *sk, struct ndm_sock *ndm, struct ndm_reading *now,
			     struct ndm_interval *interval)
{
	if (ndm->memory)
		ndm_count_spurious(tcp_sk(sk), ndm->memory);
	*now = ndm_read(sk, ndm);
	if (ndm->memory) {
		u32 sent_us = tcp_sk(sk)->first_tx_mstamp;	/* of the newest delivered */

		now->own = ndm->memory->bound.own >> NDM_BOUND_OWN_FRAC;
		now->sending_us = max_t(s32, sent_us - ndm->memory->sent_us, 0);
		ndm->memory->sent_us = sent_us;
	}
	ndm_interval_close(&ndm->measure, now, interval);
}

/* Not inline, so that an ACK of a steady flow saves no registers for it. */
static noinline void ndm_unsteady_ack(struct sock *sk, struct ndm_sock *ndm, u32 acked)
{
	if (ndm_in_slow_start(ndm->phase))
		ndm_slow_start(sk, ndm, acked);
	else
		ndm_recover(sk, ndm, acked);
}

/*
 * For every ACK. Returns whether it ends the interval: then ndm_end_interval() follows.
 * Decisions continue after a time-out, and the first ACK after it ends an interval.
 */
static inline bool ndm_ack(struct sock *sk, struct ndm_sock *ndm,
			   const struct rate_sample *rs)
{
	bool over = ndm_measure_ack(sk, ndm, rs);

	if (unlikely(tcp_snd_cwnd(tcp_sk(sk)) != ndm->given_cwnd))
		ndm_take_cwnd(sk, ndm);
	if (unlikely(ndm->phase != NDM_STEADY))
		ndm_unsteady_ack(sk, ndm, rs->acked_sacked);
	return over;
}

/* Applies the bound after an interval. @now: the reading at its end */
static inline void ndm_bound(struct sock *sk, struct ndm_sock *ndm,
			     const struct ndm_reading *now,
			     const struct ndm_interval *interval)
{
	struct ndm_bound *bound = &ndm->memory->bound;
	struct ndm_contest *contest = &ndm->memory->contest;
	struct ndm_bound_round round = {
		.now_us = now->now_us,
		.length_us = interval->length_us,
		.rtt_us = now->srtt_us,
		.queue_us = interval->rtt_us ?
			    ndm_queue_us(interval->rtt_us,
					 ndm_explained_rtt_us(&ndm->measure)) :
			    bound->most_us,
		.min_rtt_us = ndm->measure.min_rtt_us,
		.lost = ndm_confirmed_lost(tcp_sk(sk), ndm->memory, now->lost),
		.delivered = now->delivered,
		.carried = interval->delivered,
		.cwnd_fp = ndm->cwnd_fp,
		.starting = ndm_in_slow_start(ndm->phase),
		.unfilled = ndm_in_slow_start(ndm->phase) &&
			    ndm->cwnd_fp < ndm_slow_start_bdp(ndm),
	};
	u32 cwnd_fp = ndm->cwnd_fp;
	/* A time-out has cut the bound. */
	bool loss = interval->x[NDM_IN_LOSS_RATE] && ndm->phase != NDM_RESTARTING;

	if (likely(!contest->on)) {
		cwnd_fp = ndm_bound_update(bound, &round);
	} else if (!round.starting || bound->limit_fp || loss) {
		contest->cut |= interval->x[NDM_IN_LOSS_RATE] > 0;
		ndm_bound_follow(bound, &round, loss, !contest->cut && !ndm->measure.drain);
		cwnd_fp = ndm_bounded(bound, cwnd_fp);
	}
	if (cwnd_fp != ndm->cwnd_fp)
		ndm_set_cwnd(sk, ndm, cwnd_fp);
}

/* What a decision works with. */
struct ndm_desk {
	struct ndm_reading now;
	struct ndm_interval interval;
	s16 actions[NDM_OUTPUTS];
};

/* Decides, and applies the decision. @desk: room for it */
static inline void ndm_end_interval(struct sock *sk, struct ndm_sock *ndm,
				    struct ndm_desk *desk, ndm_decide_fn *decide)
{
	struct ndm_interval *interval = &desk->interval;
	s16 *actions = desk->actions;
	u32 decision;
	bool settled;

	memset(desk->actions, 0, sizeof(desk->actions));
	ndm_close(sk, ndm, &desk->now, interval);
	decision = ndm->measure.decisions - 1;
	ndm_end_conservation(sk, ndm, interval);
	if (!ndm->memory)
		return;
	if (ndm->memory->drain.decisions < U16_MAX)
		ndm->memory->drain.decisions++;
	ndm_bound(sk, ndm, &desk->now, interval);
	if (!decide(sk, ndm, decision, interval, actions)) {
		if (ndm_in_slow_start(ndm->phase))
			ndm->phase = NDM_STEADY;
		return;
	}
	if (unlikely(ndm->memory->rerouted ||
		     (interval->faster && ndm->memory->empty == NDM_FASTER_EMPTY &&
		      ndm->phase == NDM_STEADY && !ndm->memory->bound.limit_fp)))
		ndm_begin_slow_start(sk, ndm);
	ndm->memory->rerouted = false;
	settled = ndm->phase == NDM_SETTLING;
	if (ndm_in_slow_start(ndm->phase)) {
		bool few = ndm_slow_start_few(interval, ndm->cwnd_fp,
					      ndm_slow_start_bdp(ndm));

		ndm_train_close(&ndm->memory->train);
		ndm_slow_start_turn(sk, ndm,
				    ndm_slow_start_close(ndm->phase, interval,
							 ndm->measure.min_rtt_us, few),
				    interval->grew);
	}
	if (ndm_in_slow_start(ndm->phase))
		return;
	ndm_end_slow_start(sk, ndm);
	if (settled) {
		ndm_drain_settled(&ndm->memory->drain);
		return;
	}
	ndm_drain_or_apply(sk, ndm, decision, interval, actions);
	if (ndm->memory->contest.on)
		ndm_set_max_pacing(sk);
	else
		ndm_set_pacing(sk, actions[NDM_OUT_PACING]);
}

#endif /* NDM_CONTROL_H */
