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

__noinline u32 ndm_bpf_bound_update(struct ndm_bound *b, const struct ndm_bound_round *round)
{
	return b && round ? ndm_bound_update(b, round) : 0;
}

#define ndm_bound_update ndm_bpf_bound_update
#include "ndm/tcp/ndm_control.h"

#endif /* NDM_BPF_LAW_H */
