/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For a module that wraps a congestion control: the start of sending after idleness,
 * which has its own operation since Linux 7.1.
 */
#ifndef NDM_COMPAT_WATCH_TX_START_H
#define NDM_COMPAT_WATCH_TX_START_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define NDM_WATCHED_TX_START cwnd_event_tx_start
#define NDM_WATCH_TX_START(name) name(struct sock *sk)
#define NDM_CALL_TX_START(ops) ((ops)->cwnd_event_tx_start(sk))
#define NDM_IS_TX_START true
#else
#define NDM_WATCHED_TX_START cwnd_event
#define NDM_WATCH_TX_START(name) name(struct sock *sk, enum tcp_ca_event event)
#define NDM_CALL_TX_START(ops) ((ops)->cwnd_event(sk, event))
#define NDM_IS_TX_START (event == CA_EVENT_TX_START)
#endif

#endif /* NDM_COMPAT_WATCH_TX_START_H */
