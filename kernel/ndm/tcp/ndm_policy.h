/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What surrounds a decision of the network on a socket: the model that its state belongs to,
 * and the guard (ndm_guard.h). tcp_ndm and the BPF program share it.
 */
#ifndef NDM_POLICY_H
#define NDM_POLICY_H

#include <linux/string.h>
#include <net/tcp.h>

#include "ndm_control.h"
#include "ndm/ndm_guard.h"

/* Resets state, guard and contest of a connection that changes to another model. */
static inline void ndm_use_model(struct ndm_memory *memory, u32 number)
{
	if (likely(memory->model == number))
		return;
	memset(memory->h, 0, sizeof(memory->h));
	memset(&memory->guard, 0, sizeof(memory->guard));
	memset(&memory->contest, 0, sizeof(memory->contest));
	memory->model = number;
}

/*
 * Has the guard judge what the last decisions have led to, where they were carried out. Returns
 * whether it takes the connection, which begins a slow start.
 */
static inline bool ndm_guard_judge(struct sock *sk, struct ndm_sock *ndm,
				   const struct ndm_interval *interval)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ndm_guard_view view = {
		.now_us = tp->tcp_mstamp,
		.cwnd_fp = ndm->cwnd_fp,
		.lost = ndm_lost(tp, ndm->memory),
		.delivered = tp->delivered,
		.rate = interval->rate,
		.rtt_us = interval->rtt_us,
		.explained_us = ndm_explained_rtt_us(&ndm->measure),
		.used = ndm_window_used(sk),
	};

	ndm_guard_carried(&ndm->memory->guard, &view);
	if (ndm->measure.drain || ndm_in_slow_start(ndm->phase) || ndm->memory->contest.on ||
	    likely(!ndm_guard_check(&ndm->memory->guard, &view)))
		return false;
	memset(ndm->memory->h, 0, sizeof(ndm->memory->h));
	ndm_contest_distrust(&ndm->memory->contest);
	ndm_bound_lift(&ndm->memory->bound);
	ndm_begin_slow_start(sk, ndm);
	return true;
}

#endif /* NDM_POLICY_H */
