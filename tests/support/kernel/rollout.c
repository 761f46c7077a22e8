// SPDX-License-Identifier: GPL-2.0
/*
 * The integer network over pipes, for architectures whose code Python cannot load:
 * tests/kernel/ndm/test_arm64.py runs it for arm64 under QEMU. All numbers are
 * little-endian. Standard input, repeated:
 *
 *	struct ndm_model; s16 h[NDM_HIDDEN_MAX]; u32 T; s16 x[T][NDM_INPUTS]
 *
 * Standard output for each: s16 out[T][NDM_OUTPUTS]; s16 h[NDM_HIDDEN_MAX].
 */
#include <stdio.h>

#include "ndm/ndm_core.h"

static int get(void *to, size_t size)
{
	return fread(to, size, 1, stdin) == 1;
}

static int put(const void *from, size_t size)
{
	return fwrite(from, size, 1, stdout) == 1;
}

int main(void)
{
	s16 h[NDM_HIDDEN_MAX], x[NDM_INPUTS], out[NDM_OUTPUTS];
	struct ndm_network network;
	struct ndm_model model;
	u32 steps;

	while (get(&model, sizeof(model))) {
		if (!get(h, sizeof(h)) || !get(&steps, sizeof(steps)))
			return 1;
		ndm_core_prepare(&network, &model);
		while (steps--) {
			if (!get(x, sizeof(x)))
				return 1;
			ndm_core_step(&network, h, x, out);
			if (!put(out, sizeof(out)))
				return 1;
		}
		if (!put(h, sizeof(h)))
			return 1;
	}
	return fflush(stdout) ? 1 : 0;
}
