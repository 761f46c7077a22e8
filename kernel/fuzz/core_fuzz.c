// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the inference, with ASan and UBSan: `make fuzz`.
 *
 * The input is a head (sizes and scales that ndm_blob.h accepts) and numbers:
 * weights, state and inputs. The numbers repeat, so that few bytes make a large
 * model and two bytes the largest sums; or they are random with the bytes as the
 * seed. Each decision is compared with the same decision in 128 bits, and with one
 * of a model and a state with other values in their unused units.
 */
#include <string.h>

#include "ndm/ndm_blob.h"
#include "exact_network.h"
#include "input.h"

#define STEPS_MAX 4

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
static u32 next_random(u32 random, u16 value)
{
	random ^= value ? value : 0x9e3779b9;
	random ^= random << 13;
	random ^= random >> 17;
	return random ^ random << 5;
}

static s16 next_number(struct numbers *n)
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

static void fill(struct numbers *n, s16 *to, int rows, int columns, int stride)
{
	int row, column;

	for (row = 0; row < rows; row++)
		for (column = 0; column < columns; column++)
			to[row * stride + column] = next_number(n);
}

/* The bytes of unused units are @unused. */
static struct ndm_model model_of(const struct head *head, struct numbers *n,
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

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	s16 h[NDM_HIDDEN_MAX] = {}, again_h[NDM_HIDDEN_MAX];
	s16 x[NDM_INPUTS], out[NDM_OUTPUTS], again_out[NDM_OUTPUTS];
	struct input in = { data, size };
	struct numbers n, again;
	struct ndm_model m, other;
	struct ndm_network network;
	struct head head;
	int steps;

	if (!take(&in, &head, sizeof(head)) || !in.left)
		return 0;
	n = (struct numbers) {
		.data = in.data,
		.size = in.left,
		.kind = head.kind % KINDS,
	};
	again = n;
	m = model_of(&head, &n, 0);
	other = model_of(&head, &again, 0xa5);
	ndm_core_prepare(&network, &other);

	fill(&n, h, 1, m.hidden, m.hidden);
	memset(again_h, 0x5a, sizeof(again_h));
	memcpy(again_h, h, m.hidden * sizeof(*h));
	for (steps = 1 + head.steps % STEPS_MAX; steps; steps--) {
		fill(&n, x, 1, NDM_INPUTS, NDM_INPUTS);
		checked_step(&m, h, x, out);
		ndm_core_step(&network, again_h, x, again_out);
		REQUIRE(!memcmp(h, again_h, m.hidden * sizeof(*h)));
		REQUIRE(!memcmp(out, again_out, sizeof(out)));
	}
	return 0;
}
