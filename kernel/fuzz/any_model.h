/* SPDX-License-Identifier: GPL-2.0 */
/* A model with any numbers, which follow from an input's bytes. */
#ifndef NDM_FUZZ_ANY_MODEL_H
#define NDM_FUZZ_ANY_MODEL_H

#include <string.h>

#include "ndm/ndm_blob.h"

struct head {
	u8 hidden;
	u8 steps;
	u8 kind;	/* enum kind, modulo KINDS */
	u8 scales[NDM_HIDDEN_MAX + NDM_OUTPUTS];
};

/* How the input's bytes become numbers. */
enum kind {
	UNCHANGED,
	EXTREMES,	/* extremes of s16 and numbers around 0 */
	RANDOM,
	KINDS
};

struct numbers {
	const u8 *data;
	size_t size, at;
	enum kind kind;
	u32 random;
};

/* Marsaglia's xorshift, mixed with a number of the input. */
static inline u32 next_random(u32 random, u16 value)
{
	random ^= value ? value : 0x9e3779b9;
	random ^= random << 13;
	random ^= random >> 17;
	return random ^ random << 5;
}

static inline s16 next_number(struct numbers *n)
{
	static const s16 extremes[] = { -32768, -32767, -1, 0, 1, 32767, 32766, 2 };
	u16 value;

	value = n->data[n->at] | n->data[(n->at + 1) % n->size] << 8;
	n->at = (n->at + 2) % n->size;
	switch (n->kind) {
	case EXTREMES:
		return extremes[value % 8];
	case RANDOM:
		n->random = next_random(n->random, value);
		return (s16)(n->random >> 16);
	default:
		return (s16)value;
	}
}

static inline void fill(struct numbers *n, s16 *to, int rows, int columns, int stride)
{
	int row, column;

	for (row = 0; row < rows; row++)
		for (column = 0; column < columns; column++)
			to[row * stride + column] = next_number(n);
}

/* The bytes of unused units are @unused. */
static inline struct ndm_model model_of(const struct head *head, struct numbers *n,
				 u8 unused)
{
	struct ndm_model m;
	int i;

	memset(&m, unused, sizeof(m));
	m.hidden = 1 + head->hidden % NDM_HIDDEN_MAX;
	for (i = 0; i < m.hidden; i++)
		m.row_frac[i] = head->scales[i] % (NDM_BLOB_FRAC_MAX + 1);
	for (i = 0; i < NDM_OUTPUTS; i++)
		m.out_frac[i] = head->scales[NDM_HIDDEN_MAX + i] %
				(NDM_BLOB_FRAC_MAX + 1);
	fill(n, m.w[0], m.hidden, NDM_INPUTS, NDM_INPUTS);
	fill(n, m.u[0], m.hidden, m.hidden, NDM_HIDDEN_MAX);
	fill(n, m.b, 1, m.hidden, NDM_HIDDEN_MAX);
	fill(n, m.v[0], NDM_OUTPUTS, m.hidden, NDM_HIDDEN_MAX);
	fill(n, m.c, 1, NDM_OUTPUTS, NDM_OUTPUTS);
	return m;
}

#endif /* NDM_FUZZ_ANY_MODEL_H */
