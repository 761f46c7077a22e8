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

#include <linux/compiler.h>
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

#define NDM_INPUT_PAIRS ((NDM_INPUTS + 1) / 2)
#define NDM_HIDDEN_PAIRS ((NDM_HIDDEN_MAX + 1) / 2)

/*
 * A model for ndm_core_step(): one multiplication for two weights. A pair of weights
 * (a, b) is a + 2^32 b, a pair of values (x, y) is y + 2^32 x, and their product
 * modulo 2^64 is a y + 2^32 (a x + b y). ndm_core_dot() reads the upper half.
 */
struct ndm_network {
	u8 hidden;				/* H */
	u8 row_frac[NDM_HIDDEN_MAX];
	u8 out_frac[NDM_OUTPUTS];
	/* b and c with ndm_core_half(), and with what ndm_core_dot() lacks */
	s64 b[NDM_HIDDEN_MAX];
	s64 c[NDM_OUTPUTS];
	u64 w[NDM_HIDDEN_MAX][NDM_INPUT_PAIRS];
	u64 u[NDM_HIDDEN_MAX][NDM_HIDDEN_PAIRS];
	u64 v[NDM_OUTPUTS][NDM_HIDDEN_PAIRS];
};

static inline u64 ndm_core_pair(s16 lower, s16 upper)
{
	return (u64)lower + ((u64)upper << 32);
}

/* Pairs of @count weights; an odd one has 0 beside it. */
static inline void ndm_core_pack(u64 *pairs, const s16 *weights, int count)
{
	int i;

	for (i = 0; i < count; i += 2)
		pairs[i / 2] = ndm_core_pair(weights[i], i + 1 < count ?
						       weights[i + 1] : 0);
}

/* What makes a shift to the right by @shift round to the nearest number. */
static inline s64 ndm_core_half(int shift)
{
	return (1LL << shift) >> 1;
}

/* The shift from an output's accumulator to Q14. */
static inline int ndm_core_out_shift(const u8 *out_frac, int k)
{
	return out_frac[k] + NDM_HIDDEN_FRAC - NDM_ACTION_FRAC;
}

/**
 * ndm_core_prepare - pack a model's weights
 * @network: filled
 * @m: the model
 */
static inline void ndm_core_prepare(struct ndm_network *network,
				    const struct ndm_model *m)
{
	int state_pairs = (m->hidden + 1) / 2;
	int r, k;

	memset(network, 0, sizeof(*network));
	network->hidden = m->hidden;
	memcpy(network->row_frac, m->row_frac, sizeof(network->row_frac));
	memcpy(network->out_frac, m->out_frac, sizeof(network->out_frac));
	for (r = 0; r < m->hidden; r++) {
		ndm_core_pack(network->w[r], m->w[r], NDM_INPUTS);
		ndm_core_pack(network->u[r], m->u[r], m->hidden);
		network->b[r] = (s64)m->b[r] * (1 << NDM_HIDDEN_FRAC) +
				NDM_INPUT_PAIRS *
				(1 << (NDM_HIDDEN_FRAC - NDM_FEATURE_FRAC)) +
				state_pairs + ndm_core_half(m->row_frac[r]);
	}
	for (k = 0; k < NDM_OUTPUTS; k++) {
		ndm_core_pack(network->v[k], m->v[k], m->hidden);
		network->c[k] = (s64)m->c[k] * (1 << NDM_HIDDEN_FRAC) +
				state_pairs +
				ndm_core_half(ndm_core_out_shift(m->out_frac, k));
	}
}

/*
 * The sum of the products, less one for each pair. A pair's product is a y +
 * 2^32 (a x + b y) with |a y| up to 2^30, so that 2^31 less is between 2^32
 * (a x + b y - 1) and 2^32 (a x + b y): its upper half is a x + b y - 1. This has
 * 32 bits even if all four are -2^15.
 */
