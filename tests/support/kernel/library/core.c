// SPDX-License-Identifier: GPL-2.0
/*
 * The integer network and its fixed-point functions as functions of build/libndm.so,
 * for tests/support/kernel/native.py. Arrays are contiguous, row by row.
 */
#include "ndm/ndm_core.h"
#include "ndm_weights.h"
#include "ndm/ndm_window.h"

unsigned int ndm_user_model_size(void)
{
	return sizeof(struct ndm_model);
}

unsigned int ndm_user_model_format(void)
{
	return NDM_MODEL_FORMAT;
}

/* The compiled-in model. */
const struct ndm_model *ndm_user_shipped_model(void)
{
	return &NDM_BUILTIN_MODEL.model;
}

/* 32 bytes */
const u8 *ndm_user_shipped_sha256(void)
{
	return NDM_BUILTIN_MODEL.facts.sha256;
}

/* T steps: x (T, NDM_INPUTS), h (NDM_HIDDEN_MAX) in and out, out (T, NDM_OUTPUTS) */
void ndm_user_rollout(const struct ndm_model *m, s16 *h, const s16 *x, s16 *out,
		      unsigned int steps)
{
	struct ndm_network network;

	ndm_core_prepare(&network, m);
	for (unsigned int t = 0; t < steps; t++)
		ndm_core_step(&network, h, x + t * NDM_INPUTS, out + t * NDM_OUTPUTS);
}

/* x, y (count) */
void ndm_user_tanh(const s32 *x, s16 *y, unsigned int count)
{
	for (unsigned int n = 0; n < count; n++)
		y[n] = ndm_tanh(x[n]);
}

void ndm_user_exp2(const s16 *x, u32 *y, unsigned int count)
{
	for (unsigned int n = 0; n < count; n++)
		y[n] = ndm_exp2(x[n]);
}

/* a, b, y (count) */
void ndm_user_quarter_octave(const u32 *a, const u32 *b, s32 *y,
			     unsigned int count)
{
	for (unsigned int n = 0; n < count; n++)
		y[n] = ndm_quarter_octave(a[n], b[n]);
}

/* cwnd_fp, queue_us, explained_us, growth, y (count) */
void ndm_user_next_cwnd(const u32 *cwnd_fp, const u32 *queue_us,
			const u32 *explained_us, const s16 *growth, u64 *y,
			unsigned int count)
{
	for (unsigned int n = 0; n < count; n++)
		y[n] = ndm_next_cwnd(cwnd_fp[n], queue_us[n], explained_us[n], growth[n]);
}
