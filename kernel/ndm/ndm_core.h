/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NDM, the integer network: one step of a recurrent layer and its read-out.
 *
 *	h' = tanh(W x + U h + b)
 *	y  = clamp(V h' + c, -1, 1)
 *
 * Letters: H hidden units (1 to NDM_HIDDEN_MAX), I inputs, O outputs.
 * x (I) Q12, h (H) Q15, y (O) Q14, all s16. Row r of W, U and b shares the
 * scale 2^-row_frac[r], row k of V and c the scale 2^-out_frac[k].
 *
 * This file is the project's only inference code: the modules, the tests in user
 * space and the fuzzer compile it. export/integer/reference.py states the same
 * arithmetic in NumPy; golden vectors check that both agree.
 *
 * Right shifts of negative numbers are arithmetic, as everywhere in the kernel.
 * Scaling up is a multiplication, because a left shift of a negative number is
 * undefined.
 */
#ifndef NDM_CORE_H
#define NDM_CORE_H

#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "ndm_math.h"
#include "ndm_schema.h"

/* Version of struct ndm_model's layout and number formats; see export/integer/model.py. */
#define NDM_MODEL_FORMAT 1

struct ndm_model {
	u8 hidden;				/* H */
	u8 row_frac[NDM_HIDDEN_MAX];		/* (H) fraction bits, 0 to 22 */
	u8 out_frac[NDM_OUTPUTS];		/* (O) fraction bits, 0 to 22 */
	s16 w[NDM_HIDDEN_MAX][NDM_INPUTS];	/* (H, I) */
	s16 u[NDM_HIDDEN_MAX][NDM_HIDDEN_MAX];	/* (H, H) */
	s16 b[NDM_HIDDEN_MAX];			/* (H) */
	s16 v[NDM_OUTPUTS][NDM_HIDDEN_MAX];	/* (O, H) */
	s16 c[NDM_OUTPUTS];			/* (O) */
};

/**
 * ndm_core_step - one decision
 * @m: the model
 * @h: (H) the recurrent state, Q15; replaced by the next one
 * @x: (I) inputs, Q12
 * @out: (O) outputs, Q14, -16384 to 16384
 *
 * No |accumulator| exceeds I * 2^15 * 2^15 * 8 + 16 * 2^15 * 2^15 + 2^15 * 2^15
 * = (8 I + 17) * 2^30. A model file has at most 255 inputs, so this is below 2^42,
 * and s64 never overflows, whatever the weights.
 */
static inline void ndm_core_step(const struct ndm_model *m, s16 *h,
				 const s16 *x, s16 *out)
{
	s16 next[NDM_HIDDEN_MAX];
	s64 acc;
	int shift;
	int r, i, j, k;

	for (r = 0; r < m->hidden; r++) {
		shift = m->row_frac[r];
		acc = 0;
		for (i = 0; i < NDM_INPUTS; i++)
			acc += (s32)m->w[r][i] * x[i];
		acc *= 1 << (NDM_HIDDEN_FRAC - NDM_FEATURE_FRAC);
		for (j = 0; j < m->hidden; j++)
			acc += (s32)m->u[r][j] * h[j];
		acc += (s64)m->b[r] * (1 << NDM_HIDDEN_FRAC);
		if (shift)
			acc = (acc + (1LL << (shift - 1))) >> shift;
		next[r] = ndm_tanh(clamp_t(s64, acc, -(NDM_TANH_LIMIT << 15),
					   NDM_TANH_LIMIT << 15));
	}
	memcpy(h, next, m->hidden * sizeof(*h));

	for (k = 0; k < NDM_OUTPUTS; k++) {
		shift = m->out_frac[k] + NDM_HIDDEN_FRAC - NDM_ACTION_FRAC;
		acc = 0;
		for (j = 0; j < m->hidden; j++)
			acc += (s32)m->v[k][j] * h[j];
		acc += (s64)m->c[k] * (1 << NDM_HIDDEN_FRAC);
		acc = (acc + (1LL << (shift - 1))) >> shift;
		out[k] = clamp_t(s64, acc, -(1 << NDM_ACTION_FRAC),
				 1 << NDM_ACTION_FRAC);
	}
}

#endif /* NDM_CORE_H */
