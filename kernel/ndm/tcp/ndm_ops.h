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

	ndm->memory = kzalloc(sizeof(*ndm->memory), GFP_NOWAIT | __GFP_NOWARN);
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
static inline size_t ndm_op_get_info(struct sock *sk, u32 ext, int *attr,
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

#endif /* NDM_OPS_H */
