/* SPDX-License-Identifier: GPL-2.0 */
/* The route of a socket, as far as the control law reads it. */
#ifndef NDM_BPF_NET_DST_H
#define NDM_BPF_NET_DST_H

#include <net/tcp.h>

#define DST_METRICS_FLAGS 3UL

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct dst_entry {
	unsigned long _metrics;	/* the address of RTAX_MAX u32, and two flags */
};

#pragma clang attribute pop

/* A BPF program runs within an RCU read-side section. */
#define rcu_read_lock()
#define rcu_read_unlock()

#define __sk_dst_get(sk) ((sk)->sk_dst_cache)

static inline u32 dst_metric(const struct dst_entry *dst, int metric)
{
	const u32 *metrics = (const u32 *)(dst->_metrics & ~DST_METRICS_FLAGS);
	u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), metrics + metric - 1);
	return value;
}

#endif /* NDM_BPF_NET_DST_H */
