/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reno on a socket for which there was no memory (struct ndm_memory).
 *
 * Growth, ssthresh and undo are the kernel's own functions. The kernel runs no PRR
 * for algorithms with cong_control(), so recovery sets the window to ssthresh at
 * once (RFC 6675). Pacing is the kernel's default: twice cwnd/srtt in slow start,
 * 1.2 times after it.
 */
#ifndef NDM_RENO_H
#define NDM_RENO_H

#include <net/tcp.h>

#include "ndm_control.h"

#define NDM_RENO_GAIN_SLOW_START (2 << 16)
#define NDM_RENO_GAIN 78643	/* 1.2, Q16 */

/* For every ACK. */
static inline void ndm_reno_control(struct sock *sk,
				    const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	switch (ndm_ca_state(sk)) {
	case TCP_CA_CWR:
	case TCP_CA_Recovery:
		if (tcp_snd_cwnd(tp) > tp->snd_ssthresh)
			tcp_snd_cwnd_set(tp, max_t(u32, tp->snd_ssthresh,
						   NDM_CWND_MIN));
		break;
	case TCP_CA_Disorder:	/* limited transmit (RFC 3042) */
		break;
	default:
		if (rs->acked_sacked > 0)
			tcp_reno_cong_avoid(sk, 0, rs->acked_sacked);
	}
	ndm_set_pacing_gain(sk, tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2 ?
				NDM_RENO_GAIN_SLOW_START : NDM_RENO_GAIN);
}

#endif /* NDM_RENO_H */
