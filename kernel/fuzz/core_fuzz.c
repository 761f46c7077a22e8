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

#include "any_model.h"
#include "exact_network.h"
#include "input.h"

#define STEPS_MAX 4

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
