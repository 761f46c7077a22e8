/* SPDX-License-Identifier: GPL-2.0 */
/* Fills in an interval's observation for the host: tcp_ndm_gym and experts use it. */
#ifndef NDM_OBSERVE_H
#define NDM_OBSERVE_H

#include <linux/string.h>
#include <linux/timekeeping.h>
#include <net/tcp.h>

#include "ndm/ndm_features.h"
#include "ndm/ndm_schema.h"

/**
 * ndm_observe - fill in the observation of an interval that has just ended
 * @sk: the connection
 * @flow: its number
 * @m: its measurements, after ndm_interval_close()
 * @interval: the interval's results
 * @o: the observation
 */
static inline void ndm_observe(const struct sock *sk, u32 flow,
			       const struct ndm_measure *m,
			       const struct ndm_interval *interval,
			       struct ndm_wire_observation *o)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	*o = (struct ndm_wire_observation) {
		.now_us = ktime_get_ns() / NSEC_PER_USEC,
		.bytes_acked = tp->bytes_acked,
		.pacing_rate = READ_ONCE(sk->sk_pacing_rate),
		.flow = flow,
		.decision = m->decisions - 1,
		.interval_us = interval->length_us,
		.rtt_us = interval->rtt_us,
		.srtt_us = tp->srtt_us >> 3,
		.min_rtt_us = m->min_rtt_us,
		.cwnd = tcp_snd_cwnd(tp),
		.inflight = tcp_packets_in_flight(tp),
		.delivered = tp->delivered,
		.lost = tp->lost,
		.retransmitted = tp->total_retrans,
		.mss = tp->mss_cache,
		.ca_state = inet_csk(sk)->icsk_ca_state,
		.port = inet_sk(sk)->inet_num,
	};
	BUILD_BUG_ON(sizeof(o->features) != sizeof(interval->x));
	memcpy(o->features, interval->x, sizeof(o->features));
}

#endif /* NDM_OBSERVE_H */
