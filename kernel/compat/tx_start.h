/* SPDX-License-Identifier: GPL-2.0 */
/* Since Linux 7.1, the start of sending after idleness has its own operation. */
#ifndef NDM_COMPAT_TX_START_H
#define NDM_COMPAT_TX_START_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define NDM_TX_START_OP .cwnd_event_tx_start = ndm_op_tx_start
#else
static inline void ndm_op_tx_start(struct sock *sk);

static inline void ndm_op_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		ndm_op_tx_start(sk);
}

#define NDM_TX_START_OP .cwnd_event = ndm_op_cwnd_event
#endif

#endif /* NDM_COMPAT_TX_START_H */
