// SPDX-License-Identifier: GPL-2.0
/* The network alone, with the kernel's flags. */
#include "ndm_core.h"
#include "ndm_weights.h"
#include "replay.h"

void replay_core(unsigned int hidden, unsigned int steps)
{
	static struct ndm_model model;
	static s16 h[NDM_HIDDEN_MAX];
	s16 x[NDM_INPUTS], out[NDM_OUTPUTS];
	u32 random = 1;
	int i;

	model = ndm_model;
	model.hidden = hidden;
	for (i = 0; i < NDM_INPUTS; i++) {
		random = random * 1664525 + 1013904223;
		x[i] = (s32)random >> 19;	/* -1 to 1, Q12 */
	}
	while (steps--) {
		ndm_core_step(&model, h, x, out);
		x[steps % NDM_INPUTS] ^= out[0] & 255;	/* no two alike */
	}
}
