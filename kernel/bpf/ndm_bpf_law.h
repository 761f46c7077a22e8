/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control law for the verifier. It follows each path through a program, and examines a
 * global function once, for all arguments. So what branches most is in global functions. They
 * take at most five arguments, and pointers may be NULL.
 */
#ifndef NDM_BPF_LAW_H
#define NDM_BPF_LAW_H

#include "ndm/ndm_math.h"

__noinline s32 ndm_bpf_quarter_octave(u32 a, u32 b)
{
	return ndm_quarter_octave(a, b);
}

#define ndm_quarter_octave ndm_bpf_quarter_octave
#include "ndm/ndm_features.h"

__noinline int ndm_bpf_interval_close(struct ndm_measure *m, const struct ndm_reading *now,
				      struct ndm_interval *interval)
{
	if (m && now && interval)
		ndm_interval_close(m, now, interval);
	return 0;
}

#define ndm_interval_close ndm_bpf_interval_close
#include "ndm/ndm_bound.h"

struct ndm_bpf_round {
	u32 now_us;
	u32 length_us;
	u32 rtt_us;
	u32 lost;
	u32 delivered;
	u32 cwnd_fp;
	u32 carried;
	bool starting;
	bool reorders;
};

__noinline u32 ndm_bpf_bound_round(struct ndm_bound *b, const struct ndm_bpf_round *round)
{
	if (!b || !round)
		return 0;
	return ndm_bound_update(b, round->starting, round->now_us, round->length_us,
				round->rtt_us, round->lost, round->delivered,
				round->cwnd_fp, round->carried, round->reorders);
}

static inline u32 ndm_bpf_bound_update(struct ndm_bound *b, bool starting, u32 now_us,
				       u32 length_us, u32 rtt_us, u32 lost, u32 delivered,
				       u32 cwnd_fp, u32 carried, bool reorders)
{
	struct ndm_bpf_round round = {
		.now_us = now_us,
		.length_us = length_us,
		.rtt_us = rtt_us,
		.lost = lost,
		.delivered = delivered,
		.cwnd_fp = cwnd_fp,
		.carried = carried,
		.starting = starting,
		.reorders = reorders,
	};

	return ndm_bpf_bound_round(b, &round);
}

#define ndm_bound_update ndm_bpf_bound_update
#include "ndm/tcp/ndm_control.h"

#endif /* NDM_BPF_LAW_H */
