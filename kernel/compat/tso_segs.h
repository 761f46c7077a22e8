/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For a module that wraps a congestion control: how many packets the stack sends at once. A
 * scheme may give the minimum, and in trees with BBRv3, of any version, the number itself.
 */
#ifndef NDM_COMPAT_TSO_SEGS_H
#define NDM_COMPAT_TSO_SEGS_H

#include <net/tcp.h>

#ifdef TCP_CONG_WANTS_CE_EVENTS	/* BBRv3 */
#define NDM_TSO_SEGS_OP tso_segs
#define NDM_TSO_SEGS(name) name(struct sock *sk, unsigned int mss_now)
#define NDM_CALL_TSO_SEGS(ops) ((ops)->tso_segs(sk, mss_now))
#define NDM_TSO_SEGS_IS_MINIMUM false
#else
#define NDM_TSO_SEGS_OP min_tso_segs
#define NDM_TSO_SEGS(name) name(struct sock *sk)
#define NDM_CALL_TSO_SEGS(ops) ((ops)->min_tso_segs(sk))
#define NDM_TSO_SEGS_IS_MINIMUM true
#endif

#endif /* NDM_COMPAT_TSO_SEGS_H */
