/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model that a connection's state belongs to. tcp_ndm and the BPF program share it.
 */
#ifndef NDM_POLICY_H
#define NDM_POLICY_H

#include <linux/string.h>

#include "ndm_sock.h"

/* Resets state and contest of a connection that changes to another model. */
static inline void ndm_use_model(struct ndm_memory *memory, u32 number)
{
	if (likely(memory->model == number))
		return;
	memset(memory->h, 0, sizeof(memory->h));
	memset(&memory->contest, 0, sizeof(memory->contest));
	memory->model = number;
}

#endif /* NDM_POLICY_H */
