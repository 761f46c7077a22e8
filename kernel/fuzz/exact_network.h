/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The exact result of ndm_core_step(): the formulas of ndm_core.h in 128 bits, which
 * cannot overflow, and with divisions in place of shifts.
 */
#ifndef NDM_FUZZ_EXACT_NETWORK_H
#define NDM_FUZZ_EXACT_NETWORK_H

#include <math.h>
#include <string.h>

#include "ndm/ndm_core.h"
#include "require.h"

/* The bound of accumulators that ndm_core.h states. */
#define EXACT_BOUND ((__int128)(8 * NDM_INPUTS + 33) << 30)

/* The error of ndm_tanh() that ndm_math.h states, units of 2^-15. */
#define EXACT_TANH_ERROR 1.54

/* a / 2^bits, rounded to the nearest whole number, halves up. */
static inline __int128 exact_rounded(__int128 a, int bits)
{
	__int128 unit = (__int128)2 << bits;
	__int128 twice = 2 * a + unit / 2;
	__int128 quotient = twice / unit;

	return twice % unit < 0 ? quotient - 1 : quotient;
}

static inline __int128 exact_clamped(__int128 a, __int128 limit)
{
	if (a > limit)
		return limit;
	return a < -limit ? -limit : a;
}

/* A sum that the core keeps in 64 bits. */
struct exact_sum {
	__int128 value;
	__int128 magnitude;	/* sum of |term|, a bound of all partial sums */
};

static inline void exact_add(struct exact_sum *acc, __int128 term)
{
	acc->value += term;
	acc->magnitude += term < 0 ? -term : term;
}

static inline void check_row(const struct ndm_model *m, int r, const s16 *h,
			     const s16 *x, s16 next)
{
	struct exact_sum acc = {};
	s32 pre;
	int i;

	for (i = 0; i < NDM_INPUTS; i++)
		exact_add(&acc, (__int128)8 * m->w[r][i] * x[i]);
	for (i = 0; i < m->hidden; i++)
		exact_add(&acc, (__int128)m->u[r][i] * h[i]);
	exact_add(&acc, (__int128)32768 * m->b[r]);
	REQUIRE(acc.magnitude <= EXACT_BOUND);
	pre = exact_clamped(exact_rounded(acc.value, m->row_frac[r]), 8 << 15);
	REQUIRE(next == ndm_tanh(pre));
	REQUIRE(next >= -32767);
	REQUIRE(fabs(next - fmin(fmax(32768 * tanh(pre / 32768.0), -32767),
				 32767)) <= EXACT_TANH_ERROR);
}

static inline void check_output(const struct ndm_model *m, int k, const s16 *h,
				s16 out)
{
	struct exact_sum acc = {};
	int j;

	for (j = 0; j < m->hidden; j++)
		exact_add(&acc, (__int128)m->v[k][j] * h[j]);
	exact_add(&acc, (__int128)32768 * m->c[k]);
	REQUIRE(acc.magnitude <= EXACT_BOUND);
	REQUIRE(out == exact_clamped(exact_rounded(acc.value,
						   m->out_frac[k] + 1),
				     1 << 14));
}

/* One decision with a check of every row and output. */
static inline void checked_step(const struct ndm_model *m, s16 *h, const s16 *x,
				s16 *out)
{
	s16 before[NDM_HIDDEN_MAX];
	struct ndm_network network;
	int i;

	memcpy(before, h, sizeof(before));
	ndm_core_prepare(&network, m);
	ndm_core_step(&network, h, x, out);
	for (i = 0; i < m->hidden; i++)
		check_row(m, i, before, x, h[i]);
	for (i = m->hidden; i < NDM_HIDDEN_MAX; i++)
		REQUIRE(h[i] == before[i]);
	for (i = 0; i < NDM_OUTPUTS; i++)
		check_output(m, i, h, out[i]);
}

#endif /* NDM_FUZZ_EXACT_NETWORK_H */