static __always_inline s64 ndm_core_dot(const u64 *weights, const u64 *values,
					int pairs)
{
	s64 even = 0, odd = 0;
	int p = pairs & 1;

	if (p)
		even = (s64)(weights[0] * values[0] - (1ULL << 31)) >> 32;
	for (; p < pairs; p += 2) {
		even += (s64)(weights[p] * values[p] - (1ULL << 31)) >> 32;
		odd += (s64)(weights[p + 1] * values[p + 1] - (1ULL << 31)) >> 32;
	}
	return even + odd;
}

static __always_inline void ndm_core_state(u64 *pairs, const s16 *h, int hidden)
{
	int j;

	/* Beside an odd last unit, whatever is there has weight 0. */
	for (j = 0; j < hidden; j += 2)
		pairs[j / 2] = ndm_core_pair(h[j + 1], h[j]);
}

static __always_inline void ndm_core_rows(const struct ndm_network *network,
					  s16 *h, const s16 *x, int hidden)
{
	u64 inputs[NDM_INPUT_PAIRS] __uninitialized;
	u64 state[NDM_HIDDEN_PAIRS] __uninitialized;
	s64 acc;
	int r, i;

	for (i = 0; i < NDM_INPUTS; i += 2)
		inputs[i / 2] = ndm_core_pair(i + 1 < NDM_INPUTS ? x[i + 1] : 0,
					      x[i]);
	ndm_core_state(state, h, hidden);
	for (r = 0; r < hidden; r++) {
		acc = ndm_core_dot(network->w[r], inputs, NDM_INPUT_PAIRS) *
		      (1 << (NDM_HIDDEN_FRAC - NDM_FEATURE_FRAC)) +
		      ndm_core_dot(network->u[r], state, (hidden + 1) / 2) +
		      network->b[r];
		acc >>= network->row_frac[r];
		h[r] = ndm_tanh(clamp_t(s64, acc, -(NDM_TANH_LIMIT << 15),
					NDM_TANH_LIMIT << 15));
	}
}

static __always_inline void ndm_core_outputs(const struct ndm_network *network,
					     const s16 *h, s16 *out, int hidden)
{
	u64 state[NDM_HIDDEN_PAIRS] __uninitialized;
	s64 acc;
	int k;

	ndm_core_state(state, h, hidden);
	for (k = 0; k < NDM_OUTPUTS; k++) {
		acc = ndm_core_dot(network->v[k], state, (hidden + 1) / 2) +
		      network->c[k];
		acc >>= ndm_core_out_shift(network->out_frac, k);
		out[k] = clamp_t(s64, acc, -(1 << NDM_ACTION_FRAC),
				 1 << NDM_ACTION_FRAC);
	}
}

/**
 * ndm_core_step - one decision
 * @network: from ndm_core_prepare()
 * @h: (NDM_HIDDEN_MAX) the recurrent state, Q15; the first H are replaced by the next
 * @x: (I) inputs, Q12
 * @out: (O) outputs, Q14, -16384 to 16384
 *
 * No |accumulator| exceeds I * 2^15 * 2^15 * 8 + 32 * 2^15 * 2^15 + 2^15 * 2^15
 * = (8 I + 33) * 2^30, what ndm_core_dot() lacks and 2^22. A model file has at most 255
 * inputs, so this is below 2^42, and s64 never overflows, whatever the weights.
 */
static inline void ndm_core_step(const struct ndm_network *network, s16 *h,
				 const s16 *x, s16 *out)
{
	/* With a constant number the loops of the usual networks cost nothing. */
	if (network->hidden == 16) {
		ndm_core_rows(network, h, x, 16);
		ndm_core_outputs(network, h, out, 16);
	} else if (network->hidden == 8) {
		ndm_core_rows(network, h, x, 8);
		ndm_core_outputs(network, h, out, 8);
	} else {
		ndm_core_rows(network, h, x, network->hidden);
		ndm_core_outputs(network, h, out, network->hidden);
	}
}

#endif /* NDM_CORE_H */
