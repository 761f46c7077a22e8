// SPDX-License-Identifier: GPL-2.0
/* Calls the network without a socket; built with the kernel's flags. */
#include "ndm/ndm_core.h"
#include "replay.h"

#define ROW_FRAC 14	/* usual in trained models */

static s16 random_weight(void)
{
	static u32 random = 1;

	random = random * 1664525 + 1013904223;
	return (s32)random >> 19;	/* below 1 in Q12, 0.25 in Q14 */
}

/* The weights do not matter for the time, unless they saturate tanh. */
void replay_core(unsigned int hidden, unsigned int steps)
{
	static struct ndm_model model;
	static struct ndm_network network;
	static s16 h[NDM_HIDDEN_MAX];
	s16 x[NDM_INPUTS], out[NDM_OUTPUTS];
	int r, i;

	model.hidden = hidden;
	for (r = 0; r < NDM_HIDDEN_MAX; r++) {
		model.row_frac[r] = ROW_FRAC;
		model.b[r] = random_weight();
		for (i = 0; i < NDM_INPUTS; i++)
			model.w[r][i] = random_weight();
		for (i = 0; i < NDM_HIDDEN_MAX; i++)
			model.u[r][i] = random_weight();
		for (i = 0; i < NDM_OUTPUTS; i++)
			model.v[i][r] = random_weight();
	}
	for (i = 0; i < NDM_OUTPUTS; i++)
		model.out_frac[i] = ROW_FRAC;
	for (i = 0; i < NDM_INPUTS; i++)
		x[i] = random_weight();
	ndm_core_prepare(&network, &model);
	while (steps--) {
		ndm_core_step(&network, h, x, out);
		x[steps % NDM_INPUTS] ^= out[0] & 255;	/* vary the inputs */
	}
}
