/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control law as the operations of struct tcp_congestion_ops, with the state of a
 * connection in its socket and in kernel memory. tcp_ndm and tcp_ndm_gym share them.
 */
#ifndef NDM_OPS_H
#define NDM_OPS_H

#include <linux/inet_diag.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat/cong_control.h"
#include "compat/tx_start.h"
#include "ndm_control.h"

/* @number: of the connection, for traces */
static inline void ndm_op_init(struct sock *sk, u32 number)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	ndm->memory = kzalloc(sizeof(*ndm->memory),
			      GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	ndm_sock_init(sk, ndm, number);
	/* TCP paces internally unless an fq qdisc does. */
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static inline void ndm_op_release(struct sock *sk)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	kfree(ndm->memory);
	ndm->memory = NULL;
}

static inline u32 ndm_op_undo_cwnd(struct sock *sk)
{
	return ndm_undo_cwnd(sk, inet_csk_ca(sk));
}

static inline void ndm_op_set_state(struct sock *sk, u8 state)
{
	ndm_set_state(sk, inet_csk_ca(sk), state);
}

static inline void ndm_op_tx_start(struct sock *sk)
{
	ndm_tx_start(sk, inet_csk_ca(sk));
}

/* Reports as Vegas does: samples of this interval, mean RTT of the last one, minimum RTT. */
static inline size_t ndm_op_get_info(struct sock *sk, u32 ext, int *attr,
				     union tcp_cc_info *info)
{
	const struct ndm_sock *ndm = inet_csk_ca(sk);
	const struct ndm_measure *m = &ndm->measure;

	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = 1,
		.tcpv_rttcnt = m->rtt_count,
		.tcpv_rtt = m->last_rtt_us,
		.tcpv_minrtt = m->min_rtt_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

#endif /* NDM_OPS_H */
